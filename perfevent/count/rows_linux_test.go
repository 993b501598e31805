package count

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
)

// TestRows: readings add up by what is told apart, scaled one by one; what cannot be
// counted, or is on no PMU of a CPU, is told or left out.
func TestRows(t *testing.T) {
	events := []Event{
		{Event: named("clock"), Scale: 1e-6, Unit: "msec"},
		{Event: named("none"), Scale: 1, Refused: errors.New("no such counter")},
		{Event: named("little"), Scale: 1},
	}
	at := func(event, cpu, task, cgroup int, value uint64, enabled, running time.Duration) Reading {
		return Reading{event, Place{cpu, task, cgroup}, perfevent.Count{Value: value, Enabled: enabled, Running: running}}
	}
	readings := []Reading{
		at(0, 0, 7, 0, 1e6, 10, 10), at(0, 1, 7, 0, 2e6, 10, 10), at(0, 0, 8, 1, 4e6, 10, 10),
		at(2, 1, 7, 0, 50, 10, 5), at(2, 1, 8, 1, 0, 10, 0),
	}
	names := Names{Tasks: map[int]string{7: "seven", 8: "?"}, Cgroups: []string{"a", "b"}}
	for _, c := range []struct {
		by       Grouping
		readings []Reading
		want     string
	}{
		{Grouping{}, readings, "clock 7; none not supported; little 100"},
		{Grouping{CPU: true}, readings, "clock CPU0 5; clock CPU1 2; none CPU0 not supported; none CPU1 not supported; little CPU1 100"},
		{Grouping{Task: true}, readings, "clock seven-7 3; clock ?-8 4; none seven-7 not supported; none ?-8 not supported; little seven-7 100; little ?-8 not counted"},
		{Grouping{Cgroup: true}, readings, "clock in a 3; none in a not supported; little in a 100; clock in b 4; none in b not supported; little in b not counted"},
		{Grouping{}, nil, "clock not counted; none not supported; little not counted"},
	} {
		var got []string
		for _, r := range Rows(events, c.readings, c.by, names) {
			text := r.Event
			if r.Place != "" {
				text += " " + r.Place
			}
			if r.Cgroup != "" {
				text += " in " + r.Cgroup
			}
			if r.Status == 0 {
				text += fmt.Sprintf(" %v", r.Value)
			} else {
				text += " " + r.Status.String()
			}
			got = append(got, text)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%+v:\n got %s\nwant %s", c.by, strings.Join(got, "; "), c.want)
		}
	}
}

func named(name string) (e event.Event) {
	e.Name = name
	return e
}

// TestCounted: what is about a task may be counted on a CPU that it was never on.
func TestCounted(t *testing.T) {
	for _, test := range []struct {
		total Total
		want  bool
	}{
		{Total{}, false},
		{Total{Enabled: 1}, false},
		{Total{Enabled: 1, Running: 1}, true},
		{Total{Enabled: 1, Value: 300}, true},
	} {
		if got := test.total.Counted(); got != test.want {
			t.Errorf("%+v: %v", test.total, got)
		}
	}
}

// TestHitKind: how a probe is made stands in its type. Its function is no sign: those of tasks
// have an address instead.
func TestHitKind(t *testing.T) {
	const pmu = 8
	of := func(kind event.Kind, attrType abi.Type, user bool, refused error) *Event {
		e := &Event{Refused: refused}
		e.Source.Kind, e.Source.Probe.User, e.Attr.Type = kind, user, attrType
		return e
	}
	for _, c := range []struct {
		e    *Event
		want hitKind
	}{
		{of(event.KindTracepoint, abi.TypeTracepoint, false, nil), hitKind{tracepoint: true}},
		{of(event.KindTracepoint, abi.TypeTracepoint, false, errors.New("no")), hitKind{}},
		{of(event.KindProbe, abi.TypeTracepoint, false, nil), hitKind{probe: true, via: event.ProbeTracefs}},
		{of(event.KindProbe, pmu, false, nil), hitKind{probe: true, via: event.ProbePMU}},
		{of(event.KindProbe, pmu, true, nil), hitKind{probe: true, user: true, via: event.ProbePMU}},
		{of(event.KindNumbered, abi.TypeSoftware, false, nil), hitKind{}},
	} {
		if got := c.e.hitKind(); got != c.want {
			t.Errorf("kind %d of type %d: %+v, want %+v", c.e.Source.Kind, c.e.Attr.Type, got, c.want)
		}
	}
}

// TestDefaultGroups: stalled cycles are counted where the CPU's PMU has them, and there alone.
func TestDefaultGroups(t *testing.T) {
	defer func(real fs.FS) { sysfs = real }(sysfs)
	for file, want := range map[string]bool{"stalled-cycles-frontend": true, "other": false} {
		sysfs = fstest.MapFS{sysfsPMUs + "/cpu/events/" + file: {}}
		got := slices.ContainsFunc(DefaultGroups(false), func(g Group) bool { return g.Specs[0].Text == "stalled-cycles-frontend" })
		if got != want {
			t.Errorf("with %s: %v, want %v", file, got, want)
		}
	}
}

// TestCPUsOf: what one kind of CPU counts is opened there, and what one CPU reads for all on that.
func TestCPUsOf(t *testing.T) {
	defer func(real fs.FS) { sysfs = real }(sysfs)
	sysfs = fstest.MapFS{
		sysfsPMUs + "/cpu_atom/cpus":  {Data: []byte("2-3\n")},
		sysfsPMUs + "/power/cpumask":  {Data: []byte("0\n")},
		sysfsPMUs + "/cpu/format/inv": {},
	}
	s := &Session{cpus: []int{0, 1, 2}}
	for _, c := range []struct {
		pmu  string
		cpus []int
		tid  int
		want string
	}{
		{"cpu_atom", []int{2, 3}, perfevent.AllTasks, "[2]"},
		{"cpu_atom", []int{2, 3}, 7, "[2]"},
		{"power", nil, perfevent.AllTasks, "[0]"},
		{"cpu", nil, perfevent.AllTasks, "[0 1 2]"},
		{"cpu", nil, 7, "[0 1 2]"},
	} {
		e := event.Event{CPUs: c.cpus}
		e.Source.PMU = c.pmu
		if got := fmt.Sprint(s.cpusOf(&e, c.tid)); got != c.want {
			t.Errorf("%s of task %d: %s, want %s", c.pmu, c.tid, got, c.want)
		}
	}
}

// TestCountedPrecise: the kernel refuses to count precisely where it takes no samples, which P does not ask for.
func TestCountedPrecise(t *testing.T) {
	e := Event{Event: named("cycles:P")}
	e.Attr.Flags, e.Source.Modifiers.MostPrecise = abi.Flags(0).WithPrecise(3), true
	s := &Session{events: []Event{e}}
	if got := s.counted([]int{0})[0].Attr.Flags.Precise(); got != 0 {
		t.Errorf("precision %d, want 0", got)
	}
}

// TestGroupOfKind: a group is one for each kind of CPU.
func TestGroupOfKind(t *testing.T) {
	s := &Session{groups: [][]int{nil, nil}}
	kinds := map[string]int{}
	var got []int
	for _, cpus := range []string{"2-3", "0-1", "2-3", "0-1"} {
		got = append(got, s.groupOfKind(kinds, cpus))
	}
	if want := []int{1, 2, 1, 2}; !slices.Equal(got, want) || len(s.groups) != 3 {
		t.Errorf("%v in %d groups, want %v in 3", got, len(s.groups), want)
	}
}
