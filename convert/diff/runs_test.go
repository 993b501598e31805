package diff

import (
	"slices"
	"strings"
	"testing"

	"kprof/convert/stacks"
)

// TestAgainst: what of two runs is told, and what refused.
func TestAgainst(t *testing.T) {
	count, ns := stacks.ValueType{Type: "samples", Unit: "count"}, stacks.ValueType{Type: "cpu", Unit: "nanoseconds"}
	run := func(name, event string, value stacks.ValueType) *Run {
		s := stacks.New(stacks.Event{Name: event, Values: []stacks.ValueType{value}})
		s.AddMapping(stacks.Mapping{File: "/bin/load"})
		s.Add(0, s.Intern([]uint32{frame(s, "f")}), 0, 900)
		return &Run{Name: name, Set: s}
	}
	period := func(r *Run, vt stacks.ValueType, n int64) { r.Set.PeriodType, r.Set.Period = vt, n }
	const folded = "folded stacks do not tell which event they count: that of the other side is assumed"
	for _, x := range []struct {
		name          string
		per           Per
		change        func(a, b *Run)
		told, refused string
	}{
		{"alike", PerSecond, func(a, b *Run) {}, "", ""},
		{"folded stacks", PerShare, func(a, b *Run) { *b = *run("b", "samples", ns); b.Set.Mappings = nil }, folded, ""},
		{"folded stacks of other units", PerSecond, func(a, b *Run) { *b = *run("b", "samples", ns); b.Set.Mappings = nil }, folded, "a counts samples/count, b counts cpu/nanoseconds"},
		{"folded stacks of one unit", PerSecond, func(a, b *Run) { *b = *run("b", "samples", count); b.Set.Mappings = nil }, folded, ""},
		{"both folded", PerShare, func(a, b *Run) {
			*a, *b = *run("a", "samples", count), *run("b", "samples", count)
			a.Set.Mappings, b.Set.Mappings = nil, nil
		}, "", ""},
		{"samples with mappings", PerShare, func(a, b *Run) { *b = *run("b", "samples", count) }, "", ""},
		{"no mappings", PerShare, func(a, b *Run) { b.Set.Mappings = nil }, "", ""},
		{"other units", PerShare, func(a, b *Run) { *b = *run("b", "e", ns) }, "", ""},
		{"rates of other units", PerSecond, func(a, b *Run) { *b = *run("b", "e", ns) }, "", "a counts samples/count, b counts cpu/nanoseconds"},
		{"other events", PerShare, func(a, b *Run) { *b = *run("b", "x", ns) }, "", "a has event e, b has event x"},
		{"other names of one event", PerShare, func(a, b *Run) { *b = *run("b", "x", ns); a.EventName, b.EventName = "y", "y" }, "", ""},
		{"of one unit", PerShare, func(a, b *Run) { *b = *run("b", "x", count) }, "", ""},
		{"known names", PerShare, func(a, b *Run) { a.EventName, b.EventName = "y", "z" }, "", "a has event y, b has event z"},
		{"one name known", PerShare, func(a, b *Run) { b.EventName = "z" }, "", ""},
		{"periods", PerShare, func(a, b *Run) { period(a, ns, 100); period(b, ns, 200) }, "a was sampled every 100 nanoseconds, b every 200", ""},
		{"periods of rates", PerSecond, func(a, b *Run) { period(a, ns, 100); period(b, ns, 200) }, "", "a was sampled every 100 nanoseconds, b every 200"},
		{"periods of events", PerSecond, func(a, b *Run) { period(a, count, 100); period(b, count, 200) }, "a was sampled every 100 count, b every 200", ""},
		{"sums of periods", PerSecond, func(a, b *Run) {
			*a, *b = *run("a", "e", ns), *run("b", "e", ns)
			period(a, ns, 100)
			period(b, ns, 200)
		}, "a was sampled every 100 nanoseconds, b every 200", ""},
		{"one period", PerSecond, func(a, b *Run) { period(a, ns, 100) }, "", ""},
		{"no period in the first", PerSecond, func(a, b *Run) { period(a, ns, 0); period(b, ns, 100) }, "", ""},
		{"the same period", PerSecond, func(a, b *Run) { period(a, ns, 100); period(b, ns, 100) }, "", ""},
		{"of other things", PerSecond, func(a, b *Run) { period(a, ns, 100); period(b, count, 200) }, "", ""},
		{"a tenth lost", PerShare, func(a, b *Run) { b.Lost = 100 }, "b lost 100 of its samples", ""},
		{"more lost", PerShare, func(a, b *Run) { b.Lost = 101 }, "", "b lost 10 % of its samples"},
		{"processors", PerShare, func(a, b *Run) { a.Machine.CPU, b.Machine.CPU = "C", "D" }, "different processors: C (a), D (b)", ""},
		{"one processor", PerShare, func(a, b *Run) { a.Machine.CPU, b.Machine.CPU = "C", "C" }, "", ""},
		{"processor not known", PerShare, func(a, b *Run) { a.Machine.CPU = "C" }, "", ""},
		{"processor of the first not known", PerShare, func(a, b *Run) { b.Machine.CPU = "C" }, "", ""},
		{"hosts", PerShare, func(a, b *Run) { a.Machine.Host, b.Machine.Host = "C", "D" }, "different machines: C (a), D (b)", ""},
		{"one host", PerShare, func(a, b *Run) { a.Machine.Host, b.Machine.Host = "C", "C" }, "", ""},
		{"host not known", PerShare, func(a, b *Run) { a.Machine.Host = "C" }, "", ""},
		{"host of the first not known", PerShare, func(a, b *Run) { b.Machine.Host = "C" }, "", ""},
		{"architectures", PerShare, func(a, b *Run) { a.Machine.Arch, b.Machine.Arch = "C", "D" }, "", "a was recorded on C, b on D"},
		{"architecture not known", PerShare, func(a, b *Run) { a.Machine.Arch = "C" }, "", ""},
		{"architecture of the first not known", PerShare, func(a, b *Run) { b.Machine.Arch = "C" }, "", ""},
	} {
		a, b := run("a", "e", count), run("b", "e", count)
		x.change(a, b)
		told, refused := against(a, b, x.per)
		if strings.Join(told, "; ") != x.told || strings.Join(refused, "; ") != x.refused {
			t.Errorf("%s: told %q, refused %q", x.name, told, refused)
		}
	}
}

