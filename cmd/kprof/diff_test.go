package main

import (
	"testing"

	"kprof/convert/diff"
	"kprof/convert/stacks"
)

// commsOf is a run with samples of some comms.
func commsOf(samples map[string]int64) diff.Run {
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	for comm, n := range samples {
		labels := s.InternLabels([]stacks.Label{{Key: "comm", Str: comm}})
		s.Add(0, s.Intern(nil), labels, n)
	}
	return diff.Run{Set: s}
}

// TestDiffOtherComms: of 1000 samples a side, cron has 100 on the new one.
func TestDiffOtherComms(t *testing.T) {
	const cron = "programs that only one side recorded make differences too: cron (10% of new); --comm load and the like compares what both ran"
	for name, test := range map[string]struct {
		base, new map[string]int64
		want      string
	}{
		"the same":      {map[string]int64{"load": 900, "sh": 100}, map[string]int64{"load": 910, "sh": 90}, ""},
		"another":       {map[string]int64{"load": 900, "sh": 100}, map[string]int64{"load": 800, "sh": 100, "cron": 100}, cron},
		"less of it":    {map[string]int64{"load": 950, "cron": 50}, map[string]int64{"load": 900, "cron": 100}, ""},
		"next to none":  {map[string]int64{"load": 999, "cron": 1}, map[string]int64{"load": 900, "cron": 100}, cron},
		"little":        {map[string]int64{"load": 1000}, map[string]int64{"load": 980, "cron": 20}, ""},
		"other program": {map[string]int64{"old": 1000}, map[string]int64{"new": 1000}, ""},
	} {
		runs := [2][]diff.Run{{commsOf(test.base)}, {commsOf(test.new)}}
		if got := otherComms(runs); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	if got := otherComms([2][]diff.Run{{commsOf(map[string]int64{"load": 1})}, {{Set: func() *stacks.Set {
		s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
		s.Add(0, s.Intern(nil), 0, 1)
		return s
	}()}}}); got != "" {
		t.Errorf("without comms: %q", got)
	}
}
