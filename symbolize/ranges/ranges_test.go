package ranges

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestIndexAgainstScan compares lookups with a scan of all ranges.
func TestIndexAgainstScan(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 2000 {
		ranges := make([]Range, rng.IntN(12))
		for i := range ranges {
			start := uint64(rng.IntN(40))
			ranges[i] = Range{start, start + uint64(rng.IntN(12))}
		}
		x := New(len(ranges), func(i int) Range { return ranges[i] })
		var seen []int
		for addr := uint64(0); addr < 60; addr++ {
			want, wantOK := 0, false
			for i, r := range ranges {
				if r.Start <= addr && addr < r.End {
					want, wantOK = i, true
				}
			}
			got, ok := x.Lookup(addr)
			if ok != wantOK || got != want {
				t.Fatalf("round %d: Lookup(%d) in %v = %d, %v, want %d, %v", round, addr, ranges, got, ok, want, wantOK)
			}
			if n := len(seen); wantOK && (n == 0 || seen[n-1] != want) {
				seen = append(seen, want)
			}
		}
		// A range on both sides of a gap comes twice, since nothing is between the two.
		if got := slices.Compact(slices.Collect(x.Seen())); !slices.Equal(got, seen) {
			t.Fatalf("round %d: %v are seen in %v, want %v", round, got, ranges, seen)
		}
	}
}

func TestIndexAtTheEndOfAddresses(t *testing.T) {
	top := ^uint64(0)
	x := New(1, func(int) Range { return Range{top - 1, top} })
	if _, ok := x.Lookup(top - 2); ok {
		t.Error("found something before the range")
	}
	if i, ok := x.Lookup(top - 1); !ok || i != 0 {
		t.Errorf("Lookup = %d, %v, want 0, true", i, ok)
	}
	if _, ok := x.Lookup(top); ok {
		t.Error("found something past the range")
	}
}