// TestValid: an event or column that a run does not have is an error, and none is looked up.
func TestValid(t *testing.T) {
	for want, change := range map[string]func(r *Run) Per{
		"":                          func(r *Run) Per { r.PerEvent, r.PerColumn = 1, 1; return PerEvent },
		"no event -1 among 2":       func(r *Run) Per { r.Event = -1; return PerShare },
		"no event 2 among 2":        func(r *Run) Per { r.Event = 2; return PerShare },
		"no column -1 of event a":   func(r *Run) Per { r.Column = -1; return PerShare },
		"no column 1 of event a":    func(r *Run) Per { r.Column = 1; return PerShare },
		NoDivisor.String():          func(r *Run) Per { r.PerEvent = -1; return PerEvent },
		NoDivisor.String() + " ":    func(r *Run) Per { r.PerEvent = 2; return PerEvent },
		NoDivisor.String() + "  ":   func(r *Run) Per { r.PerEvent = 1; return PerEvent },
		NoDivisor.String() + "   ":  func(r *Run) Per { r.PerEvent, r.PerColumn = 1, 2; return PerEvent },
		NoDivisor.String() + "    ": func(r *Run) Per { r.PerEvent, r.PerColumn = 1, -1; return PerEvent },
		NoOperations.String():       func(r *Run) Per { return PerOps },
		NoDuration.String():         func(r *Run) Per { return PerSecond },
	} {
		s := stacks.New(stacks.Event{Name: "a", Values: []stacks.ValueType{{Type: "a", Unit: "count"}}},
			stacks.Event{Name: "b", Values: []stacks.ValueType{{Type: "none", Unit: "count"}, {Type: "b", Unit: "count"}}})
		s.Add(0, s.Intern([]uint32{frame(s, "f")}), 0, 5)
		s.Add(1, s.Intern([]uint32{frame(s, "f")}), 0, 0, 5)
		r := Run{Name: "run", Set: s}
		err := valid(&r, change(&r), 0)
		if (err == nil) != (want == "") || err != nil && err.Error() != "run: "+strings.TrimSpace(want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestIdentical: runs are one if they have the same of each stack, by names, in whatever order.
func TestIdentical(t *testing.T) {
	base := func() *Run { r := profile(t, "r", "a;f 10\na;g 20\nb;f 30"); return &r }
	for _, x := range []struct {
		name  string
		other Run
		want  bool
	}{
		{"the same", profile(t, "x", "a;f 10\na;g 20\nb;f 30"), true},
		{"in another order", profile(t, "x", "b;f 30\na;g 20\na;f 10"), true},
		{"in parts", profile(t, "x", "a;f 4\na;g 20\nb;f 30\na;f 6"), true},
		{"of other stacks", profile(t, "x", "a;f 20\na;g 10\nb;f 30"), false},
		{"the other way round", profile(t, "x", "f;a 10\na;g 20\nb;f 30"), false},
		{"another name", profile(t, "x", "a;f 10\na;h 20\nb;f 30"), false},
		{"more", profile(t, "x", "a;f 10\na;g 20\nb;f 31"), false},
	} {
		if got := identical(base(), &x.other); got != x.want {
			t.Errorf("%s: %v", x.name, got)
		}
	}
	// Of one Set another event, or another column, is another run.
	s := stacks.New(stacks.Event{Name: "a", Values: []stacks.ValueType{{Type: "x", Unit: "count"}, {Type: "y", Unit: "count"}}}, stacks.Event{Name: "b", Values: []stacks.ValueType{{Type: "x", Unit: "count"}}})
	for x, want := range map[[2]int]bool{{0, 0}: true, {0, 1}: false, {1, 0}: false} {
		if got := identical(&Run{Set: s}, &Run{Set: s, Event: x[0], Column: x[1]}); got != want {
			t.Errorf("event and column %v: %v", x, got)
		}
	}
	// Locations without names are told by their files, those with names are not.
	file := func(file string, named bool) *Run {
		s := stacks.New(stacks.Event{Name: "a", Values: []stacks.ValueType{{Type: "x", Unit: "count"}}})
		loc := s.AddLocation(s.AddMapping(stacks.Mapping{File: file}), 1, stacks.KindUser)
		if named {
			s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: "f"})})
		}
		s.Add(0, s.Intern([]uint32{loc}), 0, 1)
		return &Run{Set: s}
	}
	if identical(file("/a", false), file("/b", false)) || !identical(file("/a", false), file("/a", false)) || !identical(file("/a", true), file("/b", true)) {
		t.Error("files are not told, or told of names")
	}
	// Times of other events are of no account; those of the event are, up to the last.
	timed := func(times ...uint64) *Run {
		s := stacks.New(stacks.Event{Name: "a", Values: []stacks.ValueType{{Type: "x", Unit: "count"}}}, stacks.Event{Name: "b", Values: []stacks.ValueType{{Type: "x", Unit: "count"}}})
		id := s.Intern([]uint32{frame(s, "f")})
		s.Add(0, id, 0, 2)
		s.Add(1, id, 0, 2)
		for _, at := range times { // those of b are above 100
			s.AddTimedSample(stacks.TimedSample{Time: at, Sample: uint32(at / 100), Value: 1})
		}
		return &Run{Set: s}
	}
	for _, x := range []struct {
		a, b *Run
		want bool
	}{
		{timed(1, 2), timed(1, 2), true}, {timed(1, 2), timed(1, 3), false}, {timed(1, 2), timed(1), false}, {timed(1), timed(1, 2), false},
		{timed(101, 1, 102, 2), timed(103, 1, 2, 104), true}, {timed(101, 1), timed(101, 2), false}, {timed(1), timed(), true},
	} {
		if got := identical(x.a, x.b); got != x.want {
			t.Errorf("%v and %v: %v", x.a.Set.TimedSamples, x.b.Set.TimedSamples, got)
		}
	}
}

