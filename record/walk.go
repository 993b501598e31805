package record

import "kprof/perfevent/abi"

// head is how much of a record eachRecord promises to show, if it has as much.
const head = 40

// eachRecord calls f for the records in a and, continued, in b: with the record
// and with its size. Of a sample that lies in both f gets the first 40 bytes; any
// other such record is put together in *whole. It reports whether all sizes were
// possible, and stops where one is not.
func eachRecord(a, b []byte, whole *[]byte, f func(rec []byte, size int)) bool {
	rest, ok := eachWhole(a, f)
	if !ok {
		return false
	}
	if len(rest) > 0 {
		size := int(abi.LittleEndian.Uint16(rest[6:]))
		after := size - len(rest)
		if after > len(b) {
			return false
		}
		show := size
		if abi.RecordType(abi.LittleEndian.Uint32(rest)) == abi.RecordSample {
			show = min(size, head)
		}
		*whole = append((*whole)[:0], rest[:min(show, len(rest))]...)
		*whole = append(*whole, b[:show-len(*whole)]...)
		f(*whole, size)
		b = b[after:]
	}
	rest, ok = eachWhole(b, f)
	return ok && len(rest) == 0
}

// eachWhole does so for what lies in b whole, and returns the rest: nothing, or
// a record's beginning with its header.
func eachWhole(b []byte, f func(rec []byte, size int)) (rest []byte, ok bool) {
	for len(b) > 0 {
		if len(b) < abi.HeaderSize {
			return nil, false
		}
		size := int(abi.LittleEndian.Uint16(b[6:]))
		if size < abi.HeaderSize {
			return nil, false
		}
		if size > len(b) {
			return b, true
		}
		f(b[:size], size)
		b = b[size:]
	}
	return nil, true
}
