package perfdata

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"kprof/perfevent/abi"
)

// KernelSymbols is what a recording holds of the symbols of its own kernel, so that it
// can be named on another machine. It is kprof's own and lies where perf looks
// at nothing: what is known at the start between the attributes and the data (behind it
// are only the rules, see Reader.Rules),
// what is known at the end behind everything else. An unknown feature bit or
// record would do the same, but perf inject crashes on the one and perf script
// refuses the other.
//
// Its form, integers in the byte order of the file:
//
//	magic    8 bytes "kprofcap"
//	version  u32, 1
//	length   u32 of body
//	body     zstd: for each part u32 kind, u32 length, bytes
//	length   u32 of all of this, with padding to a multiple of eight before
//	zero     u32
//	magic    8 bytes again: the end is found from data.offset, or from the file's end
type KernelSymbols struct {
	Kallsyms []byte // lines of /proc/kallsyms, of functions only
	Modules  []byte // /proc/modules
	// IOMem says what registers of devices are where: /proc/iomem, and the lines of
	// /proc/vmallocinfo of what the kernel has mapped of that. Only what is known at the
	// start has it.
	IOMem []byte
}

var kernelSymbolsMagic = []byte("kprofcap")

const (
	kernelSymbolsVersion = 1
	kernelSymbolsTail    = 16
	// maxKernelSymbols bounds kernel symbols in the file, maxKernelSymbolsBody what they hold. A
	// distribution's kernel with all its modules has 20 MB of kallsyms.
	maxKernelSymbols     = 64 << 20
	maxKernelSymbolsBody = 256 << 20
)

// Kinds of parts. Readers skip those that they do not know.
const (
	partKallsyms = 1
	partModules  = 2
	partIOMem    = 3
)

// AppendTo appends the kernel symbols to b, whose length is a multiple of eight.
func (c *KernelSymbols) AppendTo(b []byte, o abi.Order) ([]byte, error) {
	var body []byte
	part := func(kind uint32, data []byte) {
		if len(data) == 0 {
			return
		}
		body = o.AppendUint32(body, kind)
		body = o.AppendUint32(body, uint32(len(data)))
		body = append(body, data...)
	}
	part(partKallsyms, c.Kallsyms)
	part(partModules, c.Modules)
	part(partIOMem, c.IOMem)
	if len(body) > maxKernelSymbolsBody {
		return b, fmt.Errorf("kernel symbols: %d bytes of symbols, at most %d", len(body), maxKernelSymbolsBody)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return b, fmt.Errorf("kernel symbols: %w", err)
	}
	packed := enc.EncodeAll(body, nil)
	if len(packed) > maxKernelSymbols-64 {
		return b, fmt.Errorf("kernel symbols: %d bytes compressed, at most %d", len(packed), maxKernelSymbols)
	}
	start := len(b)
	b = append(b, kernelSymbolsMagic...)
	b = o.AppendUint32(b, kernelSymbolsVersion)
	b = o.AppendUint32(b, uint32(len(packed)))
	b = append(b, packed...)
	for (len(b)-start)%8 != 0 {
		b = append(b, 0)
	}
	b = o.AppendUint32(b, uint32(len(b)-start+kernelSymbolsTail))
	b = o.AppendUint32(b, 0)
	return append(b, kernelSymbolsMagic...), nil
}

// DecodeKernelSymbols reads the kernel symbols that b is.
func DecodeKernelSymbols(b []byte, o abi.Order) (*KernelSymbols, error) {
	if len(b) < 16+kernelSymbolsTail || !bytes.HasPrefix(b, kernelSymbolsMagic) {
		return nil, errors.New("kernel symbols: no magic at its start")
	}
	if v := o.Uint32(b[8:]); v != kernelSymbolsVersion {
		return nil, fmt.Errorf("kernel symbols: version %d, only %d is known", v, kernelSymbolsVersion)
	}
	packed := b[16 : len(b)-kernelSymbolsTail]
	if n := o.Uint32(b[12:]); uint64(n) <= uint64(len(packed)) {
		packed = packed[:n]
	} else {
		return nil, fmt.Errorf("kernel symbols: body of %d bytes in %d", n, len(packed))
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxKernelSymbolsBody))
	if err != nil {
		return nil, fmt.Errorf("kernel symbols: %w", err)
	}
	defer dec.Close()
	body, err := dec.DecodeAll(packed, nil)
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
// or nil if it has none. Recordings from a pipe have none.
func (r *Reader) KernelSymbols() (*KernelSymbols, error) {
	if r.source != nil {
		return r.source.Kernel, nil
	}
	if r.header.pipe || r.at == nil {
		return nil, nil
	}
	rules, err := r.rulesBlock()
	if err != nil {
		return nil, err
	}
	var all *KernelSymbols
	for _, end := range []int64{r.size, int64(r.data.off) - int64(len(rules))} {
		b, err := r.kernelSymbolsBefore(end)
		if err != nil {
			return nil, err
		}
		if b == nil {
			continue
		}
		c, err := DecodeKernelSymbols(b, r.header.order)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = c
		} else if all.IOMem == nil {
			all.IOMem = c.IOMem
		}
	}
	return all, nil
}

// kernelSymbolsBefore returns the bytes of the kernel symbols that end at offset end, or nil
// if none does.
func (r *Reader) kernelSymbolsBefore(end int64) ([]byte, error) {
	var tail [kernelSymbolsTail]byte
	if end < fileHeaderSize+kernelSymbolsTail {
		return nil, nil
	}
	if _, err := r.at.ReadAt(tail[:], end-kernelSymbolsTail); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read kernel symbols at offset %d: %w", end-kernelSymbolsTail, err)
	}
	if !bytes.Equal(tail[8:], kernelSymbolsMagic) {
		return nil, nil
	}
	n := int64(r.header.order.Uint32(tail[:]))
	if n > maxKernelSymbols || n > end-fileHeaderSize {
		return nil, fmt.Errorf("kernel symbols of %d bytes before offset %d", n, end)
	}
	b := make([]byte, n)
	if _, err := r.at.ReadAt(b, end-n); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read kernel symbols at offset %d: %w", end-n, err)
	}
	return b, nil
}
