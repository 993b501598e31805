package diff

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"kprof/convert/stacks"
)

// TestTotalsOfRuns: the totals of runs are compared where both sides have two of them.
func TestTotalsOfRuns(t *testing.T) {
	side := func(name string, totals ...int) (runs []Run) {
		for i, n := range totals {
			r := profile(t, fmt.Sprint(name, i), fmt.Sprintf("f %d\ng %d", n/2, n-n/2))
			r.Set.TimeNanos = int64(len(name)*100 + i + 1)
			runs = append(runs, r)
		}
		return runs
	}
	for _, x := range []struct {
		base, new []int
		tested    bool
		p         float64 // 0 to 1, or -1 where it is not looked at
	}{
		{[]int{1000, 1200}, []int{1100, 1300}, true, -1},
		{[]int{1000, 1200}, []int{1100}, false, 1},
		{[]int{1000}, []int{1100, 1300}, false, 1},
		{[]int{1000, 1000}, []int{1100, 1100}, true, 0},
		{[]int{1000, 1000}, []int{1000, 1000}, true, 1},
	} {
		r, err := Compare(side("base", x.base...), side("new", x.new...), Defaults)
		if err != nil {
			t.Fatal(err)
		}
		d := r.PerRun
		if !r.PerRunKnown || d.tested != x.tested || x.p >= 0 && d.P != x.p || math.IsInf(d.High, 1) == x.tested {
			t.Errorf("%v and %v: %+v", x.base, x.new, d)
		}
		if x.p < 0 && (math.Abs(tail((d.High-d.Diff)/d.deviation, d.freedom)-0.05) > 1e-9 || !near(d.High+d.Low, 2*d.Diff) || d.High < d.Low) {
			t.Errorf("%v and %v: not an interval of 95 %%: %+v", x.base, x.new, d)
		}
	}
}

// TestTotalsOfRunsEffect: a total is told of that differs by at least the minimum effect, of what a run costs.
func TestTotalsOfRunsEffect(t *testing.T) {
	for effect, want := range map[float64]bool{0.125: true, 0.126: false} {
		var runs [2][]Run
		for side := range runs {
			for i := range 2 {
				r := profile(t, fmt.Sprint(side, i), fmt.Sprintf("f %d", 800+100*side))
				r.Set.TimeNanos = int64(2*side + i + 1)
				runs[side] = append(runs[side], r)
			}
		}
		o := Defaults
		o.MinEffect = effect
		r, err := Compare(runs[0], runs[1], o)
		if err != nil {
			t.Fatal(err)
		}
		if r.PerRun.Significant != want || (r.Outcome == Changed) != want {
			t.Errorf("minimum effect %v: %v, %+v", effect, r.Outcome, r.PerRun)
		}
	}
}

