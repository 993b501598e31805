package stacks

import (
	"reflect"
	"testing"
)

// TestExtend: rows that become equal are added up, single samples follow their rows, and
// no stack is deeper than it may be.
func TestExtend(t *testing.T) {
	s := New(Event{Name: "e", Values: []ValueType{{"samples", "count"}}})
	for i := range uint64(4) {
		s.AddLocation(NoMapping, i, KindUser)
	}
	one, two := s.InternLabels([]Label{{Key: "k", Str: "1"}}), s.InternLabels([]Label{{Key: "k", Str: "2"}})
	deep := make([]uint32, MaxDepth)
	for _, x := range []struct {
		stack  []uint32
		labels LabelsID
		n      int64
	}{{[]uint32{0}, one, 5}, {[]uint32{0}, two, 7}, {nil, one, 1}, {[]uint32{0, 3}, one, 2}, {deep, two, 4}} {
		row := s.Add(0, s.Intern(x.stack), x.labels, x.n)
		s.AddTimedSample(TimedSample{Time: uint64(x.n), Sample: uint32(row), Value: x.n})
	}
	s.Extend(func(l LabelsID) (leaf, root []uint32) {
		if l == one {
			return nil, []uint32{3}
		}
		return []uint32{1}, []uint32{2, 3}
	})
	got := map[int64][]uint32{}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		if stack := s.Stack(x.Stack); len(stack) < 5 {
			got[x.Values[0]] = stack
		} else if len(stack) != MaxDepth || stack[0] != 1 || stack[MaxDepth-2] != 2 || stack[MaxDepth-1] != 3 {
			t.Errorf("deep: %d, %v", len(stack), stack[MaxDepth-2:])
		}
	}
	if want := map[int64][]uint32{5: {0, 3}, 7: {1, 0, 2, 3}, 1: {3}, 2: {0, 3, 3}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, m := range s.TimedSamples {
		if x := s.Sample(int(m.Sample)); x.Values[0] != m.Value {
			t.Errorf("%+v is of a row of %d", m, x.Values)
		}
	}
	if got := s.Totals(0); got[0] != 19 {
		t.Errorf("total %v", got)
	}
}
