package stacks

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeepEvents(t *testing.T) {
	s := New(Event{"a", countAndTime}, Event{"b", countAndTime[:1]}, Event{"c", countAndTime})
	for i := range 3 * rowBlock { // rows of each event in each block
		s.Add(0, s.Intern([]uint32{uint32(i)}), 0, 1, int64(i))
		s.Add(1, s.Intern([]uint32{uint32(i)}), 0, 1)
		s.Add(2, s.Intern([]uint32{uint32(i)}), 0, 2, int64(i))
	}
	want := []string{fmt.Sprint(s.Totals(0)), fmt.Sprint(s.Totals(2))}
	s.KeepEvents(func(e int) bool { return e != 1 })
	if diff := cmp.Diff([]Event{{"a", countAndTime}, {"c", countAndTime}}, s.Events); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, []string{fmt.Sprint(s.Totals(0)), fmt.Sprint(s.Totals(1))}); diff != "" {
		t.Error(diff)
	}
	n := s.NumSamples()
	if n != 6*rowBlock {
		t.Errorf("%d rows, want %d", n, 6*rowBlock)
	}
	s.Add(1, s.Intern([]uint32{5}), 0, 1, 1) // finds its row
	if s.NumSamples() != n {
		t.Error("a known row was added again")
	}
	s.DropLastColumn(1)
	if diff := cmp.Diff([]int64{6*rowBlock + 1}, s.Totals(1)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[0], fmt.Sprint(s.Totals(0))); diff != "" {
		t.Error(diff)
	}
}
