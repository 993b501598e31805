package perfdata

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"kprof/perfevent/abi"
)

// ErrNotPerfData says that a file does not begin as a recording does.
var ErrNotPerfData = errors.New("not a perf.data file")

// section is struct perf_file_section: a place in the file.
type section struct{ off, size uint64 }

// fileHeader is struct perf_file_header (tools/perf/util/header.h), or the 16
// bytes of struct perf_pipe_file_header.
type fileHeader struct {
	order    abi.Order
	version  int // as perf counts: 0 with the magic of before Linux 2.6.38, else 1
	pipe     bool
	size     uint64
	attrSize uint64 // of an attribute with its section of ids
	attrs    section
	data     section
	features FeatureSet
}

const (
	pipeHeaderSize = 16
	fileHeaderSize = 104
	oldHeaderSize  = 72 // before Linux 2.6.31, without the set of features
)

var (
	magic2     = []byte("PERFILE2")
	magic2Swap = []byte("2ELIFREP")
	magic1     = []byte("PERFFILE") // before Linux 2.6.38: the same in either byte order
)

// headerOrder tells the byte order from the first 16 bytes, and whether they are
// those of a pipe.
func headerOrder(b []byte) (o abi.Order, pipe bool, err error) {
	if len(b) == 0 {
		return o, false, fmt.Errorf("%w: it is empty", ErrNotPerfData)
	}
	if len(b) < pipeHeaderSize {
		return o, false, fmt.Errorf("%w: it has %d bytes", ErrNotPerfData, len(b))
	}
	switch {
	case bytes.Equal(b[:8], magic2):
		o = abi.LittleEndian
	case bytes.Equal(b[:8], magic2Swap):
		o = abi.BigEndian
	case bytes.Equal(b[:8], magic1):
		// No order in the magic: the header's size is small in the right one.
		if abi.LittleEndian.Uint64(b[8:]) > 1<<32 {
			o = abi.BigEndian
		}
	default:
		return o, false, fmt.Errorf("%w: it begins with %q instead of %q", ErrNotPerfData, b[:8], magic2)
	}
	return o, o.Uint64(b[8:]) == pipeHeaderSize, nil
}

// FileMode reports whether a recording that begins with b is one in file mode, of which the header
// says what is where: it cannot be read from a pipe.
func FileMode(b []byte) bool {
	_, pipe, err := headerOrder(b)
	return err == nil && !pipe
}

// headerVersion is perf's number of the format that a header begins.
func headerVersion(b []byte) int {
	if bytes.Equal(b[:8], magic1) {
		return 0
	}
	return 1
}

// readFileHeader reads the header of a recording in file mode; size is the
// file's.
func readFileHeader(r io.ReaderAt, o abi.Order, size int64) (fileHeader, error) {
	var b [fileHeaderSize]byte
	n, err := r.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fileHeader{}, fmt.Errorf("read perf.data header: %w", err)
	}
	want := fileHeaderSize
	if o.Uint64(b[8:]) == oldHeaderSize {
		want = oldHeaderSize
		clear(b[oldHeaderSize:])
	}
	if n < want {
		return fileHeader{}, fmt.Errorf("perf.data header: %w", &TruncatedError{Offset: int64(n), Reason: fmt.Sprintf("%d of %d bytes", n, want)})
	}
	sec := func(at int) section { return section{o.Uint64(b[at:]), o.Uint64(b[at+8:])} }
	h := fileHeader{
		order: o, size: o.Uint64(b[8:]), attrSize: o.Uint64(b[16:]),
		version: headerVersion(b[:]), attrs: sec(24), data: sec(40), // 56 is event_types, unused since Linux 3.10
	}
	h.features = featureSet(o, b[oldHeaderSize:])
	switch {
	case h.attrSize < abi.AttrSizeVer0+16 || h.attrSize > maxAttrEntry:
		return h, fmt.Errorf("perf.data header: attributes of %d bytes; was the recording ended properly?", h.attrSize)
	case h.data.off < uint64(want) && h.data.off != 0, h.data.off > uint64(size):
		return h, fmt.Errorf("perf.data header: data at offset %d of a file of %d bytes", h.data.off, size)
	case h.attrs.off > uint64(size):
		return h, fmt.Errorf("perf.data header: attributes at offset %d of a file of %d bytes", h.attrs.off, size)
	}
	return h, nil
}

