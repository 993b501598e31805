package viewer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
)

// TestSpeedscopeBelowZero: what is below 0 is left out, since speedscope refuses a file that has
// any, and a thread that has nothing else.
func TestSpeedscopeBelowZero(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "cpu", Values: []stacks.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	labels := func(comm string, tid int64) stacks.LabelsID {
		return s.InternLabels([]stacks.Label{{Key: "comm", Str: comm}, {Key: "pid", Num: 7}, {Key: "tid", Num: tid}})
	}
	app, worker := labels("app", 7), labels("worker", 8)
	for i, x := range []struct {
		name   string
		labels stacks.LabelsID
		value  int64
	}{{"more", app, 5}, {"less", app, -15}, {"less", worker, -1}, {"most", app, 7}} {
		l := s.AddLocation(stacks.NoMapping, 0, stacks.KindUser)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: x.name})})
		row := s.Add(0, s.Intern([]uint32{l}), x.labels, x.value)
		s.AddTimedSample(stacks.TimedSample{Time: uint64(10 + i), Sample: uint32(row), Value: x.value})
	}
	s.SortTimedSamples()
	const want = `
cpu: sampled nanoseconds 0 to 12
  app most = 7
  app more = 5
app 7/7: sampled nanoseconds 0 to 12
  more = 5
  most = 7
`
	if diff := cmp.Diff(want[1:], speedscopeText(t, export(t, Speedscope, s, Options{}))); diff != "" {
		t.Error(diff)
	}
}
