package stacktext

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kprof/convert/stacks"
)

// sampleText is a sample as perf script prints it.
func sampleText(comm string, pid, tid, cpu, seconds int, event string) string {
	return fmt.Sprintf("%s %d/%d [%03d] %d.000000: %s:\n\t    55d0c0ffee00 work+0x10 (/bin/load)\n\n", comm, pid, tid, cpu, seconds, event)
}

// TestSelect takes samples by what they are of, and tells what there is where none is taken.
func TestSelect(t *testing.T) {
	text := sampleText("a", 1, 11, 0, 2, "1 cycles") + sampleText("b", 2, 21, 0, 4, "1 cycles") + sampleText("a", 1, 12, 1, 3, "1 cycles")
	window := func(first, last uint64) (from, to uint64, err error) {
		if first != 2e9 || last != 0 {
			t.Errorf("a window of %d and %d", first, last)
		}
		return first + 1e9, first + 2e9, nil
	}
	for _, x := range []struct {
		name     string
		o        Options
		taken    []string // comm and time of each, in the order of these
		duration int64
	}{
		{"all", Options{}, []string{"a 2", "a 3", "b 4"}, 2e9},
		{"a process", Options{PIDs: []int32{1}}, []string{"a 2", "a 3"}, 1e9},
		{"a thread", Options{TIDs: []int32{12}}, []string{"a 3"}, 0},
		{"a CPU", Options{CPUs: []int32{0}}, []string{"a 2", "b 4"}, 2e9},
		{"a name", Options{Comms: []string{"b"}}, []string{"b 4"}, 0},
		{"two names", Options{Comms: []string{"b", "a"}}, []string{"a 2", "a 3", "b 4"}, 2e9},
		{"from", Options{From: 3e9}, []string{"a 3", "b 4"}, 1e9},
		{"to", Options{To: 3e9}, []string{"a 2", "a 3"}, 1e9},
		{"from and to", Options{From: 3e9, To: 3e9}, []string{"a 3"}, 0},
		{"a window", Options{Window: window}, []string{"a 3", "b 4"}, 1e9},
		{"both", Options{PIDs: []int32{1}, CPUs: []int32{0}}, []string{"a 2"}, 0},
		{"none", Options{PIDs: []int32{9}}, nil, 0},
	} {
		x.o.Times = true
		set, st, err := Read(strings.NewReader(text), PerfScript, x.o)
		if err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		var got []string
		for _, m := range set.TimedSamples {
			comm, _ := set.Label(set.Sample(int(m.Sample)).Labels, "comm")
			got = append(got, fmt.Sprint(comm.Str, " ", m.Time/1e9))
		}
		if !slices.Equal(got, x.taken) || st.Samples != 3 || st.Taken != uint64(len(x.taken)) || set.DurationNanos != x.duration || st.FirstTime != 2e9 || st.LastTime != 4e9 {
			t.Errorf("%s: %q, %+v, %d ns", x.name, got, st, set.DurationNanos)
		}
		if !st.HasPID || !st.HasTID || !st.HasComm || !st.HasCPU || !st.HasTime {
			t.Errorf("%s: %+v", x.name, st)
		}
		if (st.LeftOut != nil) != (x.taken == nil) {
			t.Errorf("%s: left out %+v", x.name, st.LeftOut)
		}
		if l := st.LeftOut; l != nil && (!maps.Equal(l.Comms, map[string]uint64{"a": 2, "b": 1}) || !maps.Equal(l.PIDs, map[int32]uint64{1: 2, 2: 1}) ||
			!maps.Equal(l.TIDs, map[int32]uint64{11: 1, 12: 1, 21: 1}) || !maps.Equal(l.CPUs, map[int32]uint64{0: 2, 1: 1})) {
			t.Errorf("left out %+v", l)
		}
	}
	wrong := errors.New("no such window")
	if _, _, err := Read(strings.NewReader(text), PerfScript, Options{Window: func(_, _ uint64) (from, to uint64, err error) { return 0, 0, wrong }}); !errors.Is(err, wrong) {
		t.Errorf("%v", err)
	}
	if first, last, err := Span(strings.NewReader(text), PerfScript); first != 2e9 || last != 4e9 || err != nil {
		t.Errorf("span %d to %d, %v", first, last, err)
	}
	if first, last, err := Span(strings.NewReader(text), BPFTrace); first != 0 || last != 0 || err != nil {
		t.Errorf("span %d to %d, %v", first, last, err)
	}
	// What a text does not have is not told of it, and not selected by.
	const few = "load  2.000000: \n\t    55d0c0ffee00 work+0x10 (/bin/load)\n\n"
	_, st, err := Read(strings.NewReader(few), PerfScript, Options{CPUs: []int32{0}})
	if err != nil || st.HasPID || st.HasTID || st.HasCPU || !st.HasComm || !st.HasTime || st.Taken != 0 || len(st.LeftOut.PIDs)+len(st.LeftOut.TIDs)+len(st.LeftOut.CPUs) != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestColumns: which values an event of a text has.
func TestColumns(t *testing.T) {
	count := func(name string) stacks.ValueType { return stacks.ValueType{Type: name, Unit: "count"} }
	ns := func(name string) stacks.ValueType { return stacks.ValueType{Type: name, Unit: "nanoseconds"} }
	for _, x := range []struct {
		name    string
		events  []string
		want    [][]stacks.ValueType
		unknown bool // of the first
	}{
		{"periods", []string{"1000 cycles"}, [][]stacks.ValueType{{count("samples"), count("cycles")}}, false},
		{"none", []string{"cycles"}, [][]stacks.ValueType{{count("samples")}}, true},
		{"of one", []string{"1 cycles"}, [][]stacks.ValueType{{count("samples")}}, false},
		{"a tracepoint", []string{"sched:sched_switch"}, [][]stacks.ValueType{{count("samples")}}, false},
		{"a clock", []string{"250000 cpu-clock:u"}, [][]stacks.ValueType{{count("samples"), ns("cpu")}}, false},
		{"another clock", []string{"250000 task-clock"}, [][]stacks.ValueType{{count("samples"), ns("cpu")}}, false},
		{"off the CPU", []string{"250000 offcpu-time"}, [][]stacks.ValueType{{count("samples"), ns("offcpu-time")}}, false},
		{"two", []string{"1000 cycles", "7 faults"}, [][]stacks.ValueType{{count("cycles.samples"), count("cycles")}, {count("faults.samples"), count("faults")}}, false},
	} {
		var text strings.Builder
		for i, e := range x.events {
			text.WriteString(sampleText("a", 1, 1, 0, i, e))
		}
		set, _, err := Read(strings.NewReader(text.String()), PerfScript, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got [][]stacks.ValueType
		for _, e := range set.Events {
			got = append(got, e.Values)
		}
		if !slices.EqualFunc(got, x.want, slices.Equal[[]stacks.ValueType]) || set.Events[0].UnknownPeriods != x.unknown {
			t.Errorf("%s: %v, unknown periods %v", x.name, got, set.Events[0].UnknownPeriods)
		}
	}
	for name, want := range map[string]bool{
		"sched:sched_switch": true, "probe:vfs_read": true, "cycles": false, "cycles:u": false, "cycles:": false, "cpu/cycles/:ppp": false, "cpu/event=0x3c/x:yy": false, "cycles:kHG": false,
	} {
		if got := IsTracepoint(name); got != want {
			t.Errorf("%s: a tracepoint: %v", name, got)
		}
	}
	for name, want := range map[string]bool{"cpu-clock": true, "cpu-clock:u": true, "task-clock:ppp": true, "cycles": false, "clock:cpu-clock": false} {
		if got := IsClock(name); got != want {
			t.Errorf("%s: a clock: %v", name, got)
		}
	}
}

// TestCutStacks: stacks that are as deep as those that are taken are cut, unless some are deeper;
// inlined functions are in none that was taken.
func TestCutStacks(t *testing.T) {
	perf := func(frames, inlined int) string {
		return "a  1 1.000000: cycles:\n" + strings.Repeat("\t    4f f+0x1 (inlined)\n", inlined) + strings.Repeat("\t    4f f+0x1 (/a)\n", frames) + "\n"
	}
	hist := func(key string, depths ...int) string {
		s := "# trigger info: hist:keys=next_pid," + key + ":vals=hitcount [active]\n"
		for i, n := range depths {
			s += fmt.Sprintf("{ next_pid: %d, %s:\n", i, key) + strings.Repeat("    f+0x1/0x10\n", n) + "} hitcount: 7\n"
		}
		return s
	}
	for name, tt := range map[string]struct {
		text   string
		stacks uint64
		frames int
	}{
		"perf script":         {perf(127, 0) + perf(126, 0) + perf(127, 3), 2, 127},
		"with inlined ones":   {perf(120, 7), 0, 0},
		"none so deep":        {perf(126, 0), 0, 0},
		"a deeper one":        {perf(127, 0) + perf(128, 0) + perf(127, 0), 0, 0},
		"hist":                {hist("common_stacktrace", 16, 3, 16), 2, 16},
		"hist of a field":     {hist("my.stacktrace", 16, 15), 1, 16},
		"hist, old":           {hist("stacktrace", 16, 15), 1, 16},
		"hist, later":         {hist("common_stacktrace", 31, 16, 31), 2, 31},
		"hist, not so deep":   {hist("common_stacktrace", 30, 16), 0, 0},
		"hist, deeper":        {hist("common_stacktrace", 16, 31, 32), 0, 0},
		"two of hist":         {hist("common_stacktrace", 31) + hist("common_stacktrace", 31, 4), 2, 31},
		"hist with one frame": {hist("stacktrace", 1), 0, 0},
	} {
		dialect := PerfScript
		if strings.Contains(name, "hist") {
			dialect = Histogram
		}
		_, st, err := Read(strings.NewReader(tt.text), dialect, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		stacks := st.CutStacks
		if dialect == Histogram {
			stacks = st.CutHistStacks
		}
		if stacks != tt.stacks || st.CutFrames != tt.frames || st.CutStacks+st.CutHistStacks != stacks {
			t.Errorf("%s: %d stacks of %d frames, want %d of %d: %+v", name, stacks, st.CutFrames, tt.stacks, tt.frames, st)
		}
	}
}

// TestDropped: what is left of an entry that does not count is no part of the next one.
func TestDropped(t *testing.T) {
	deep := strings.Repeat("    f+1\n", stacks.MaxDepth+1)
	for name, x := range map[string]struct {
		text      string
		want      []string
		unread    uint64
		shortened uint64
	}{
		"a histogram without rows": {"@h[\n    f+1\n]:\n@n[\n    g+1\n]: 3\n", []string{";g 3"}, 1, 0},
		"statistics":               {"@h[\n    f+1\n]: count 3, average 5, total 15\n\n@n[\n    g+1\n]: 3\n", []string{";g 3"}, 1, 0},
		"one that does not end":    {"@h[\n    f+1\n@n[\n    g+1\n]: 3\n", []string{";g 3"}, 1, 0},
		"deep statistics":          {"@h[\n" + deep + "]: count 3, average 5\n\n@n[\n    g+1\n]: 3\n", []string{";g 3"}, 1, 0},
		"a deep one without end":   {"@h[\n" + deep + "@n[\n    g+1\n]: 3\n", []string{";g 3"}, 1, 0},
		"a deep histogram":         {"@h[\n" + deep + "]:\n@n[\n    g+1\n]: 3\n", []string{";g 3"}, 1, 0},
		"a deep one":               {"@n[\n" + deep + "]: 2\n@n[\n    g+1\n]: 3\n", []string{strings.Repeat(";f", stacks.MaxDepth) + " 2", ";g 3"}, 0, 1},
	} {
		set, st, err := Read(strings.NewReader(x.text), BPFTrace, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := fold(set); !slices.Equal(got, x.want) || st.Unread != x.unread || st.ShortenedStacks != x.shortened || st.Samples != uint64(len(x.want)) || st.Taken != st.Samples {
			t.Errorf("%s: %.200q, %+v", name, got, st)
		}
	}
	// Maps without stacks are not counted beside those with them.
	_, st, err := Read(strings.NewReader("@start[12]: 5\n@start[13]: 6\n@n[\n    g+1\n, dd, 7]: 3\n"), BPFTrace, Options{})
	if err != nil || st.Samples != 1 || st.Taken != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	set, _, err := Read(strings.NewReader("@n[one,\n    g+1\n, two]: 3\n"), BPFTrace, Options{})
	if err != nil || !slices.Equal(fold(set), []string{"one, two;g 3"}) {
		t.Errorf("%q, %v", fold(set), err)
	}
}

// TestCutDecimal removes offsets, and nothing else.
func TestCutDecimal(t *testing.T) {
	for s, want := range map[string]string{"vfs_read+12": "vfs_read", "f+1": "f", "+1": "+1", "f+": "f+", "f1": "f1", "f+0x1": "f+0x1", "f": "f", "": "", "f-1": "f-1"} {
		if got := string(cutDecimal([]byte(s))); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
