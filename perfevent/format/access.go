package format

import "bytes"

// The readers below take the payload of one record and report whether it has the
// field whole. What they return lies in the payload, or is fault.

// fault is what the kernel prints for text of a probe that could not be read, as it was not in
// memory: such text has no byte, and empty text a NUL (kernel/trace/trace_probe_kernel.h, set_data_loc;
// some kernels before 6.5 write these words into the record).
var fault = []byte("(fault)")

// load reads the number of size bytes at off. off and size are not negative.
func (f *Field) load(raw []byte, off, size int) (uint64, bool) {
	if size > len(raw) || off > len(raw)-size {
		return 0, false
	}
	b := raw[off:]
	switch size {
	case 1:
		if f.Signed {
			return uint64(int8(b[0])), true
		}
		return uint64(b[0]), true
	case 2:
		v := f.order.Uint16(b)
		if f.Signed {
			return uint64(int16(v)), true
		}
		return uint64(v), true
	case 4:
		v := f.order.Uint32(b)
		if f.Signed {
			return uint64(int32(v)), true
		}
		return uint64(v), true
	case 8:
		return f.order.Uint64(b), true
	}
	return 0, false
}

// Uint is the value of a scalar field: extended to 64 bits by its sign when the
// field is signed, and then to be taken for an int64.
func (f *Field) Uint(raw []byte) (uint64, bool) {
	if f.Array {
		return 0, false
	}
	return f.load(raw, f.Offset, f.Size)
}

// Bytes is the field as it lies in the record: that of an array all its elements,
// padding of the record included when the array is Trailing.
func (f *Field) Bytes(raw []byte) ([]byte, bool) {
	off, size := f.Offset, f.Size
	switch f.Place {
	case Trailing:
		if off > len(raw) {
			return nil, false
		}
		return raw[off:], true
	case DataLoc, RelLoc:
		if len(raw) < 4 || off > len(raw)-4 {
			return nil, false
		}
		loc := f.order.Uint32(raw[off:])
		size = int(loc >> 16)
		if f.Place == RelLoc {
			off += f.Size + int(loc&0xffff)
		} else {
			off = int(loc & 0xffff)
		}
		if size == 0 && f.fetched && f.Text() {
			return fault[:len(fault):len(fault)], true
		}
	}
	if size > len(raw) || off > len(raw)-size {
		return nil, false
	}
	return raw[off : off+size : off+size], true
}

// String is the text of a field up to its NUL.
func (f *Field) String(raw []byte) ([]byte, bool) {
	b, ok := f.Bytes(raw)
	if !ok {
		return nil, false
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return b, true
}

// Len is how many elements the field has in this record.
func (f *Field) Len(raw []byte) (int, bool) {
	b, ok := f.Bytes(raw)
	if !ok || f.Elem == 0 {
		return 0, false
	}
	return len(b) / f.Elem, true
}

// Index is the element i of an array, extended as Uint does. A field that is no
// array has the element 0.
func (f *Field) Index(raw []byte, i int) (uint64, bool) {
	b, ok := f.Bytes(raw)
	if !ok || i < 0 || f.Elem <= 0 || i >= len(b)/f.Elem {
		return 0, false
	}
	return f.load(b, i*f.Elem, f.Elem)
}

// Bit reports whether a bit of a mask is set: bitmaps are arrays of long, so that
// where bit 0 lies depends on the byte order and on the size of a long.
func (f *Field) Bit(raw []byte, bit int) bool {
	b, ok := f.Bytes(raw)
	return ok && maskBit(b, bit, int(f.longSize), f.order)
}
