package perfdata

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"kprof/perfevent/abi"
)

// Capsule is what a recording holds of the symbols of its own kernel, so that it
// can be named on another machine. It is kprof's own and lies where perf looks
// at nothing: what is known at the start between the attributes and the data,
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
type Capsule struct {
	Kallsyms []byte // lines of /proc/kallsyms, of functions only
	Modules  []byte // /proc/modules
}

var capsuleMagic = []byte("kprofcap")

const (
	capsuleVersion = 1
	capsuleTail    = 16
	// maxCapsule bounds a capsule in the file, maxCapsuleBody what it holds. A
	// distribution's kernel with all its modules has 20 MB of kallsyms.
	maxCapsule     = 64 << 20
	maxCapsuleBody = 256 << 20
)

// Kinds of parts. Readers skip those that they do not know.
const (
	partKallsyms = 1
	partModules  = 2
)

// AppendTo appends the capsule to b, whose length is a multiple of eight.
func (c *Capsule) AppendTo(b []byte, o abi.Order) ([]byte, error) {
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
	if len(body) > maxCapsuleBody {
		return b, fmt.Errorf("capsule: %d bytes of symbols, at most %d", len(body), maxCapsuleBody)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return b, fmt.Errorf("capsule: %w", err)
	}
	packed := enc.EncodeAll(body, nil)
	if len(packed) > maxCapsule-64 {
		return b, fmt.Errorf("capsule: %d bytes compressed, at most %d", len(packed), maxCapsule)
	}
	start := len(b)
	b = append(b, capsuleMagic...)
	b = o.AppendUint32(b, capsuleVersion)
	b = o.AppendUint32(b, uint32(len(packed)))
	b = append(b, packed...)
	for (len(b)-start)%8 != 0 {
		b = append(b, 0)
	}
	b = o.AppendUint32(b, uint32(len(b)-start+capsuleTail))
	b = o.AppendUint32(b, 0)
	return append(b, capsuleMagic...), nil
}

// DecodeCapsule reads a capsule that is all of b.
func DecodeCapsule(b []byte, o abi.Order) (*Capsule, error) {
	if len(b) < 16+capsuleTail || !bytes.HasPrefix(b, capsuleMagic) {
		return nil, errors.New("capsule: no magic at its start")
	}
	if v := o.Uint32(b[8:]); v != capsuleVersion {
		return nil, fmt.Errorf("capsule: version %d, only %d is known", v, capsuleVersion)
	}
	packed := b[16 : len(b)-capsuleTail]
	if n := o.Uint32(b[12:]); uint64(n) <= uint64(len(packed)) {
		packed = packed[:n]
	} else {
		return nil, fmt.Errorf("capsule: body of %d bytes in %d", n, len(packed))
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxCapsuleBody))
	if err != nil {
		return nil, fmt.Errorf("capsule: %w", err)
	}
	defer dec.Close()
	body, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("capsule: %w", err)
	}
	c := &Capsule{}
	for len(body) > 0 {
		if len(body) < 8 {
			return nil, fmt.Errorf("capsule: %d bytes left of a part's head", len(body))
		}
		kind, n := o.Uint32(body), o.Uint32(body[4:])
		if uint64(n) > uint64(len(body)-8) {
			return nil, fmt.Errorf("capsule: part %d of %d bytes, %d are left", kind, n, len(body)-8)
		}
		switch data := body[8 : 8+n : 8+n]; kind {
		case partKallsyms:
			c.Kallsyms = data
		case partModules:
			c.Modules = data
		}
		body = body[8+n:]
	}
	return c, nil
}

// Capsule returns the recording's capsule, the one from its end if it has two,
// or nil if it has none. Recordings from a pipe have none.
func (r *Reader) Capsule() (*Capsule, error) {
	if r.header.pipe || r.at == nil {
		return nil, nil
	}
	for _, end := range []int64{r.size, int64(r.data.off)} {
		b, err := r.capsuleBefore(end)
		if err != nil {
			return nil, err
		}
		if b != nil {
			return DecodeCapsule(b, r.header.order)
		}
	}
	return nil, nil
}

// capsuleBefore returns the bytes of the capsule that ends at offset end, or nil
// if none does.
func (r *Reader) capsuleBefore(end int64) ([]byte, error) {
	var tail [capsuleTail]byte
	if end < fileHeaderSize+capsuleTail {
		return nil, nil
	}
	if _, err := r.at.ReadAt(tail[:], end-capsuleTail); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read capsule at offset %d: %w", end-capsuleTail, err)
	}
	if !bytes.Equal(tail[8:], capsuleMagic) {
		return nil, nil
	}
	n := int64(r.header.order.Uint32(tail[:]))
	if n > maxCapsule || n > end-fileHeaderSize {
		return nil, fmt.Errorf("capsule of %d bytes before offset %d", n, end)
	}
	b := make([]byte, n)
	if _, err := r.at.ReadAt(b, end-n); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read capsule at offset %d: %w", end-n, err)
	}
	return b, nil
}
