package perfdata

import (
	"errors"
	"fmt"
	"io"

	"kprof/perfevent/abi"
)

// block is a kind of what kprof adds to a recording where perf looks at nothing: between
// the attributes and the data, or behind everything else. An unknown feature bit or
// record would do the same, but perf inject crashes on the one and perf script
// refuses the other.
//
// Its form, integers in the byte order of the file:
//
//	magic    8 bytes
//	version  u32, 1
//	length   u32 of payload
//	payload
//	padding  to a multiple of eight
//	length   u32 of all of this
//	zero     u32
//	magic    8 bytes again: a block is found from its end
type block struct {
	magic string
	what  string // in errors
	most  int    // bytes of payload
}

const (
	blockVersion = 1
	blockHead    = 16
	blockTail    = 16
)

// append appends the block with a payload to b, whose length is a multiple of eight.
func (k *block) append(b, payload []byte, o abi.Order) ([]byte, error) {
	if len(payload) > k.most {
		return b, fmt.Errorf("%s: %d bytes, at most %d", k.what, len(payload), k.most)
	}
	start := len(b)
	b = append(b, k.magic...)
	b = o.AppendUint32(b, blockVersion)
	b = o.AppendUint32(b, uint32(len(payload)))
	b = append(b, payload...)
	for (len(b)-start)%8 != 0 {
		b = append(b, 0)
	}
	b = o.AppendUint32(b, uint32(len(b)-start+blockTail))
	b = o.AppendUint32(b, 0)
	return append(b, k.magic...), nil
}

// payload returns that of the block that b is.
func (k *block) payload(b []byte, o abi.Order) ([]byte, error) {
	if len(b) < blockHead+blockTail || string(b[:8]) != k.magic {
		return nil, fmt.Errorf("%s: no magic at the start", k.what)
	}
	if v := o.Uint32(b[8:]); v != blockVersion {
		return nil, fmt.Errorf("%s: version %d, only %d is known", k.what, v, blockVersion)
	}
	n := o.Uint32(b[12:])
	if uint64(n) > uint64(len(b)-blockHead-blockTail) {
		return nil, fmt.Errorf("%s: payload of %d bytes in %d", k.what, n, len(b))
	}
	return b[blockHead : blockHead+n], nil
}

// blockBefore returns the bytes of the block that ends at offset end, nil if none does.
func (r *Reader) blockBefore(end int64, k *block) ([]byte, error) {
	n, err := r.blockSize(end, k)
	if err != nil || n == 0 {
		return nil, err
	}
	b := make([]byte, n)
	if _, err := r.at.ReadAt(b, end-n); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s at offset %d: %w", k.what, end-n, err)
	}
	return b, nil
}

// blockSize returns how many bytes the block has that ends at offset end, 0 if none does.
func (r *Reader) blockSize(end int64, k *block) (int64, error) {
	var tail [blockTail]byte
	if r.header.pipe || r.at == nil || end < fileHeaderSize+blockTail || end > r.size {
		return 0, nil
	}
	if _, err := r.at.ReadAt(tail[:], end-blockTail); err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("read %s at offset %d: %w", k.what, end-blockTail, err)
	}
	if string(tail[8:]) != k.magic {
		return 0, nil
	}
	n := int64(r.header.order.Uint32(tail[:]))
	if n < blockHead+blockTail || n > int64(k.most)+blockHead+blockTail+8 || n > end-fileHeaderSize {
		return 0, fmt.Errorf("%s of %d bytes before offset %d", k.what, n, end)
	}
	return n, nil
}
