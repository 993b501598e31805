package stacks_test

import (
	"errors"
	"math"
	"testing"

	"kprof/convert/stacks"
)

func TestColumnName(t *testing.T) {
	event := func(name string, columns ...string) stacks.Event {
		e := stacks.Event{Name: name}
		for _, c := range columns {
			e.Values = append(e.Values, stacks.ValueType{Type: c})
		}
		return e
	}
	for _, c := range []struct {
		event  stacks.Event
		column int
		want   string
	}{
		{event("inuse_space", "alloc_space", "inuse_space"), 0, "alloc_space"},
		{event("inuse_space", "alloc_space", "inuse_space"), 1, "inuse_space"},
		{event("cpu", "samples", "cpu"), 0, "cpu"},
		{event("cycles", "cycles.samples", "cycles"), 0, "cycles"},
		{event("off-cpu", "samples", "off-cpu", "unended"), 2, "off-cpu"},
		{event("kmem:kmalloc", "samples", "bytes_alloc"), 1, "kmem:kmalloc"},
	} {
		if got := c.event.ColumnName(c.column); got != c.want {
			t.Errorf("column %d of %+v: %s, want %s", c.column, c.event, got, c.want)
		}
	}
}

// TestCheckColumn: only columns that there are can be chosen.
func TestCheckColumn(t *testing.T) {
	two := []stacks.ValueType{{Type: "samples"}, {Type: "b"}}
	s := stacks.New(stacks.Event{Name: "a", Values: two[:1]}, stacks.Event{Name: "b", Values: two})
	for _, c := range []struct {
		event, column int
		ok            bool
	}{
		{0, 0, true}, {1, 1, true}, {-1, 0, false}, {2, 0, false}, {0, 1, false}, {0, -1, false}, {1, 2, false},
	} {
		if err := s.CheckColumn(c.event, c.column); (err == nil) != c.ok {
			t.Errorf("column %d of event %d: %v", c.column, c.event, err)
		}
		if err := s.CheckSum(c.event, c.column); (err == nil) != c.ok {
			t.Errorf("the sum of column %d of event %d: %v", c.column, c.event, err)
		}
	}
}

// TestCheckSum: a column is refused where some of its values, of either sign, add up to more than 63 bits
// hold; what others have is not of it.
func TestCheckSum(t *testing.T) {
	for _, c := range []struct {
		values []int64
		ok     bool
		total  int64
	}{
		{nil, true, 0}, {[]int64{5, -7}, true, -2}, {[]int64{math.MaxInt64 - 1, 1}, true, math.MaxInt64}, {[]int64{math.MaxInt64, 1}, false, 0},
		{[]int64{math.MaxInt64, -1}, false, 0}, {[]int64{-math.MaxInt64}, true, -math.MaxInt64}, {[]int64{math.MinInt64}, false, 0},
		{[]int64{-math.MaxInt64, -1}, false, 0},
	} {
		one := []stacks.ValueType{{Type: "bytes"}}
		s := stacks.New(stacks.Event{Name: "a", Values: one}, stacks.Event{Name: "b", Values: one})
		var sum stacks.Sum
		var failed error
		for i, v := range c.values {
			stack := s.Intern([]uint32{uint32(i)})
			s.Add(0, stack, 0, v)
			s.Add(1, stack, 0, math.MaxInt64)
			failed = errors.Join(failed, sum.Add(v, &s.Events[0], 0))
		}
		err := s.CheckSum(0, 0)
		var large *stacks.TooLargeSumError
		if (err == nil) != c.ok || !c.ok && (!errors.As(err, &large) || *large != stacks.TooLargeSumError{Event: "a", Column: "bytes"}) {
			t.Errorf("%d: %v", c.values, err)
		}
		if (failed == nil) != c.ok || c.ok && sum.Total != c.total {
			t.Errorf("%d: total %d, want %d; %v", c.values, sum.Total, c.total, failed)
		}
	}
}
