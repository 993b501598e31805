package stacks

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDropLastColumn(t *testing.T) {
	s := New(Event{Name: "a", Values: countAndTime}, Event{Name: "b", Values: countAndTime})
	for i := range 2 * rowBlock {
		s.Add(0, s.Intern([]uint32{uint32(i)}), 0, 1, 10)
		s.Add(1, s.Intern([]uint32{uint32(i)}), 0, 2, 20)
	}
	s.DropLastColumn(0)
	want := [][]int64{{2 * rowBlock}, {4 * rowBlock, 40 * rowBlock}}
	if diff := cmp.Diff(want, [][]int64{s.Totals(0), s.Totals(1)}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{1}, s.Sample(0).Values); diff != "" {
		t.Error(diff)
	}
}

func TestUnnamedShares(t *testing.T) {
	s := New(Event{Name: "a", Values: countAndTime})
	x, y := s.AddMapping(Mapping{File: "x"}), s.AddMapping(Mapping{File: "y"})
	named, in, also := s.AddLocation(x, 1, 0), s.AddLocation(x, 2, 0), s.AddLocation(x, 3, 0)
	s.AddLocation(y, 1, 0)
	s.SetLines(named, Line{Function: s.AddFunction(Function{Name: "f"})})
	lined := s.AddLocation(y, 2, 0)
	s.SetLines(lined, Line{Function: s.AddFunction(Function{Name: "g", File: "g.c"})})
	s.Add(0, s.Intern([]uint32{named, lined}), 0, 1, 0)
	s.Add(0, s.Intern([]uint32{in, also, named}), 0, 3, 0)
	if diff := cmp.Diff([]float64{0.75, 0}, s.UnnamedShares()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{1, 0}, s.LinelessShares()); diff != "" {
		t.Error("without lines: ", diff)
	}
	if diff := cmp.Diff([]float64{0, 0.25}, s.LinedShares()); diff != "" {
		t.Error("with lines: ", diff)
	}
}

// TestMost: the event with the most samples, which are the first column's, and the first of such.
func TestMost(t *testing.T) {
	for _, c := range []struct {
		samples []int64
		want    int
	}{{nil, 0}, {[]int64{0, 0}, 0}, {[]int64{1, 3, 2}, 1}, {[]int64{2, 3, 3}, 1}, {[]int64{0, 1}, 1}} {
		s := New()
		for i, n := range c.samples {
			s.AddEvent(Event{Name: string(rune('a' + i)), Values: countAndTime})
			s.Add(i, s.Intern([]uint32{1}), 0, n, 100-n)
		}
		s.AddEvent(Event{Name: "of no columns"})
		s.Add(len(c.samples), s.Intern([]uint32{1}), 0)
		if got := s.Most(); got != c.want {
			t.Errorf("%d: event %d, want %d", c.samples, got, c.want)
		}
	}
}
