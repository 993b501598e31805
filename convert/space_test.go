package convert

import (
	"math/rand/v2"
	"testing"

	"kprof/perfevent/abi"
)

// TestFind looks addresses up at all times of a space that is mapped again and
// again, against a walk over all areas.
func TestFind(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 31, 32, 33, 511, 512, 513, 9000} {
		s := &space{}
		for i := range n {
			a := newArea(r.Uint64N(500), 1+r.Uint64N(40), uint64(i/3))
			a.obj = int32(i)
			s.areas.add(a)
		}
		tl := newTimeline()
		for range 3000 {
			addr, at := r.Uint64N(560), r.Uint64N(uint64(n/3+2))
			var want *area
			for i := range s.areas.all {
				if a := &s.areas.all[i]; a.born <= at && addr >= a.start && addr < a.end {
					want = a
				}
			}
			if got := tl.area(s, addr, at); got != want {
				t.Fatalf("%d areas, address %d at %d: %+v, want %+v", n, addr, at, got, want)
			}
		}
	}
}

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
