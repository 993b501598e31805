package perfdata

import (
	"errors"
	"fmt"

	"kprof/perfevent/abi"
)

// KernelSymbols is what a recording holds of the symbols of its own kernel, so that it
// can be named on another machine: what is known at the start between the attributes and
// the data (behind it are only the rules, see Reader.Rules), what is known at the end
// behind everything else (but for UserSymbols).
//
// The payload of its block is zstd of: for each part u32 kind, u32 length, bytes.
type KernelSymbols struct {
	Kallsyms []byte // lines of /proc/kallsyms, of functions only
	Modules  []byte // /proc/modules
	// IOMem says what registers of devices are where: /proc/iomem, and the lines of
	// /proc/vmallocinfo of what the kernel has mapped of that. Only what is known at the
	// start has it.
	IOMem []byte
}

var kernelBlock = block{"kprofcap", "kernel symbols", 64 << 20}

// maxKernelSymbols bounds what kernel symbols hold. A distribution's kernel with all its
// modules has 20 MB of kallsyms.
const maxKernelSymbols = 256 << 20

// Kinds of parts. Readers skip those that they do not know.
const (
	partKallsyms = 1
	partModules  = 2
	partIOMem    = 3
)

// AppendTo appends the kernel symbols to b, whose length is a multiple of eight.
func (c *KernelSymbols) AppendTo(b []byte, o abi.Order) ([]byte, error) {
	var parts [][]byte
	part := func(kind uint32, data []byte) {
		if len(data) == 0 {
			return
		}
		head := o.AppendUint32(nil, kind)
		parts = append(parts, o.AppendUint32(head, uint32(len(data))), data)
	}
	part(partKallsyms, c.Kallsyms)
	part(partModules, c.Modules)
	part(partIOMem, c.IOMem)
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size > maxKernelSymbols {
		return b, fmt.Errorf("kernel symbols: %d bytes of symbols, at most %d", size, maxKernelSymbols)
	}
	packed, err := pack(parts...)
	if err != nil {
		return b, fmt.Errorf("kernel symbols: %w", err)
	}
	return kernelBlock.append(b, packed, o)
}

// DecodeKernelSymbols reads the kernel symbols that b is.
func DecodeKernelSymbols(b []byte, o abi.Order) (*KernelSymbols, error) {
	packed, err := kernelBlock.payload(b, o)
	if err != nil {
		return nil, err
	}
	body, err := unpack(packed, maxKernelSymbols)
	if err != nil {
		return nil, fmt.Errorf("kernel symbols: %w", err)
	}
	c := &KernelSymbols{}
	for len(body) > 0 {
		if len(body) < 8 {
			return nil, fmt.Errorf("kernel symbols: %d bytes left of a part's head", len(body))
		}
		kind, n := o.Uint32(body), o.Uint32(body[4:])
		if uint64(n) > uint64(len(body)-8) {
			return nil, fmt.Errorf("kernel symbols: part %d of %d bytes, %d are left", kind, n, len(body)-8)
		}
		switch data := body[8 : 8+n : 8+n]; kind {
		case partKallsyms:
			c.Kallsyms = data
		case partModules:
			c.Modules = data
		case partIOMem:
			c.IOMem = data
		}
		body = body[8+n:]
	}
	return c, nil
}

// KernelSymbols returns the recording's kernel symbols, those from its end if it has two,
// or nil if it has none; of a recording of perf in a directory those that perf record --kcore
// has put there. Recordings from a pipe have none. Where a part is damaged it returns the
// others, and an error that says what is wrong.
func (r *Reader) KernelSymbols() (*KernelSymbols, error) {
	if r.source != nil {
		return r.source.Kernel, nil
	}
	if r.header.pipe || r.at == nil {
		return nil, nil
	}
	// Where the block behind is damaged, that at the end is not found, but the other one is:
	// whoever asks for the names or the rules is told.
	rules, err := r.blockSize(int64(r.data.off), &rulesBlock)
	names, err2 := r.blockSize(r.size, &userBlock)
	behind := errors.Join(err, err2)
	var all *KernelSymbols
	var damaged error
	for _, end := range []int64{r.size - names, int64(r.data.off) - rules} {
		b, err := r.blockBefore(end, &kernelBlock)
		if err == nil && b == nil {
			continue
		}
		var c *KernelSymbols
		if err == nil {
			c, err = DecodeKernelSymbols(b, r.header.order)
		}
		switch {
		case err != nil:
			damaged = errors.Join(damaged, err)
		case all == nil:
			all = c
		case all.IOMem == nil:
			all.IOMem = c.IOMem
		}
	}
	if all == nil && damaged == nil {
		damaged = behind
	}
	if all == nil && r.dir != nil {
		copied, err := r.copiedKernelSymbols()
		return copied, errors.Join(damaged, err)
	}
	return all, damaged
}
