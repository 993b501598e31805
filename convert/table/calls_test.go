package table

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/span"
	"kprof/convert/stacks"
)

// TestCalls: functions are shown with their calls; two places with the same function are one,
// and columns that are no times have no calls.
func TestCalls(t *testing.T) {
	s := stacks.New(
		stacks.Event{Name: "graph", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "graph", Unit: "nanoseconds"}}},
		stacks.Event{Name: "other", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "other", Unit: "nanoseconds"}}},
	)
	locs := map[string]uint32{}
	for i, name := range []string{"read", "lock", "lock", "begun_before"} {
		loc := s.AddLocation(stacks.NoMapping, uint64(i)+1, 0)
		s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name})})
		if _, ok := locs[name]; ok {
			name += "2"
		}
		locs[name] = loc
	}
	var calls []Calls
	add := func(event int, self int64, took uint64, names ...string) {
		var stack []uint32
		for _, n := range names {
			stack = append(stack, locs[n])
		}
		s.Add(event, s.Intern(stack), 0, 1, self)
		h := &span.Histogram{}
		h.Add(took)
		calls = append(calls, Calls{event, stack[0], h})
	}
	add(0, 50, 60, "read")
	add(0, 10, 10, "lock", "read")
	add(0, 20, 30, "lock2")
	add(1, 1000, 1000, "lock")
	s.Add(0, s.Intern([]uint32{locs["begun_before"]}), 0, 1, 0)
	calls = append(calls, Calls{0, 1 << 30, &span.Histogram{}}) // of no location
	var b strings.Builder
	if err := Top(&b, s, TopOptions{Column: 1, Calls: calls}); err != nil {
		t.Fatal(err)
	}
	const want = `Event: graph, graph of nanoseconds
Total: 80ns in 3 functions

      self   self%        cum    cum%     calls      mean       p50       p99       max  function
      50ns  62.50%       60ns  75.00%         1      60ns      60ns      60ns      60ns  read
      30ns  37.50%       30ns  37.50%         2      20ns      10ns      30ns      30ns  lock
       0ns   0.00%        0ns   0.00%         -         -         -         -         -  begun_before
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	b.Reset()
	if err := Top(&b, s, TopOptions{Calls: calls}); err != nil || strings.Contains(b.String(), "p99") {
		t.Errorf("%v\n%s", err, &b)
	}
	b.Reset()
	if err := JSON(&b, s, TopOptions{Column: 1, Calls: calls}); err != nil || strings.Count(b.String(), `"p99"`) != 2 || !strings.Contains(b.String(), `"mean": 20`) {
		t.Errorf("%v\n%s", err, &b)
	}
}