// TestIdleLabels: a sample of pid 0 is of the idle task, where no comm says otherwise.
func TestIdleLabels(t *testing.T) {
	for _, x := range []struct {
		labels []stacks.Label
		want   bool
	}{
		{[]stacks.Label{{Key: "pid", Num: 0}}, true},
		{[]stacks.Label{{Key: "pid", Num: 1}}, false},
		{[]stacks.Label{{Key: "pid", Str: "0"}}, false},
		{[]stacks.Label{{Key: "pid", Num: 0}, {Key: "comm", Str: "init"}}, false},
		{[]stacks.Label{{Key: "pid", Num: 0}, {Key: "comm", Str: "swapper/1"}}, true},
		{[]stacks.Label{{Key: "comm", Str: "swapper"}}, true},
		{nil, false},
	} {
		s := stacks.New(stacks.Event{Name: "e", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
		id := s.Intern([]uint32{frame(s, "f")})
		s.Add(0, id, s.InternLabels(x.labels), 1)
		r := &Run{Set: s}
		row := s.Sample(0)
		if got := idleOf(r, &Names{}).has(&row); got != x.want {
			t.Errorf("%v: %v", x.labels, got)
		}
	}
	// Of a program, what is idle and what is in interrupts are left out, and both told.
	run := func(name string, idle, irq, work int64) Run {
		k := stacks.KindKernel
		return labelledRun(name, []labelled{{"", "do_idle", k, idle}, {"", "sysvec_reschedule_ipi", k, irq}, {"", "f", k, work}}, false)
	}
	o := Defaults
	o.Program = true
	r, err := Compare([]Run{run("base", 100, 200, 700)}, []Run{run("new", 100, 100, 600)}, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Base.Value != 700 || r.New.Value != 600 || r.Base.Idle != 300 || r.New.Idle != 200 ||
		!slices.Contains(r.Notes, "interrupts are left out, which are no work of a program: 20.0% of the base, 12.5% of the new side") ||
		!slices.Contains(r.Notes, "idle CPUs are left out: 10.0% of the base, 12.5% of the new side") {
		t.Errorf("%+v, %+v, %q", r.Base, r.New, r.Notes)
	}
	if r, err = Compare([]Run{run("base", 0, 0, 700)}, []Run{run("new", 200, 0, 600)}, Defaults); err != nil || !slices.Contains(r.Notes, "idle CPUs are left out: 0.0% of the base, 25.0% of the new side") {
		t.Errorf("%v, %q", err, r.Notes)
	}
	if r, err = Compare([]Run{run("base", 200, 0, 600)}, []Run{run("new", 0, 0, 700)}, Defaults); err != nil || !slices.Contains(r.Notes, "idle CPUs are left out: 25.0% of the base, 0.0% of the new side") {
		t.Errorf("%v, %q", err, r.Notes)
	}
}

// TestExact: what happens at moments is counted one by one where a value counts that, and no periods.
func TestExact(t *testing.T) {
	count, ns := stacks.ValueType{Type: "samples", Unit: "count"}, stacks.ValueType{Type: "ns", Unit: "nanoseconds"}
	for _, x := range []struct {
		name     string
		instants bool
		values   []stacks.ValueType
		column   int
		row      []int64
		want     bool
	}{
		{"one column", true, []stacks.ValueType{count}, 0, []int64{5}, true},
		{"samples", false, []stacks.ValueType{count}, 0, []int64{5}, false},
		{"no counts", true, []stacks.ValueType{ns}, 0, []int64{5}, false},
		{"each was recorded", true, []stacks.ValueType{count, {Type: "x", Unit: "count"}}, 1, []int64{5, 5}, true},
		{"every tenth was", true, []stacks.ValueType{count, {Type: "x", Unit: "count"}}, 1, []int64{5, 50}, false},
	} {
		s := stacks.New(stacks.Event{Name: "e", Instants: x.instants, Values: x.values})
		s.Add(0, s.Intern([]uint32{frame(s, "f")}), 0, x.row...)
		runs := [2][]Run{{{Set: s, Column: x.column}}, {{Set: s, Column: x.column}}}
		if _, err := leaveIdle(runs, &Options{}); err != nil || runs[0][0].Exact != x.want {
			t.Errorf("%s: %v, %v", x.name, runs[0][0].Exact, err)
		}
	}
}

// TestWeightOfAnEvent: the times of an event's samples alone say what its samples are worth.
func TestWeightOfAnEvent(t *testing.T) {
	ns := []stacks.ValueType{{Type: "cpu", Unit: "nanoseconds"}}
	s := stacks.New(stacks.Event{Name: "a", Values: ns}, stacks.Event{Name: "b", Values: ns})
	id := s.Intern([]uint32{frame(s, "f")})
	for i, v := range []int64{100, 300, 5000} {
		row := s.Add(i/2, id, 0, v)
		s.AddTimedSample(stacks.TimedSample{Time: uint64(i + 1), Sample: uint32(row), Value: v})
	}
	r := &Run{Set: s}
	if weight, n := sampleWeight(r, 400); weight != (100*100+300*300)/400.0 || n != 2 {
		t.Errorf("%v, %d samples", weight, n)
	}
	r.Event = 1
	if weight, n := sampleWeight(r, 5000); weight != 5000 || n != 1 {
		t.Errorf("%v, %d samples", weight, n)
	}
	// Where they are not all, they say nothing: those of a period of 7 do.
	s.Period, s.PeriodType = 7, ns[0]
	r.Event = 0
	if weight, n := sampleWeight(r, 700); weight != 7 || n != 100 {
		t.Errorf("not all: %v, %d samples", weight, n)
	}
	if weight, n := sampleWeight(r, 0); weight != 1 || n != 0 {
		t.Errorf("none: %v, %d samples", weight, n)
	}
}

// TestCollapsed: a side has no names of a file below a tenth of its samples there, and has them from a half
// on.
func TestCollapsed(t *testing.T) {
	run := func(named, unnamed int64) Run {
		s := stacks.New(stacks.Event{Name: "e", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
		m := s.AddMapping(stacks.Mapping{File: "/lib/libx.so", Kind: stacks.KindUser})
		for i, n := range []int64{named, unnamed} {
			if n == 0 {
				continue
			}
			loc := s.AddLocation(m, uint64(i), stacks.KindUser)
			if i == 0 {
				s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: "f"})})
			}
			s.Add(0, s.Intern([]uint32{loc}), 0, n)
		}
		return Run{Set: s}
	}
	for _, x := range []struct {
		base, new Run
		want      string
	}{
		{run(50, 50), run(9, 91), "only the base has names of the functions in libx.so: it is compared as one"},
		{run(9, 91), run(50, 50), "only the new side has names of the functions in libx.so: it is compared as one"},
		{run(100, 0), run(0, 100), "only the base has names of the functions in libx.so: it is compared as one"},
		{run(49, 51), run(9, 91), ""}, {run(50, 50), run(10, 90), ""}, {run(10, 90), run(50, 50), ""}, {run(9, 91), run(49, 51), ""},
		{run(100, 0), run(100, 0), ""}, {run(0, 100), run(0, 100), ""}, {run(9, 91), run(9, 91), ""},
	} {
		r := &Result{runs: [2][]Run{{x.base}, {x.new}}}
		got := r.collapse()
		if len(r.Notes) > 1 || got["libx.so"] != (x.want != "") || x.want != "" && (len(r.Notes) != 1 || r.Notes[0] != x.want) {
			t.Errorf("%v, %q, want %q", got, r.Notes, x.want)
		}
	}
}

// TestMovedWithinMost: of several callers that cost what they did, the one with most of it is told.
func TestMovedWithinMost(t *testing.T) {
	for _, x := range []struct {
		one, two int
		want     string
	}{{3000, 2000, "one"}, {2000, 3000, "two"}} {
		r := compareLines(t, fmt.Sprintf("main;one;w;f %d\nmain;two;w;g %d\nrest 5000", x.one, x.two), fmt.Sprintf("main;one;f %d\nmain;two;g %d\nrest 5001", x.one, x.two), Defaults)
		if got := verdicts(r); !slices.Equal(got, []string{"w moved within " + x.want}) {
			t.Errorf("%q, want it within %s", got, x.want)
		}
	}
}

// TestSameWord: words that are parts of others, and what the kernel calls otherwise since folios.
func TestSameWord(t *testing.T) {
	for _, x := range []struct {
		a, b string
		want float64
	}{
		{"free", "free", 1}, {"it", "it", 1}, {"fr", "free", 0}, {"free", "fr", 0},
		{"free", "freeze", aPartOf}, {"freeze", "free", aPartOf}, {"unfree", "free", aPartOf}, {"free", "unfree", aPartOf},
		{"pree", "free", 0}, {"free", "fret", 0}, {"alloc", "zone", 0},
		{"page", "folio", aPartOf}, {"pages", "folios", aPartOf}, {"folio", "page", 0}, {"pagevec", "batch", aPartOf}, {"batch", "pagevec", 0}, {"paged", "folio", 0}, {"page", "batch", 0}, {"pagevec", "folio", 0}, {"pagevec", "patch", 0},
	} {
		if got := sameWord(x.a, x.b); got != x.want {
			t.Errorf("%s and %s: %v, want %v", x.a, x.b, got, x.want)
		}
	}
}

// TestBothSides: a profile of both sides has the mappings, addresses and kinds of what it is made of.
func TestBothSides(t *testing.T) {
	run := func(name string, n int64) Run {
		s := stacks.New(stacks.Event{Name: "e", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
		s.TimeNanos, s.DurationNanos, s.Comments = int64(len(name)), n*10, []string{name}
		m := s.AddMapping(stacks.Mapping{File: "/bin/" + name, Kind: stacks.KindUser})
		f := s.AddLocation(m, 0x1000+uint64(n), stacks.KindUser)
		s.SetLines(f, stacks.Line{Function: s.AddFunction(stacks.Function{Name: "f"}), Line: 7})
		s.Add(0, s.Intern([]uint32{f, frame(s, "main")}), s.InternLabels([]stacks.Label{{Key: "comm", Str: name}}), n)
		return Run{Name: name, Set: s}
	}
	r, err := Compare([]Run{run("a", 1000)}, []Run{run("bc", 2000), run("def", 3000)}, Defaults)
	if err != nil {
		t.Fatal(err)
	}
	_, sum := r.Sets()
	if sum.DurationNanos != 50_000 || sum.Totals(0)[0] != 5000 {
		t.Errorf("%d ns, %v", sum.DurationNanos, sum.Totals(0))
	}
	s := r.Both()
	if s.TimeNanos != 2 || s.DurationNanos != 50_000 || !slices.Equal(s.Comments, []string{"bc"}) || s.NumSamples() != 3 {
		t.Errorf("%d, %d, %q, %d samples", s.TimeNanos, s.DurationNanos, s.Comments, s.NumSamples())
	}
	for row := range s.NumSamples() {
		x := s.Sample(row)
		comm, _ := s.Label(x.Labels, "comm")
		leaf := s.Locations[s.Stack(x.Stack)[0]]
		n := map[string]uint64{"a": 1000, "bc": 2000, "def": 3000}[comm.Str]
		if leaf.Addr != 0x1000+n || leaf.Kind != stacks.KindUser || leaf.Mapping < 0 || s.Mappings[leaf.Mapping].File != "/bin/"+comm.Str ||
			s.Lines(s.Stack(x.Stack)[0])[0].Line != 7 || s.Locations[s.Stack(x.Stack)[1]].Mapping >= 0 {
			t.Errorf("%s: %+v", comm.Str, leaf)
		}
		if (comm.Str == "a") != (x.Values[1] > 0) || (comm.Str == "a") != (x.Values[0] == 0) {
			t.Errorf("%s: %v", comm.Str, x.Values)
		}
	}
}
