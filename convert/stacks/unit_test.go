package stacks

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// spent is a profile of one function's time, with times of
// its rows.
func spent(unit string, values ...int64) *Set {
	s := New(Event{Name: "cpu", Values: []ValueType{{"samples", "count"}, {"cpu", unit}}})
	f := s.AddLocation(-1, 0, KindUser)
	s.SetLines(f, Line{Function: s.AddFunction(Function{Name: "work"})})
	for i, v := range values {
		r := s.Add(0, s.Intern([]uint32{f}), s.InternLabels([]Label{{Key: "tid", Num: int64(i)}}), 1, v)
		s.AddTimedSample(TimedSample{Time: uint64(1 + i), Sample: uint32(r), Value: v})
	}
	return s
}

// TestMergerUnits: the sum has the finest unit of what is added up, in any order, as that of
// go tool pprof with several profiles.
func TestMergerUnits(t *testing.T) {
	us, ns, s := ValueType{"cpu", "microseconds"}, ValueType{"cpu", "nanoseconds"}, ValueType{"cpu", "seconds"}
	for _, c := range []struct {
		add  []*Set
		want ValueType
		sums []int64
	}{
		{[]*Set{spent("microseconds", 7, 3), spent("nanoseconds", 5, 1)}, ns, []int64{7005, 3001}},
		{[]*Set{spent("nanoseconds", 5, 1), spent("microseconds", 7, 3)}, ns, []int64{7005, 3001}},
		{[]*Set{spent("seconds", 2), spent("microseconds", 7), spent("seconds", 1)}, us, []int64{3000007}},
		{[]*Set{spent("microseconds", 7), spent("seconds", 2), spent("nanoseconds", 1), spent("microseconds", -4)}, ns, []int64{2000003001}},
		{[]*Set{spent("seconds", 2), spent("seconds", 3)}, s, []int64{5}},
		{[]*Set{spent("gigabytes", 1), spent("kilobytes", 3), spent("megabytes", 1)}, ValueType{"cpu", "kilobytes"}, []int64{1<<20 + 3 + 1<<10}},
	} {
		m := NewMerger(MergeOptions{})
		for _, set := range c.add {
			if err := m.Add(set, Addend{}); err != nil {
				t.Fatal(err)
			}
		}
		sum := m.Set()
		if len(sum.Events) != 1 || sum.Events[0].Values[1] != c.want {
			t.Errorf("%v, want one event with %v", sum.Events, c.want)
		}
		byTask, timed := make([]int64, len(c.sums)), make([]int64, len(c.sums))
		for i := range sum.NumSamples() {
			x := sum.Sample(i)
			byTask[sum.Labels(x.Labels)[0].Num] += x.Values[1]
		}
		for _, x := range sum.TimedSamples {
			timed[x.Time-1] += x.Value
		}
		if d := cmp.Diff(c.sums, byTask); d != "" {
			t.Errorf("%v: %s", c.want, d)
		}
		if d := cmp.Diff(c.sums, timed); d != "" {
			t.Errorf("%v of times: %s", c.want, d)
		}
	}
}

