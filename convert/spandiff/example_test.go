package spandiff_test

import (
	"fmt"

	"kprof/convert/diff"
	"kprof/convert/spandiff"
	"kprof/convert/stacks"
)

func Example() {
	// One run of each side: the calls of the new one take half as long again.
	recorded := func(name string, factor int64) diff.Run {
		s := stacks.New(stacks.Event{Name: "span:vfs_read", Values: []stacks.ValueType{
			{Type: "spans", Unit: "count"}, {Type: "open", Unit: "count"},
			{Type: "unended", Unit: "nanoseconds"}, {Type: "span:vfs_read", Unit: "nanoseconds"},
		}})
		for i := range int64(1000) {
			ns := (1000 + 10*(i*7919%100)) * factor / 10
			row := s.Add(0, s.Intern(nil), 0, 1, 0, 0, ns)
			s.AddTimedSample(stacks.TimedSample{Time: uint64(1 + i*10_000), Sample: uint32(row), Value: ns})
		}
		return diff.Run{Name: name, Set: s, Column: 3}
	}
	r := spandiff.Compare([]diff.Run{recorded("base", 10)}, []diff.Run{recorded("new", 15)}, spandiff.Options{})
	for _, g := range r.Groups {
		fmt.Printf("%.0f calls, %v: mean %.0f → %.0f ns\n", g.Calls.Base, g.Verdict(), g.Mean.Base, g.Mean.New)
	}
	// Output: 1000 calls, slower: mean 1495 → 2242 ns
}