// TestSides adds up what the runs of a side are.
func TestSides(t *testing.T) {
	cpu := stacks.ValueType{Type: "cpu", Unit: "nanoseconds"}
	side := func(name string, machine string, totals ...int64) (runs []Run) {
		for i, n := range totals {
			s := stacks.New(stacks.Event{Name: "e", Values: []stacks.ValueType{cpu}})
			s.Add(0, s.Intern([]uint32{frame(s, "f")}), 0, n*1_000_000)
			s.PeriodType, s.Period, s.DurationNanos = cpu, 1_000_000, 3e9
			runs = append(runs, Run{Name: name + string(rune('0'+i)), Set: s, Machine: Machine{Host: machine + string(rune('0'+i))}})
		}
		return runs
	}
	o := Defaults
	o.Per = PerSecond
	r, err := Compare(side("base", "m", 1000, 1500), side("new", "n", 3000), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Scale(); !near(got, 0.5) { // 6 seconds of the base, 3 of the new side
		t.Errorf("scale %v", got)
	}
	b, n := r.Base, r.New
	if !slices.Equal(b.Runs, []string{"base0", "base1"}) || !slices.Equal(n.Runs, []string{"new0"}) || b.Samples != 2500 || b.Counted != 2500 || n.Counted != 3000 ||
		b.Value != 2500e6 || !near(b.Total, 1250e6/3) || !near(n.Total, 1e9) || !near(b.CPU, 2.5) || !near(n.CPU, 3) || !near(b.Seconds, 6) || !near(n.Seconds, 3) ||
		b.Machine.Host != "m0" || n.Machine.Host != "n0" {
		t.Errorf("%+v, %+v", b, n)
	}
}

// TestCPUSeconds: which values are times of CPUs.
func TestCPUSeconds(t *testing.T) {
	count, cpu, other := stacks.ValueType{Type: "samples", Unit: "count"}, stacks.ValueType{Type: "cpu", Unit: "nanoseconds"}, stacks.ValueType{Type: "delay", Unit: "nanoseconds"}
	for _, x := range []struct {
		name     string
		event    stacks.Event
		period   stacks.ValueType
		n        int64
		measured bool
		want     float64
	}{
		{"cpu", stacks.Event{Name: "e", Values: []stacks.ValueType{cpu}}, count, 0, false, 2},
		{"a clock", stacks.Event{Name: "task-clock:u", Values: []stacks.ValueType{other}}, count, 0, false, 2},
		{"a clock's column", stacks.Event{Name: "e", Values: []stacks.ValueType{{Type: "cpu-clock", Unit: "nanoseconds"}}}, count, 0, false, 2},
		{"delays", stacks.Event{Name: "e", Values: []stacks.ValueType{other}}, count, 0, false, 0},
		{"measured", stacks.Event{Name: "e", Values: []stacks.ValueType{cpu}}, count, 0, true, 0},
		{"samples of a period", stacks.Event{Name: "e", Values: []stacks.ValueType{count}}, cpu, 3, false, 6},
		{"samples of none", stacks.Event{Name: "e", Values: []stacks.ValueType{count}}, cpu, 0, false, 0},
		{"samples of counts", stacks.Event{Name: "e", Values: []stacks.ValueType{count}}, count, 3, false, 0},
		{"counts", stacks.Event{Name: "e", Values: []stacks.ValueType{{Type: "reads", Unit: "count"}}}, cpu, 3, false, 0},
	} {
		s := stacks.New(x.event)
		s.Add(0, s.Intern([]uint32{frame(s, "f")}), 0, 2e9)
		s.PeriodType, s.Period = x.period, x.n
		r := &Run{Set: s, Measured: x.measured}
		if got := r.cpuSeconds(); !near(got, x.want) {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}
