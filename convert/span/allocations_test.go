package span_test

import (
	"fmt"
	"slices"
	"testing"

	"kprof/convert/span"
)

// TestAllocations: what counts is the outermost call of a thread, whatever it calls, and
// whether or not the returns within it were seen.
func TestAllocations(t *testing.T) {
	const enter, back, free = span.Allocate, span.Allocated, span.Free
	type step struct {
		kind    span.Kind
		task    int32
		place   uint64
		address uint64
		bytes   int64
		check   uint64
	}
	none := span.Unchecked
	for _, tc := range []struct {
		name  string
		steps []step
		held  []string // address, bytes
		want  span.Stats
	}{
		{"taken and freed", []step{{enter, 1, 900, 0, 10, none}, {back, 1, 908, 0x10, 0, none}, {free, 1, 900, 0x10, 0, none}}, nil, span.Stats{Ended: 1}},
		{"kept", []step{{enter, 1, 900, 0, 10, none}, {back, 1, 908, 0x10, 0, none}}, []string{"0x10 10"}, span.Stats{Open: 1}},
		{"freed by another thread", []step{{enter, 1, 900, 0, 10, none}, {back, 1, 908, 0x10, 0, none}, {free, 2, 500, 0x10, 0, none}}, nil, span.Stats{Ended: 1}},
		{"realloc calls malloc and free", []step{
			{enter, 1, 900, 0, 10, none}, {back, 1, 908, 0x10, 0, none},
			{enter, 1, 900, 0x10, 20, none}, {enter, 1, 800, 0, 20, none}, {back, 1, 808, 0x20, 0, none}, {free, 1, 800, 0x10, 0, none}, {back, 1, 908, 0x20, 0, none},
		}, []string{"0x20 20"}, span.Stats{Ended: 1, Open: 1}},
		{"no memory", []step{{enter, 1, 900, 0, 10, none}, {back, 1, 908, 0, 0, none}}, nil, span.Stats{}},
		{"two threads at once", []step{
			{enter, 1, 900, 0, 10, none}, {enter, 2, 500, 0, 20, none}, {back, 1, 908, 0x10, 0, none}, {back, 2, 508, 0x20, 0, none},
		}, []string{"0x10 10", "0x20 20"}, span.Stats{Open: 2}},
		{"a return that was not seen", []step{{enter, 1, 800, 0, 10, none}, {enter, 1, 900, 0, 20, none}, {back, 1, 908, 0x20, 0, none}}, []string{"0x20 20"}, span.Stats{Open: 1}},
		{"a return that was not seen, of a call at the same place", []step{{enter, 1, 900, 0, 10, none}, {enter, 1, 900, 0, 20, none}, {back, 1, 908, 0x20, 0, none}}, []string{"0x20 20"}, span.Stats{Open: 1}},
		{"a return within it that was not seen", []step{{enter, 1, 900, 0, 10, none}, {enter, 1, 800, 0, 30, none}, {back, 1, 908, 0x10, 0, none}, {free, 1, 900, 0x10, 0, none}}, nil, span.Stats{Ended: 1}},
		{"a return of nothing", []step{{back, 1, 908, 0x20, 0, none}}, nil, span.Stats{}},
		{"freed, of before", []step{{free, 1, 900, 0x10, 0, none}}, nil, span.Stats{Unbegun: 1}},
		{"where it is is not known", []step{{enter, 1, 900, 0, 10, none}, {back, 1, 908, ^uint64(0), 0, span.UnknownAddress}}, nil, span.Stats{Unended: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var held []string
			x := span.NewPairs(make([]span.Rules, 1), func(s *span.Span) {
				if s.Outcome == span.StillOpen {
					held = append(held, fmt.Sprintf("%#x %d", s.Row, s.Value))
				}
			})
			for i, s := range tc.steps {
				p := span.Point{
					Time: uint64(i + 1), Kind: s.kind, Task: s.task, Place: s.place, Value: s.bytes, Check: s.check, Match: span.MatchYes,
					Row: uint32(s.address), Key: span.Key{Task: 7, CPU: -1, Values: [3]uint64{s.address}},
				}
				x.Take(&p)
			}
			x.Finish()
			slices.Sort(held)
			if !slices.Equal(held, tc.held) || x.Stats[0] != tc.want {
				t.Errorf("held %q, want %q; %+v", held, tc.held, x.Stats[0])
			}
		})
	}
}
