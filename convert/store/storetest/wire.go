package storetest

import "google.golang.org/protobuf/encoding/protowire"

// all returns the values of a field of bytes.
func all(b []byte, field protowire.Number) (values [][]byte) {
	for len(b) > 0 {
		f, t, n := protowire.ConsumeTag(b)
		if n < 0 {
			return values
		}
		m := protowire.ConsumeFieldValue(f, t, b[n:])
		if m < 0 {
			return values
		}
		if f == field && t == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(b[n:])
			values = append(values, v)
		}
		b = b[n+m:]
	}
	return values
}

// text is the last value of a field of text.
func text(b []byte, field protowire.Number) string {
	if v := all(b, field); len(v) > 0 {
		return string(v[len(v)-1])
	}
	return ""
}

// number is the value of a field of numbers.
func number(b []byte, field protowire.Number) int64 {
	for len(b) > 0 {
		f, t, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0
		}
		if f == field && t == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(b[n:])
			return int64(v)
		}
		m := protowire.ConsumeFieldValue(f, t, b[n:])
		if m < 0 {
			return 0
		}
		b = b[n+m:]
	}
	return 0
}
