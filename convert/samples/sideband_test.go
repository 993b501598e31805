package samples

import (
	"testing"

	"kprof/perfevent/abi"
)

// TestUnknownTypes: records of ever new types are counted without end, and kept
// apart only up to a number.
func TestUnknownTypes(t *testing.T) {
	sb := &sideband{}
	for i := range 5000 {
		sb.count(1000 + abi.RecordType(i))
	}
	var n uint64
	for _, k := range sb.others {
		n += k
	}
	if len(sb.others) != maxUnknownTypes+1 || n != 5000 || sb.others[manyTypes] != 5000-maxUnknownTypes {
		t.Errorf("%d types, %d records, %d of them of many types", len(sb.others), n, sb.others[manyTypes])
	}
}

// TestNestedCompression counts a compressed record inside another, which is not read.
// The one outside comes without its payload, after what was in it.
func TestNestedCompression(t *testing.T) {
	for _, typ := range []abi.RecordType{abi.RecordCompressed, abi.RecordCompressed2} {
		sb := &sideband{}
		sb.take(abi.Header{Type: typ}, nil, 0)
		if sb.bad != 0 {
			t.Errorf("%v: %d bad records", typ, sb.bad)
		}
		sb.take(abi.Header{Type: typ}, []byte{1}, 1)
		if sb.bad != 1 || sb.counts[typ] != 2 {
			t.Errorf("%v inside another: %d bad records of %d", typ, sb.bad, sb.counts[typ])
		}
	}
}
