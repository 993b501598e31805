package stacks

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Stacks that are interned and fetched in groups get the ids, and the rows, that
// they get one after the other.
func TestInternAll(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	one, many := New(Event{Name: "e", Values: countAndTime}), New(Event{Name: "e", Values: countAndTime})
	for range 50 {
		var locs []uint32
		var ends []int
		var want []StackID
		for range rnd.IntN(100) {
			from := len(locs)
			for range rnd.IntN(4) { // short ones come again, within a group too
				locs = append(locs, uint32(rnd.IntN(12)))
			}
			want = append(want, one.Intern(locs[from:]))
			ends = append(ends, len(locs))
		}
		got := many.InternAll(nil, locs, ends)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("ids:\n%s", diff)
		}
		many.Fetch(got)
		for _, id := range got {
			label := LabelsID(rnd.IntN(2))
			one.Add(0, id, label, 1, 10)
			many.Add(0, id, label, 1, 10)
		}
	}
	if one.NumStacks() < 500 {
		t.Fatalf("only %d stacks, the table never grew", one.NumStacks())
	}
	if diff := cmp.Diff(dump(one), dump(many)); diff != "" {
		t.Errorf("rows:\n%s", diff)
	}
}

func dump(s *Set) (rows []Sample) {
	for i := range s.NumSamples() {
		rows = append(rows, s.Sample(i))
	}
	return rows
}