// TestMergerUnitsApart: what measures something else stays another event, and so does what one
// profile has twice.
func TestMergerUnitsApart(t *testing.T) {
	for _, add := range [][]*Set{
		{spent("nanoseconds", 1), spent("bytes", 1)},
		{spent("bytes", 1), spent("count", 1)},
		{spent("beats", 1), spent("", 1)},
		{spent("nanoseconds", 1), spent("ticks", 1)},
	} {
		m := NewMerger(MergeOptions{})
		for _, set := range add {
			if err := m.Add(set, Addend{}); err != nil {
				t.Fatal(err)
			}
		}
		sum := m.Set()
		if len(sum.Events) != 2 || sum.Events[0].Name == sum.Events[1].Name || sum.Events[0].Values[1].Type == sum.Events[1].Values[1].Type {
			t.Errorf("%v", sum.Events)
			continue
		}
		// As a profile that is read again, with one of those that it was made of.
		again := NewMerger(MergeOptions{})
		for _, set := range []*Set{sum, add[0], sum} {
			if err := again.Add(set, Addend{}); err != nil {
				t.Fatal(err)
			}
		}
		if sum := again.Set(); len(sum.Events) != 2 || sum.Totals(0)[1] != 3 || sum.Totals(1)[1] != 2 {
			t.Errorf("%v", sum.Events)
		}
	}
	both := New(
		Event{Name: "cpu", Values: []ValueType{{"cpu", "nanoseconds"}}},
		Event{Name: "cpu", Values: []ValueType{{"cpu", "microseconds"}}},
	)
	for event := range both.Events {
		both.Add(event, both.Intern(nil), 0, 5)
	}
	m := NewMerger(MergeOptions{})
	for range 2 {
		if err := m.Add(both, Addend{}); err != nil {
			t.Fatal(err)
		}
	}
	if sum := m.Set(); len(sum.Events) != 2 || sum.Totals(0)[0] != 10 || sum.Totals(1)[0] != 10 {
		t.Errorf("%v", sum.Events)
	}
}

// TestMergerUnitsTooLarge: what does not fit in the finer unit is an error, and the sum what it was.
func TestMergerUnitsTooLarge(t *testing.T) {
	for _, c := range []struct{ had, add *Set }{
		{spent("seconds", math.MaxInt64/1_000_000_000+1), spent("nanoseconds", 0)},
		{spent("seconds", math.MaxInt64/1_000_000_000), spent("nanoseconds", 1e9)},
		{spent("seconds", 1<<60), spent("nanoseconds", 0)}, // 0 in 64 bits
		{spent("nanoseconds", 0), spent("seconds", 1<<60)},
		{spent("nanoseconds", 1), spent("seconds", math.MaxInt64/1_000_000_000+1)},
		{spent("nanoseconds", 1), spent("seconds", -math.MaxInt64/1_000_000_000-1)},
		{spent("nanoseconds", math.MaxInt64-1e9+1), spent("seconds", 1)},
	} {
		m := NewMerger(MergeOptions{})
		if err := m.Add(c.had, Addend{}); err != nil {
			t.Fatal(err)
		}
		var large *TooLargeSumError
		if err := m.Add(c.add, Addend{}); !errors.As(err, &large) || large.Event != "cpu" || large.Column != "cpu" {
			t.Errorf("%v", err)
		}
		if sum := m.Set(); sum.Events[0].Values[1] != c.had.Events[0].Values[1] || sum.Totals(0)[1] != c.had.Totals(0)[1] {
			t.Errorf("the sum is %v now, %v", sum.Events, sum.Totals(0))
		}
	}
	m := NewMerger(MergeOptions{})
	for _, set := range []*Set{spent("nanoseconds", math.MaxInt64-1e9), spent("seconds", 1)} {
		if err := m.Add(set, Addend{}); err != nil {
			t.Fatal(err)
		}
	}
	if sum := m.Set().Totals(0)[1]; sum != math.MaxInt64 {
		t.Errorf("%d", sum)
	}
}

// TestMergerUnitsScaled: rates lose nothing in rounding as units change.
func TestMergerUnitsScaled(t *testing.T) {
	m := NewMerger(MergeOptions{})
	for _, set := range []*Set{spent("seconds", 1), spent("milliseconds", 1), spent("seconds", 3)} {
		if err := m.Add(set, Addend{Scale: 0.4}); err != nil {
			t.Fatal(err)
		}
	}
	// 0.4 s, of which 0 are kept until there are milliseconds; 0.4 ms; 1200 ms.
	if sum := m.Set(); sum.Totals(0)[1] != 1600 || sum.Events[0].Values[1].Unit != "milliseconds" {
		t.Errorf("%v %v", sum.Totals(0), sum.Events)
	}
	if sum := m.Set(); len(sum.TimedSamples) != 3 || sum.TimedSamples[0].Value+sum.TimedSamples[1].Value+sum.TimedSamples[2].Value != 1600 {
		t.Errorf("%v", sum.TimedSamples)
	}
}
