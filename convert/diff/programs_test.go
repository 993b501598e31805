package diff

import (
	"math"
	"slices"
	"testing"

	"kprof/convert/stacks"
)

// ofComms is a run of one function for each comm and value; the functions are called by main.
func ofComms(name string, rows ...labelled) Run {
	s := stacks.New(stacks.Event{Name: "e", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	main := frame(s, "main")
	for _, r := range rows {
		var labels stacks.LabelsID
		if r.comm != "" {
			labels = s.InternLabels([]stacks.Label{{Key: "comm", Str: r.comm}})
		}
		s.Add(0, s.Intern([]uint32{frame(s, r.function), main}), labels, r.value)
	}
	return Run{Name: name, Set: s}
}

// TestProgramsExplain: a change is unclear if it is what programs would make that are as they were, but ran
// more or less.
func TestProgramsExplain(t *testing.T) {
	row := func(comm, function string, value int64) labelled {
		return labelled{comm: comm, function: function, value: value}
	}
	load := func(n int64, more ...labelled) []labelled {
		rows := []labelled{row("load", "a", 5*n), row("load", "b", 3*n), row("load", "c", 2*n)}
		return append(rows, more...)
	}
	for _, x := range []struct {
		name      string
		base, new []labelled
		verdicts  []string
		programs  []Program
		outcome   Outcome
	}{
		{"another program ran", load(900, row("cc", "parse", 1000)), load(500, row("cc", "parse", 5000)),
			[]string{"a share only", "b share only", "c share only", "parse unclear"}, []Program{{"cc", 0.1, 0.5}, {"load", 0.9, 0.5}}, Inconclusive},
		{"one that the base did not have", load(1000), load(500, row("cc", "parse", 5000)),
			[]string{"a share only", "b share only", "c share only", "parse unclear"}, []Program{{"cc", 0, 0.5}, {"load", 1, 0.5}}, Inconclusive},
		{"one that is no more", load(500, row("cc", "parse", 5000)), load(1000),
			[]string{"a share only", "b share only", "c share only", "parse unclear"}, []Program{{"cc", 0.5, 0}, {"load", 0.5, 1}}, Inconclusive},
		{"threads of the kernel are one program", load(900, row("kworker/0:1", "parse", 600), row("kworker/u8:2-x", "parse", 400)), load(500, row("kworker/1:7", "parse", 5000)),
			[]string{"a share only", "b share only", "c share only", "parse unclear"}, []Program{{"kworker", 0.1, 0.5}, {"load", 0.9, 0.5}}, Inconclusive},
		{"the load itself got slower", load(900, row("cc", "parse", 1000)), load(900, row("load", "d", 4000), row("cc", "parse", 1000)),
			[]string{"a share only", "b share only", "c share only", "d new", "parse share only"}, nil, Changed},
		{"less than a half is of both", []labelled{row("old", "a", 5200), row("both", "b", 4800)}, []labelled{row("new", "c", 5200), row("both", "b", 4800)},
			[]string{"a gone", "c new"}, nil, Changed},
		{"one program", load(900), load(900, row("load", "d", 4000)), []string{"a share only", "b share only", "c share only", "d new"}, nil, Changed},
		{"not all have a comm", load(900, row("", "parse", 1000)), load(500, row("", "parse", 5000)),
			[]string{"a share only", "b share only", "c share only", "parse more"}, nil, Changed},
	} {
		r, err := Compare([]Run{ofComms("base", x.base...)}, []Run{ofComms("new", x.new...)}, Defaults)
		if err != nil {
			t.Fatal(err)
		}
		got := verdicts(r)
		slices.Sort(got)
		same := slices.EqualFunc(r.Programs, x.programs, func(a, b Program) bool {
			return a.Comm == b.Comm && near(a.Base, b.Base) && near(a.New, b.New)
		})
		if !slices.Equal(got, x.verdicts) || !same || r.Outcome != x.outcome {
			t.Errorf("%s: %q, %v, %v", x.name, got, r.Programs, r.Outcome)
		}
	}
	// Of several runs, of a program, and of rates, other programs explain nothing.
	base, new := load(900, row("cc", "parse", 1000)), load(500, row("cc", "parse", 5000))
	for name, o := range map[string]Options{
		"a program": {Program: true, Alpha: 0.05}, "operations": {Per: PerOps, Alpha: 0.05}, "two runs": {Alpha: 0.05},
	} {
		runs := [2][]Run{{ofComms("base", base...)}, {ofComms("new", new...)}}
		if name == "two runs" {
			for side := range runs {
				again := []labelled{row("load", "rest", 1)}
				runs[side] = append(runs[side], ofComms(name+string(rune('0'+side)), append(again, [2][]labelled{base, new}[side]...)...))
			}
		}
		for side := range runs {
			for i := range runs[side] {
				runs[side][i].Ops, runs[side][i].Exact = 10_000, name == "operations"
			}
		}
		r, err := Compare(runs[0], runs[1], o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Programs != nil || r.Outcome != Changed {
			t.Errorf("%s: %v, %v", name, r.Programs, r.Outcome)
		}
	}
}

// TestInterruptsApart has numbers of interrupts of which shares, sums and bounds are known.
func TestInterruptsApart(t *testing.T) {
	run := func(name string, work, irq, rcu int64) Run {
		s := stacks.New(stacks.Event{Name: "e", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
		main, f := frame(s, "main"), frame(s, "f")
		add := func(n int64, names ...string) {
			var stack []uint32
			for _, name := range names {
				stack = append(stack, frame(s, name))
			}
			if n > 0 {
				s.Add(0, s.Intern(append(stack, f, main)), 0, n)
			}
		}
		s.TimeNanos = work + 2*irq + int64(len(name)) // two runs
		add(work)
		add(irq, "tick", "sysvec_apic_timer_interrupt")
		add(rcu, "force_qs", "rcu_gp_kthread")
		return Run{Name: name, Set: s}
	}
	compare := func(base, new Run, o Options) *Result {
		r, err := Compare([]Run{base}, []Run{new}, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := compare(run("base", 9000, 500, 500), run("new", 9000, 2500, 500), Defaults)
	in := r.Interrupts
	if in == nil || !near(in.Base, 0.1) || !near(in.New, 0.25) || r.Base.Value != 9000 || r.New.Value != 9000 || r.Outcome != Unchanged || r.Base.Idle != 0 {
		t.Fatalf("%+v, %+v", r, in)
	}
	if n := r.Notes[len(r.Notes)-1]; n != "what ran in interrupts, and in threads that go on with their work, is left out, since one run of each side does not tell how much that differs from run to run: 10.0% of the base, 25.0% of the new side" {
		t.Error(n)
	}
	want := []Function{
		{Name: "tick", BaseSelf: 500, NewSelf: 2500, BaseCum: 500, NewCum: 2500},
		{Name: "sysvec_apic_timer_interrupt", BaseCum: 500, NewCum: 2500},
	}
	if len(in.Functions) != 2 {
		t.Fatalf("%+v", in.Functions)
	}
	for i, f := range in.Functions {
		w := want[i]
		if f.Name != w.Name || f.Verdict != Unclear || f.BaseSelf != w.BaseSelf || f.NewSelf != w.NewSelf || f.BaseCum != w.BaseCum || f.NewCum != w.NewCum ||
			!near(f.Cum.Diff, 2500.0/12000-0.05) || f.Self.Significant != (i == 0) || !f.Cum.Significant {
			t.Errorf("%+v", f)
		}
	}
	// What rcu_gp_kthread calls shrank a little, which is most in doubt.
	if in.upperOf != "force_qs" && in.upperOf != "rcu_gp_kthread" {
		t.Errorf("at most %v of %s", in.upper, in.upperOf)
	}
	if j := r.Judge(0.15); !slices.Contains(j.Doubts, InterruptsUp) || len(j.Interrupts) != 2 {
		t.Errorf("a limit of 15 %%: %+v", j)
	}
	if j := r.Judge(0.16); slices.Contains(j.Doubts, InterruptsUp) || j.Interrupts != nil {
		t.Errorf("a limit of 16 %%: %+v", j)
	}
	// What does not differ has a bound.
	r = compare(run("base", 9000, 1000, 0), run("new", 9000, 1000, 0), Defaults)
	z, n := 2.393980, 2000/3.0 // of 0.05/3; by that many degrees of freedom t is larger
	half := z * (1 + (z*z+1)/4/n) * math.Sqrt(3*0.1*0.9*2/10_000)
	if in = r.Interrupts; math.Abs(in.upper/half-1) > 1e-3 || len(in.Functions) != 0 {
		t.Errorf("at most %v, want %v; %+v", in.upper, half, in.Functions)
	}
	// A side without any.
	for _, x := range [][2]int64{{0, 1000}, {1000, 0}} {
		r = compare(run("base", 9000, x[0], 0), run("new", 9000, x[1], 0), Defaults)
		if in = r.Interrupts; in == nil || len(in.Functions) != 2 || in.Functions[0].Name != "tick" || in.Functions[0].BaseSelf != x[0] || in.Functions[0].NewSelf != x[1] {
			t.Errorf("%v: %+v", x, in)
		}
	}
	// So few that they could not be reported are left out and not compared; a half is compared as anything else.
	r = compare(run("base", 9989, 11, 0), run("new", 9989, 11, 0), Defaults)
	if in = r.Interrupts; in == nil || in.upper != 0 || r.Base.Value != 9989 {
		t.Errorf("few: %+v", in)
	}
	if r = compare(run("base", 5000, 5000, 0), run("new", 5000, 5000, 0), Defaults); r.Interrupts == nil {
		t.Error("half of it is compared as anything else")
	}
	if r = compare(run("base", 4999, 5001, 0), run("new", 9000, 1000, 0), Defaults); r.Interrupts != nil || r.Base.Value != 10_000 {
		t.Errorf("more than half: %+v", r.Interrupts)
	}
	// Nor are they left out of what is not sampled, of several runs, or of rates.
	for name, change := range map[string]func(runs [2][]Run, o *Options) [2][]Run{
		"with":    func(runs [2][]Run, o *Options) [2][]Run { o.WithInterrupts = true; return runs },
		"seconds": func(runs [2][]Run, o *Options) [2][]Run { o.Per = PerSecond; return runs },
		"counted": func(runs [2][]Run, o *Options) [2][]Run { runs[0][0].Exact, runs[1][0].Exact = true, true; return runs },
		"moments": func(runs [2][]Run, o *Options) [2][]Run {
			for side := range runs {
				runs[side][0].Set.Events[0].Instants = true
			}
			return runs
		},
		"measured": func(runs [2][]Run, o *Options) [2][]Run {
			runs[0][0].Measured, runs[1][0].Measured = true, true
			return runs
		},
		"two of the base": func(runs [2][]Run, o *Options) [2][]Run {
			runs[0] = append(runs[0], run("x", 9000, 1001, 0))
			return runs
		},
		"two new": func(runs [2][]Run, o *Options) [2][]Run {
			runs[1] = append(runs[1], run("x", 9000, 1001, 0))
			return runs
		},
	} {
		o := Defaults
		runs := change([2][]Run{{run("base", 9000, 1000, 0)}, {run("new", 9000, 1002, 0)}}, &o)
		for side := range runs {
			for i := range runs[side] {
				runs[side][i].Set.DurationNanos = 1e9
			}
		}
		r, err := Compare(runs[0], runs[1], o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Interrupts != nil || r.Base.Value != 10_000*int64(len(runs[0]))+int64(len(runs[0])-1) {
			t.Errorf("%s: %+v of %d", name, r.Interrupts, r.Base.Value)
		}
	}
	// Of a program they are left out without more, the threads not.
	o := Defaults
	o.Program = true
	r = compare(run("base", 9000, 1000, 500), run("new", 9000, 3000, 500), o)
	if r.Interrupts != nil || r.Base.Value != 9500 || r.New.Value != 9500 || !slices.Contains(r.Notes, "interrupts are left out, which are no work of a program: 9.5% of the base, 24.0% of the new side") {
		t.Errorf("a program: %+v, %d, %d, %q", r.Interrupts, r.Base.Value, r.New.Value, r.Notes)
	}
}
