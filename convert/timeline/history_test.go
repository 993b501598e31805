package timeline

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHistory adds in any order, and cuts, against a slice that is sorted each time.
func TestHistory(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var h history[Area]
		var want []Area
		for i := range 60 {
			switch a := (Area{since: r.Uint64N(40), Object: int32(i)}); r.IntN(8) {
			case 0:
				h.merge()
			case 1:
				cut := h.cut(a.since)
				n := startedBy(want, a.since)
				if !slices.Equal(cut, want[n:]) {
					t.Fatalf("cut at %d: %v\nof %v", a.since, cut, want)
				}
				want = want[:n:n]
			default:
				h.add(a)
				want = append(want, a)
				slices.SortStableFunc(want, func(a, b Area) int { return cmp.Compare(a.since, b.since) })
			}
			at := r.Uint64N(45)
			got, n := h.at(at), startedBy(want, at)
			if got == nil && n > 0 || got != nil && (n == 0 || *got != want[n-1]) {
				t.Fatalf("at %d: %+v\nof %v", at, got, want)
			}
		}
		h.merge()
		if !slices.Equal(h.all, want) {
			t.Fatalf("%v\nwant %v", h.all, want)
		}
		h.forget(20, 2)
		if n := startedBy(want, 19) - 2; n > 0 && n >= len(want)/2 {
			want = want[n:]
		}
		if !slices.Equal(h.all, want) {
			t.Fatalf("%v\nwant %v", h.all, want)
		}
	}
}
