package table

import (
	"strings"
	"testing"

	"kprof/convert/stacks"
)

// TestLines: two lines of a function are two rows, and a recursion through one of
// them counts once for it.
func TestLines(t *testing.T) {
	s := stacks.New()
	s.AddEvent(stacks.Event{Name: "e", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	s.Functions = []stacks.Function{{Name: "main", File: "/src/a.c"}, {Name: "work", File: "/src/b.c"}, {Name: "nofile"}}
	at := func(function uint32, line int64) uint32 {
		s.Locations = append(s.Locations, stacks.Location{Mapping: stacks.NoMapping})
		loc := uint32(len(s.Locations) - 1)
		s.SetLines(loc, stacks.Line{Function: function, Line: line})
		return loc
	}
	main, work7, again7, work9, unknown := at(0, 3), at(1, 7), at(1, 7), at(1, 9), at(2, 5)
	for value, stack := range map[int64][]uint32{
		1: {work7, main}, 2: {work9, work7, again7, main}, 4: {again7, main}, 8: {unknown, main},
	} {
		s.Add(0, s.Intern(stack), s.InternLabels(nil), value)
	}
	const want = `
Event: e, samples of count
Total: 15 in 4 functions by line

      self   self%        cum    cum%  mapping    function and line
         8  53.33%          8  53.33%  [unknown]  nofile
         5  33.33%          7  46.67%  [unknown]  work b.c:7
         2  13.33%          2  13.33%  [unknown]  work b.c:9
         0   0.00%         15 100.00%  [unknown]  main a.c:3
`
	if got := "\n" + top(t, s, TopOptions{Lines: true}); got != want {
		t.Errorf("%s\nwant%s", got, want)
	}
	var b strings.Builder
	if err := Tree(&b, s, TreeOptions{Lines: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "└─ work b.c:7\n") || !strings.Contains(b.String(), "  work b.c:9\n") {
		t.Errorf("a tree without lines:\n%s", b.String())
	}
}
