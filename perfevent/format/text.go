package format

import (
	"strconv"

	"kprof/perfevent/abi"
)

// maskBit is a bit of a bitmap of longs; a long that is cut short has none.
func maskBit(b []byte, bit, long int, o abi.Order) bool {
	if bit < 0 || bit/8 >= len(b) {
		return false
	}
	at := bit / 8
	if o == abi.BigEndian {
		at = at/long*long + long - 1 - at%long
		if at >= len(b) {
			return false
		}
	}
	return b[at]>>(bit%8)&1 != 0
}

// AppendBitList appends which of the lowest bits of a bitmap of longs are set, as
// lists of CPUs are written: "0-3,8". long is the bytes of a long.
func AppendBitList(dst, mask []byte, bits, long int, o abi.Order) []byte {
	first := len(dst)
	n := min(bits, len(mask)*8)
	for i := 0; i < n; i++ {
		if i%(long*8) == 0 && isZero(mask[i/8:min(i/8+long, len(mask))]) {
			i += long*8 - 1
			continue
		}
		if !maskBit(mask, i, long, o) {
			continue
		}
		lo := i
		for i+1 < n && maskBit(mask, i+1, long, o) {
			i++
		}
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(lo), 10)
		if i > lo {
			dst = append(dst, '-')
			dst = strconv.AppendInt(dst, int64(i), 10)
		}
	}
	return dst
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// AppendBitmask appends the lowest bits of a bitmap as the kernel prints bitmaps:
// words of 32 bits in hexadecimal, the highest first, "00000000,0000000f".
func AppendBitmask(dst, mask []byte, bits, long int, o abi.Order) []byte {
	bits = min(bits, len(mask)*8)
	for hi := bits; hi > 0; {
		lo := (hi - 1) / 32 * 32
		if hi < bits {
			dst = append(dst, ',')
		}
		for digit := (hi - lo + 3) / 4; digit > 0; digit-- {
			v := byte(0)
			for i := range 4 {
				if at := lo + digit*4 - 4 + i; at < hi && maskBit(mask, at, long, o) {
					v |= 1 << i
				}
			}
			dst = append(dst, "0123456789abcdef"[v])
		}
		hi = lo
	}
	return dst
}

// AppendValue appends the value of the field as text: decimal numbers, longs
// without sign, pointers, and what a function returned below all errors in hexadecimal,
// since they are mostly addresses,
// arrays in braces, masks as lists of bits, "?" when the record lacks it.
func (f *Field) AppendValue(dst, raw []byte) []byte {
	b, ok := f.Bytes(raw)
	if !ok {
		return append(dst, '?')
	}
	switch {
	case f.Text():
		s, _ := f.String(raw)
		return append(dst, s...)
	case f.Kind == Mask:
		return AppendBitList(dst, b, len(b)*8, int(f.longSize), f.order)
	case f.Kind == Opaque:
		return appendHex(dst, b)
	case !f.Array:
		v, ok := f.load(raw, f.Offset, f.Size)
		if !ok {
			return append(dst, '?')
		}
		return f.appendNumber(dst, v)
	}
	dst = append(dst, '{')
	for i := 0; f.Elem > 0 && i < len(b)/f.Elem; i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v, ok := f.load(b, i*f.Elem, f.Elem); ok {
			dst = f.appendNumber(dst, v)
		}
	}
	return append(dst, '}')
}

func (f *Field) appendNumber(dst []byte, v uint64) []byte {
	switch {
	case f.Signed && (int64(v) >= -MaxErrno || f.Size < 8 || !f.ReturnsError()):
		return strconv.AppendInt(dst, int64(v), 10)
	case f.Signed, f.Kind == Pointer, f.Type == "unsigned long", f.Array:
		return strconv.AppendUint(append(dst, "0x"...), v, 16)
	}
	return strconv.AppendUint(dst, v, 10)
}

func appendHex(dst, b []byte) []byte {
	for _, c := range b {
		dst = append(dst, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
	}
	return dst
}

// AppendFields appends the event's own fields as name=value pairs with a blank
// between.
func (f *Format) AppendFields(dst, raw []byte) []byte {
	own := f.Own()
	for i := range own {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, own[i].Name...)
		dst = append(dst, '=')
		dst = own[i].AppendValue(dst, raw)
	}
	return dst
}