const maxAttrEntry = 4096 + 16

// featureSet reads the set of features, an array of unsigned long: in a
// big-endian recording of a 32-bit perf the halves of each word are the other way
// round. Which it is shows HOSTNAME, which perf has always written since Linux
// 2.6.38 (perf's header.c, perf_file_header__read); of an older one, that the low
// halves alone are used.
func featureSet(o abi.Order, b []byte) (s FeatureSet) {
	for i := range s {
		s[i] = o.Uint64(b[8*i:])
	}
	if o == abi.BigEndian && !s.Has(FeatureHostname) {
		swapped := s
		for i, w := range swapped {
			swapped[i] = bits.RotateLeft64(w, 32)
		}
		if swapped.Has(FeatureHostname) || uint32(s[0]) == 0 {
			return swapped
		}
	}
	return s
}

// bounded cuts a section to what lies within the file, reporting whether it had
// to.
func (s section) bounded(size int64) (section, bool) {
	if s.off > uint64(size) {
		return section{}, s.size > 0
	}
	if left := uint64(size) - s.off; s.size > left {
		return section{s.off, left}, true
	}
	return s, false
}

// maxIDs bounds the ids of one event. A machine of 4,096 CPUs has one for each;
// a recording of 10,000 threads on 512 CPUs, five million.
const maxIDs = 1 << 24

// maxEvents bounds the events of a recording. A machine has some thousand to
// choose from.
const maxEvents = 1 << 14

// readAttrs reads the attributes and their ids.
func readAttrs(r io.ReaderAt, h fileHeader, size int64) ([]abi.Event, error) {
	attrs, cut := h.attrs.bounded(size)
	if cut {
		return nil, fmt.Errorf("attributes of %d bytes at offset %d reach past the end of a file of %d", h.attrs.size, h.attrs.off, size)
	}
	if n := attrs.size / h.attrSize; n > maxEvents {
		return nil, fmt.Errorf("perf.data header: %d events, more than %d", n, maxEvents)
	}
	var events []abi.Event
	budget := uint64(maxIDs)
	buf := make([]byte, h.attrSize)
	for at := attrs.off; at+h.attrSize <= attrs.off+attrs.size; at += h.attrSize {
		if _, err := r.ReadAt(buf, int64(at)); err != nil {
			return nil, fmt.Errorf("read attribute at offset %d: %w", at, err)
		}
		a, _, err := abi.DecodeAttr(buf[:h.attrSize-16], h.order)
		if err != nil {
			return nil, fmt.Errorf("attribute at offset %d: %w", at, err)
		}
		tail := buf[h.attrSize-16:]
		ids := section{h.order.Uint64(tail), h.order.Uint64(tail[8:])}
		if b, cut := ids.bounded(size); cut || b.size/8 > budget {
			return nil, fmt.Errorf("attribute at offset %d: %d bytes of ids at offset %d in a file of %d", at, ids.size, ids.off, size)
		}
		budget -= ids.size / 8
		raw := make([]byte, ids.size/8*8)
		if _, err := r.ReadAt(raw, int64(ids.off)); err != nil && len(raw) > 0 {
			return nil, fmt.Errorf("read ids at offset %d: %w", ids.off, err)
		}
		events = append(events, abi.Event{Attr: a, IDs: decodeIDs(raw, h.order)})
	}
	return events, nil
}

func decodeIDs(b []byte, o abi.Order) []uint64 {
	ids := make([]uint64, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		ids = append(ids, o.Uint64(b))
	}
	return ids
}
