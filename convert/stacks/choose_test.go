package stacks

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/livetest"
)

func TestSplitEvents(t *testing.T) {
	livetest.Table(t, SplitEvents, map[string][]string{
		"cycles":                                  {"cycles"},
		"cycles,instructions":                     {"cycles", "instructions"},
		"cpu/event=0x3c,umask=1/u,cycles:u":       {"cpu/event=0x3c,umask=1/u", "cycles:u"},
		"sched:*, cpu_*/a,b/ ,x":                  {"sched:*", "cpu_*/a,b/", "x"},
		"uprobe:/usr/lib/a.so:f,cycles":           {"uprobe:/usr/lib/a.so:f", "cycles"},
		"cpu_core/cycles/,cpu_atom/cycles,period": {"cpu_core/cycles/", "cpu_atom/cycles,period"},
		" ,a,,b,": {"a", "b"},
		"":        nil,
	})
}

// hybridNames are what perf record calls events on a hybrid machine, and others.
func hybridNames() []EventName {
	var names []EventName
	for _, n := range []string{
		"cpu_atom/cycles/P", "cpu_core/cycles/P", "cpu_core/slots/", "cpu_core/instructions/", "cpu_atom/instructions/",
		"sched:sched_switch", "cpu-clock", "cpu-clock#2", "a,b", "uprobe:/bin/x:main", "r3c",
		"page-faults/period=1/u", "page-faults/freq=99/u",
	} {
		e := EventName{Name: n, Plain: strings.TrimSuffix(n, "#2"), Family: Family(n, nil)}
		if strings.HasPrefix(n, "page-faults") {
			e.Plain = "page-faults:u"
		}
		names = append(names, e)
	}
	return names
}

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		patterns []string
		want     string // name=events
	}{
		{nil, "cycles:P=0,1 cpu_core/slots/=2 instructions=3,4 sched:sched_switch=5 cpu-clock=6 cpu-clock#2=7 a,b=8 uprobe:/bin/x:main=9 r3c=10 page-faults/period=1/u=11 page-faults/freq=99/u=12"},
		{[]string{"cycles"}, "cycles:P=0,1"},
		{[]string{"cycles:P"}, "cycles:P=0,1"},
		{[]string{"cpu_core/cycles/P"}, "cpu_core/cycles/P=1"},
		{[]string{"cpu_core/cycles/P,cpu_atom/cycles/P"}, "cpu_atom/cycles/P=0 cpu_core/cycles/P=1"},
		{[]string{"cpu_*/cycles/*"}, "cpu_atom/cycles/P=0 cpu_core/cycles/P=1"},
		{[]string{"cpu_core/cycles/P", "cycles"}, "cpu_atom/cycles/P=0 cpu_core/cycles/P=1"},
		{[]string{"cyc*"}, "cycles:P=0,1"},
		{[]string{"cycles", "cyc*"}, "cycles:P=0,1"},
		{[]string{"instructions", "slots"}, "cpu_core/slots/=2 instructions=3,4"},
		{[]string{"sched_switch"}, "sched:sched_switch=5"},
		{[]string{"sched:*"}, "sched:sched_switch=5"},
		{[]string{"cpu-clock"}, "cpu-clock=6"},
		{[]string{"cpu-clock#2"}, "cpu-clock#2=7"},
		{[]string{"cpu-clock*"}, "cpu-clock=6 cpu-clock#2=7"},
		{[]string{"a,b"}, "a,b=8"},
		{[]string{"uprobe:*"}, "uprobe:/bin/x:main=9"},
		{[]string{"page-faults"}, "page-faults/period=1/u=11 page-faults/freq=99/u=12"},
		{[]string{"page-faults:u"}, "page-faults/period=1/u=11 page-faults/freq=99/u=12"},
		{[]string{"page-faults/freq=99/u"}, "page-faults/freq=99/u=12"},
		{[]string{"cycles,nosuch"}, "nosuch"},
		{[]string{"[", "cycles"}, "["},
	} {
		choices, err := Choose(hybridNames(), test.patterns)
		var got []string
		for _, c := range choices {
			got = append(got, c.Name+"="+strings.ReplaceAll(strings.Trim(fmt.Sprint(c.Events), "[]"), " ", ","))
		}
		var unknown *UnknownEventError
		if errors.As(err, &unknown) {
			got = []string{unknown.Pattern}
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%q: %s, want %s", test.patterns, s, test.want)
		}
	}
}

// A family is never called like another event.
func TestChooseFamilyTaken(t *testing.T) {
	choices, err := Choose([]EventName{
		{Name: "cpu_core/cycles/", Family: "cycles"}, {Name: "cpu_atom/cycles/", Family: "cycles"}, {Name: "cycles"},
	}, nil)
	if err != nil || len(choices) != 3 {
		t.Errorf("%v, %v", choices, err)
	}
}

// ChooseEvents gives the rows of several events to one, and keeps the sums.
func TestChooseEvents(t *testing.T) {
	columns := func(name string) []ValueType {
		return []ValueType{{name + ".samples", "count"}, {name, "count"}}
	}
	s := New(Event{Name: "cpu_atom/cycles/", Values: columns("cpu_atom/cycles/")}, Event{Name: "x", Values: columns("x")}, Event{Name: "cpu_core/cycles/", Values: columns("cpu_core/cycles/")})
	stack := s.Intern([]uint32{1})
	for e := range 3 {
		i := s.Add(e, stack, 0, 1, int64(10*(e+1)))
		s.AddTimedSample(TimedSample{Time: uint64(e + 1), Sample: uint32(i), Value: 1})
	}
	s.DefaultType = "x"
	if err := s.ChooseEvents(nil); err != nil {
		t.Fatal(err)
	}
	if s.DefaultType != "x" {
		t.Errorf("the default type is %q", s.DefaultType)
	}
	want := []Event{{Name: "cycles", Values: columns("cycles")}, {Name: "x", Values: columns("x")}}
	if diff := cmp.Diff(want, s.Events); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]int64{{2, 40}, {1, 20}}, [][]int64{s.Totals(0), s.Totals(1)}); diff != "" {
		t.Error(diff)
	}
	if s.NumSamples() != 2 || s.TimedSamples[2].Sample != s.TimedSamples[0].Sample || s.Most() != 0 {
		t.Errorf("%d rows, moments %v, most %d", s.NumSamples(), s.TimedSamples, s.Most())
	}
	if err := s.ChooseEvents([]string{"x"}); err != nil || len(s.Events) != 1 || s.NumSamples() != 1 || len(s.TimedSamples) != 1 {
		t.Errorf("%v: %v, %d rows, moments %v", err, s.Events, s.NumSamples(), s.TimedSamples)
	}
}

// TestChooseEventsDefault: a default type that no event has is none; columns are called after the event
// where its whole name begins them.
func TestChooseEventsDefault(t *testing.T) {
	values := []ValueType{{"cpu_core/cycles/.samples", "count"}, {"cpu_core/cycles/s", "count"}, {"time", "count"}}
	s := New(Event{Name: "cpu_core/cycles/", Values: values}, Event{Name: "cpu_atom/cycles/", Values: values})
	s.DefaultType = "cpu_core/cycles/.samples"
	if err := s.ChooseEvents([]string{"cycles"}); err != nil {
		t.Fatal(err)
	}
	want := []Event{{Name: "cycles", Values: []ValueType{{"cycles.samples", "count"}, {"cpu_core/cycles/s", "count"}, {"time", "count"}}}}
	if diff := cmp.Diff(want, s.Events); diff != "" || s.DefaultType != "" {
		t.Errorf("default type %q: %s", s.DefaultType, diff)
	}
}
