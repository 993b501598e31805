package viewer

import (
	"testing"

	"kprof/convert/stacks"
)

// callSet has calls of a thread as function_graph tells them: each when it ends, in µs, with its own time.
func callSet() *stacks.Set {
	s := stacks.New(stacks.Event{Name: "ftrace:function_graph", Values: []stacks.ValueType{
		{Type: "samples", Unit: "count"}, {Type: "ftrace:function_graph", Unit: "nanoseconds"},
	}})
	locs := map[string]uint32{}
	for _, name := range []string{"a", "b", "f", "g", "h"} {
		l := s.AddLocation(stacks.NoMapping, 0, stacks.KindKernel)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name})})
		locs[name] = l
	}
	labels := s.InternLabels([]stacks.Label{{Key: "comm", Str: "test"}, {Key: "pid", Num: 7}, {Key: "tid", Num: 7}})
	add := func(end, self int64, path ...string) { // leaf first
		var stack []uint32
		for _, name := range path {
			stack = append(stack, locs[name])
		}
		row := s.Add(0, s.Intern(stack), labels, 1, self*1000)
		s.AddTimedSample(stacks.TimedSample{Time: uint64(end) * 1000, Sample: uint32(row), Value: self * 1000})
	}
	add(20000, 1000, "a") // before the calls in it, some of which end when it does
	add(14000, 2000, "f", "f", "a")
	add(15000, 2000, "f", "a")
	add(20000, 5000, "g", "a")
	add(31000, 1000, "g", "a")
	add(33000, 2000, "a")
	add(42000, 2100, "h", "b") // begins before what it is in, as its end is rounded down
	add(43000, 900, "b")
	add(50000, 1000, "g", "f") // f has not ended
	s.SortTimedSamples()
	return s
}

// TestChromeCalls: calls last as long as they and those in them did, each within the one that it is in.
func TestChromeCalls(t *testing.T) {
	got := "\n" + chromeText(t, export(t, Chrome, callSet(), Options{Column: 1}))
	if want := `
7/7: thread_name test
7/7: process_name test
7/7: a (Kernel) 0-10
7/7:   f (Kernel) 1-5
7/7:     f (Kernel) 2-4
7/7:   g (Kernel) 5-10
7/7: a (Kernel) 20-23
7/7:   g (Kernel) 20-21
7/7: b (Kernel) 30-33
7/7:   h (Kernel) 30-32
7/7: g (Kernel) 39-40
`; got != want {
		t.Errorf("%s\nwant%s", got, want)
	}
}
