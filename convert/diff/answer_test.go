package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"kprof/convert/stacks"
)

// labelled is a run of one-frame stacks of kinds, comms and values.
type labelled struct {
	comm, function string
	kind           stacks.Kind
	value          int64
}

func labelledRun(name string, rows []labelled, instants bool) Run {
	s := stacks.New(stacks.Event{Name: "e", Instants: instants, Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	for _, r := range rows {
		loc := s.AddLocation(stacks.NoMapping, 0, r.kind)
		s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: r.function})})
		var labels stacks.LabelsID
		if r.comm != "" {
			labels = s.InternLabels([]stacks.Label{{Key: "comm", Str: r.comm}})
		}
		s.Add(0, s.Intern([]uint32{loc}), labels, r.value)
	}
	return Run{Name: name, Set: s}
}

// TestIdle: the idle task, and the idle loop where tasks are not known, are left out of
// what is sampled, not of what happens; functions of programs that are called alike stay.
func TestIdle(t *testing.T) {
	k, u := stacks.KindKernel, stacks.KindUser
	base := []labelled{
		{"swapper", "do_idle", k, 5000}, {"swapper/3", "irq", k, 100}, {"swapperd", "f", k, 1000},
		{"", "cpuidle_enter_state.isra.0", k, 700}, {"load", "default_idle", u, 300}, {"load", "g", u, 2000},
	}
	half := slices.Clone(base)
	half[0].value, half[1].value = 50, 1
	for _, test := range []struct {
		name               string
		instants, withIdle bool
		idle               int64
	}{{"sampled", false, false, 5800}, {"with", false, true, 0}, {"instants", true, false, 0}} {
		o := Defaults
		o.WithIdle = test.withIdle
		r, err := Compare([]Run{labelledRun("base", base, test.instants)}, []Run{labelledRun("new", half, test.instants)}, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Base.Idle != test.idle || r.Base.Value != 9100-test.idle || (r.Outcome == Changed) != (test.idle == 0) {
			t.Errorf("%s: %d idle of %d, %v", test.name, r.Base.Idle, r.Base.Value, r.Outcome)
		}
	}
	_, err := Compare([]Run{labelledRun("base", base[:2], false)}, []Run{labelledRun("new", half, false)}, Defaults)
	if e, ok := err.(*RunError); !ok || e.Reason != OnlyIdle || e.Side != 0 {
		t.Errorf("only idle: %v", err)
	}
}

// TestDuplicates: a run that is given twice is refused, in whatever form; one that only
// has the same values is none if it is of another time.
func TestDuplicates(t *testing.T) {
	l := load{functions: 20, samples: 2000, times: true}
	one, other := l.run("a", 1), l.run("b", 2)
	again := l.run("again", 1)
	without := l.run("without times", 1)
	without.Set.TimedSamples = nil
	later := l.run("later", 1)
	for i := range later.Set.TimedSamples {
		later.Set.TimedSamples[i].Time += 5
	}
	begun := l.run("begun", 1)
	begun.Set.TimedSamples, begun.Set.TimeNanos, without.Set.TimeNanos = nil, 7, 8
	for _, test := range []struct {
		name      string
		base, new []Run
		want      string
	}{
		{"the same Set", []Run{one}, []Run{one}, "a is given twice"},
		{"across", []Run{one}, []Run{again}, "a and again are the same run"},
		{"within", []Run{one, again}, []Run{other}, "a and again are the same run"},
		{"without times", []Run{one}, []Run{without}, "a and without times are the same run"},
		{"other", []Run{one}, []Run{other}, ""},
		{"at other times", []Run{one}, []Run{later}, ""},
		{"begun at another time", []Run{without}, []Run{begun}, ""},
	} {
		_, err := Compare(test.base, test.new, Defaults)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// TestEventNames: where both names are known, they must be one, whatever is counted.
func TestEventNames(t *testing.T) {
	run := func(name, event string) Run {
		r := profile(t, name, "a;f "+map[string]string{"base": "4000", "new": "4001"}[name])
		r.EventName = event
		return r
	}
	for _, test := range []struct {
		base, new string
		ok        bool
	}{{"raw_syscalls:sys_enter", "sched:sched_switch", false}, {"cycles", "cycles", true}, {"", "cycles", true}} {
		_, err := Compare([]Run{run("base", test.base)}, []Run{run("new", test.new)}, Defaults)
		if (err == nil) != test.ok {
			t.Errorf("%q and %q: %v", test.base, test.new, err)
		}
	}
}

// TestCollapse: a mapping that one side has no names of is one function on both.
func TestCollapse(t *testing.T) {
	run := func(name string, named bool, other int64) Run {
		s := stacks.New(stacks.Event{Name: "e", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
		lib := s.AddMapping(stacks.Mapping{File: "/usr/lib/" + name + "/libx.so", Kind: stacks.KindUser})
		bin := s.AddMapping(stacks.Mapping{File: "/bin/load", Kind: stacks.KindUser})
		for i, n := range []int64{3000, 2000} {
			loc := s.AddLocation(lib, uint64(i), stacks.KindUser)
			if named {
				s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: fmt.Sprint("x", i)})})
			}
			s.Add(0, s.Intern([]uint32{loc}), 0, n)
		}
		loc := s.AddLocation(bin, 0, stacks.KindUser)
		s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: "main"})})
		s.Add(0, s.Intern([]uint32{loc}), 0, other)
		return Run{Name: name, Set: s}
	}
	r, err := Compare([]Run{run("base", true, 5000)}, []Run{run("new", false, 5010)}, Defaults)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range r.Functions {
		names = append(names, fmt.Sprint(f.Name, " ", f.BaseSelf, " ", f.NewSelf))
	}
	slices.Sort(names)
	want := []string{"[libx.so] 5000 5000", "main 5000 5010"}
	if !slices.Equal(names, want) || r.Outcome != Unchanged || !slices.Contains(r.Notes, "only the base has names of the functions in libx.so: it is compared as one") {
		t.Errorf("%q, %v, %q", names, r.Outcome, r.Notes)
	}
	base, new := r.Sets()
	if base.Totals(0)[0] != 10000 || new.Totals(0)[0] != 10010 {
		t.Errorf("sets of %d and %d", base.Totals(0)[0], new.Totals(0)[0])
	}
}

// TestOneSideZero: 75 of 2,192 samples against none of 3,590 are no chance, nor are they
// with the dispersion that is assumed without times; two of them are.
func TestOneSideZero(t *testing.T) {
	for n, want := range map[int]Verdict{75: New, 2: Noise} {
		r := compareLines(t, "a;f 1800\na;g 1790", fmt.Sprintf("a;f 1050\na;g %d\na;added %d", 1142-n, n), Options{Alpha: 0.05})
		i := slices.IndexFunc(r.Functions, func(f Function) bool { return f.Name == "added" })
		f := r.Functions[i]
		// A third of the samples count as independent; each is on the new side by 2192 of 5782.
		p := 2 * math.Pow(2192.0/5782, float64(n)/3)
		if f.Verdict != want || f.Self.P > 1.01*min(1, p) || f.Self.P < 0.99*min(1, p) {
			t.Errorf("%d samples: %v, p %v, want %v, p %v", n, f.Verdict, f.Self.P, want, p)
		}
	}
}

// TestShareOnly: what got faster makes the shares of all others larger; these do not
// cost more, and no limit is exceeded.
func TestShareOnly(t *testing.T) {
	r := compareLines(t, "m;a 4000\nm;b 3000\nm;c 2000\nm;d 1000\nm;x 6000", "m;a 4000\nm;b 3000\nm;c 2000\nm;d 1000\nm;x 2000", Defaults)
	want := []string{"a share only", "b share only", "c share only", "d share only", "x less"}
	got := verdicts(r)
	slices.Sort(got)
	if !slices.Equal(got, want) || !near(r.CommonFactor, 16.0/12) {
		t.Errorf("%q by %v, want %q by 4/3", got, r.CommonFactor, want)
	}
	if j := r.Judge(0.05); j.Outcome != Unchanged {
		t.Errorf("what got faster is %v: %+v", j.Outcome, j)
	}
}

// TestLessItself: a function that costs less itself, and more with what it calls, none of which
// is large enough to be told, is over a limit.
func TestLessItself(t *testing.T) {
	run := func(name string, foo, rest, callee int) Run {
		var lines strings.Builder
		fmt.Fprintf(&lines, "main;foo %d\nmain;rest %d\n", foo, rest)
		for i := range 300 {
			fmt.Fprintf(&lines, "main;foo;h%d %d\n", i, callee)
		}
		for i := range 60 {
			fmt.Fprintf(&lines, "main;u%d 500\n", i)
		}
		return profile(t, name, lines.String())
	}
	var base, new []Run
	for i := range 3 {
		base = append(base, run(fmt.Sprint("base", i), 20_000+i, 60_000, 60))
		new = append(new, run(fmt.Sprint("new", i), 15_000+i, 35_000, 160))
	}
	o := Defaults
	o.Per = PerRun
	r, err := Compare(base, new, o)
	if err != nil {
		t.Fatal(err)
	}
	j := r.Judge(0.05) // of 128,000: foo costs 5,000 less itself, and 25,000 more in all
	if j.Outcome != Changed || len(j.Functions) != 1 || j.Functions[0].Name != "foo" || j.Functions[0].Verdict != Less {
		t.Errorf("%v: %+v", j.Outcome, j)
	}
}

// TestExactCounts: of what was counted every time, each difference is one; below the
// minimum effect it is not reported.
func TestExactCounts(t *testing.T) {
	run := func(name string, calls int64) Run {
		return labelledRun(name, []labelled{{"", "read", stacks.KindKernel, 3000}, {"", "write", stacks.KindKernel, calls}}, true)
	}
	o := Defaults
	o.Per, o.MinEffect = PerRun, 0.01
	for calls, want := range map[int64]Verdict{509: Noise, 600: More, 500: Noise} {
		r, err := Compare([]Run{run("base", 512)}, []Run{run("new", calls)}, o)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Functions, func(f Function) bool { return f.Name == "write" })
		d := r.Functions[i].Self
		if r.Functions[i].Verdict != want || d.Low != d.High || d.Diff != float64(calls-512) || r.Resolution != 0 {
			t.Errorf("%d: %v, %+v, resolution %v", calls, r.Functions[i].Verdict, d, r.Resolution)
		}
	}
}

// TestLostCounts: what was lost of counts may be anywhere, on either side: a difference of no more
// is not told, and a limit below it not kept.
func TestLostCounts(t *testing.T) {
	o := Defaults
	o.Per = PerRun
	for _, x := range []struct {
		calls      int64
		lost       [2]uint64
		want       Verdict
		within, in Outcome // of limits of 10 and 1 %
	}{
		{950, [2]uint64{0, 0}, Less, Unchanged, Unchanged},
		{950, [2]uint64{0, 50}, Noise, Unchanged, Inconclusive},
		{1050, [2]uint64{50, 0}, Noise, Unchanged, Inconclusive},
		{1500, [2]uint64{50, 0}, More, Changed, Changed},
		{1001, [2]uint64{1, 1}, Noise, Unchanged, Unchanged},
	} {
		run := func(name string, calls int64, lost uint64) Run {
			r := labelledRun(name, []labelled{{"", "read", stacks.KindKernel, 1000}, {"", "write", stacks.KindKernel, calls}}, true)
			r.Lost, r.Set.DurationNanos = lost, 1e9
			return r
		}
		r, err := Compare([]Run{run("base", 1000, x.lost[0])}, []Run{run("new", x.calls, x.lost[1])}, o)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Functions, func(f Function) bool { return f.Name == "write" })
		f, lost := &r.Functions[i], float64(max(x.lost[0], x.lost[1]))
		if f.Verdict != x.want || f.Self.High-f.Self.Diff != lost || r.Resolution != lost/2000 {
			t.Errorf("%+v: %v %+v, resolution %v", x, f.Verdict, f.Self, r.Resolution)
		}
		if _, seconds, runs := r.Advice(0.001); lost > 0 && (seconds != 0 || runs != leastRuns) {
			t.Errorf("%+v: advised are %v s, or %d runs", x, seconds, runs)
		}
		if a, b := r.Judge(0.1).Outcome, r.Judge(0.01).Outcome; a != x.within || b != x.in {
			t.Errorf("%+v: limits of 10 and 1 %%: %v, %v", x, a, b)
		}
	}
}

// TestMeasured: of measurements that all differ by a tenth, one of 200 ms more is found,
// and nothing without it.
func TestMeasured(t *testing.T) {
	run := func(name string, delay int64) Run {
		s := stacks.New(stacks.Event{Name: "boot", Values: []stacks.ValueType{{Type: "calls", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}}})
		for i := range int64(200) {
			took := 1e9 / (i + 10) / (i + 10)
			if name == "new" {
				took = took * (90 + i*7%21) / 100
			}
			if i == 40 {
				took += delay
			}
			s.Add(0, s.Intern([]uint32{frame(s, fmt.Sprintf("call%d", i))}), 0, 1, took)
		}
		return Run{Name: name, Set: s, Column: 1, Measured: true}
	}
	o := Defaults
	o.Per = PerRun
	for delay, want := range map[int64][]string{0: nil, 200e6: {"call40 more"}} {
		r, err := Compare([]Run{run("base", 0)}, []Run{run("new", delay)}, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := verdicts(r); !slices.Equal(got, want) {
			t.Errorf("%d: %q, want %q", delay, got, want)
		}
	}
}

// TestSuspects are corrected for their own number only.
func TestSuspects(t *testing.T) {
	var base, new strings.Builder
	for i := range 60 {
		fmt.Fprintf(&base, "m;f%d 500\n", i)
		fmt.Fprintf(&new, "m;f%d %d\n", i, 500+i%2*10)
	}
	base.WriteString("m;x 500\nm;once 1\n")
	new.WriteString("m;x 660\nm;once 1\n") // z of 2.6 at three times the variance: p is 0.01
	o := Defaults
	o.MinEffect = 0
	if r := compareLines(t, base.String(), new.String(), o); r.Outcome != Unchanged || r.Functions[0].Name != "x" {
		t.Errorf("%v, first %s", r.Outcome, r.Functions[0].Name)
	}
	o.Suspects = []string{"x"}
	if r := compareLines(t, base.String(), new.String(), o); r.Outcome != Changed || r.Functions[0].Name != "x" || !r.Functions[0].Suspect {
		t.Errorf("suspected: %v, first %s", r.Outcome, r.Functions[0].Name)
	}
}

// TestAnswers simulates slow-downs from 0.5 to 5 % of the total at 2,000 to 64,000
// samples. They must be found as often as an ideal test finds them, which knows the
// variance of samples and corrects for as many tests; where they are not, a limit below the
// resolution must not be said to be kept.
func TestAnswers(t *testing.T) {
	const trials = 50 // or enough
	o := Defaults
	o.MinEffect = 0
	for _, slow := range []float64{0.005, 0.0125, 0.025, 0.05} {
		for _, samples := range []int{2000, 8000, 64000} {
			t.Run(fmt.Sprintf("%v of %d", slow, samples), func(t *testing.T) {
				t.Parallel()
				found, wrong, expected := 0, 0, 0.0
				n := some(trials)
				for trial := range uint64(n) {
					if trial >= enough && found == int(trial) && expected > float64(trial)-0.01 {
						n = int(trial)
						break
					}
					l := load{functions: 60, samples: samples, times: true}
					after := l
					after.slow, after.slower = slow, "f8"
					r, err := Compare(l.runs("base", 1, 2*trial+900), after.runs("new", 1, 2*trial+901), o)
					if err != nil {
						t.Fatal(err)
					}
					i := slices.IndexFunc(r.Functions, func(f Function) bool { return f.Name == "f8" })
					f := &r.Functions[i]
					switch f.Verdict {
					case More:
						found++
					default:
						for _, limit := range []float64{0, slow / 2, r.Resolution * 0.99} {
							if j := r.Judge(limit); j.Outcome == Unchanged {
								t.Errorf("not found, and a limit of %v is kept: resolution %v", limit, r.Resolution)
							}
						}
					}
					if first := &r.Functions[0]; first.Verdict != Noise && first.Name != "f8" && first.Name != "caller0" {
						wrong++
					}
					expected += ideal(f, slow, float64(samples), r.Alpha/float64(r.Tests))
				}
				p := expected / float64(n)
				least := expected - 2*math.Sqrt(float64(n)*p*(1-p)) - 0.5
				t.Logf("found %d, expected %.1f, wrong first %d of %d", found, expected, wrong, n)
				if !testing.Short() && (float64(found) < least || wrong*20 > n+20) {
					t.Errorf("found in %d of %d trials, an ideal test in %.1f; another one first in %d", found, n, expected, wrong)
				}
			})
		}
	}
}

// ideal is the probability with which a normal test of known variance finds a slow-down
// that takes slow of the samples.
func ideal(f *Function, slow, samples, alpha float64) float64 {
	base := 1.0 / 10 / 4.7 // f8 has a tenth, of weights that sum to H(61)-1 = 3.7
	base = cmp.Or(f.Self.Base, base)
	new := base*(1-slow) + slow
	sd := math.Sqrt((base*(1-base) + new*(1-new)) / samples)
	z := math.Sqrt2 * math.Erfcinv(alpha)
	return 0.5 * math.Erfc((z-(new-base)/sd)/math.Sqrt2)
}

// TestDurations: sums of times that something took do not tell how much these differ:
// one run of each side says nothing, unless it has their times; CPU time is that of
// equal samples.
func TestDurations(t *testing.T) {
	run := func(name, what string, period, times bool, long int64) Run {
		s := stacks.New(stacks.Event{Name: what, Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: what, Unit: "nanoseconds"}}})
		if period {
			s.Period, s.PeriodType = 1e6, s.Events[0].Values[1]
		}
		for i := range int64(1000) {
			value := int64(1e6)
			if i == 500 {
				value = long
			}
			row := s.Add(0, s.Intern([]uint32{frame(s, fmt.Sprintf("f%d", i%5))}), 0, 1, value)
			if times {
				s.AddTimedSample(stacks.TimedSample{Time: uint64(i), Sample: uint32(row), Value: value})
			}
		}
		return Run{Name: name, Set: s, Column: 1}
	}
	for _, test := range []struct {
		what          string
		period, times bool
		long          int64
		want          Outcome
	}{
		{"off-cpu", false, false, 300e6, Inconclusive},
		{"off-cpu", false, true, 100e6, Unchanged},
		{"delay", false, false, 300e6, Inconclusive},
		{"cpu", false, false, 300e6, Changed},
		{"wall", true, false, 300e6, Changed},
	} {
		r, err := Compare([]Run{run("base", test.what, test.period, test.times, 1e6)}, []Run{run("new", test.what, test.period, test.times, test.long)}, Defaults)
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome != test.want || (test.want == Inconclusive) != math.IsInf(r.Resolution, 1) {
			t.Errorf("%+v: %v, resolution %v", test, r.Outcome, r.Resolution)
		}
	}
}

// TestInterrupts: what ran in interrupts is not a program's, nor is it told from one run of each
// side, unless its name says less than that, and unless there is nothing else.
func TestInterrupts(t *testing.T) {
	for _, test := range []struct {
		name    string
		kind    stacks.Kind
		program bool
		out     int64
	}{
		{"sysvec_apic_timer_interrupt", stacks.KindKernel, true, 300},
		{"__irq_exit_rcu", stacks.KindKernel, true, 300},
		{"gic_handle_irq", stacks.KindKernel, true, 300},
		{"sysvec_apic_timer_interrupt", stacks.KindKernel, false, 300},
		{"run_ksoftirqd", stacks.KindKernel, false, 300},
		{"run_ksoftirqd", stacks.KindKernel, true, 0},
		{"sysvec_apic_timer_interrupt", stacks.KindUser, true, 0},
		{"do_softirq", stacks.KindKernel, true, 0},
	} {
		o := Defaults
		o.Program = test.program
		base := labelledRun("base", []labelled{{"", "work", stacks.KindUser, 3000}, {"", test.name, test.kind, 300}}, false)
		new := labelledRun("new", []labelled{{"", "work", stacks.KindUser, 3010}}, false)
		r, err := Compare([]Run{base}, []Run{new}, o)
		if err != nil {
			t.Fatal(err)
		}
		out := r.Base.Idle
		if r.Interrupts != nil {
			out += r.Interrupts.values[0]
		}
		if out != test.out || (r.Outcome == Changed) != (test.out == 0) {
			t.Errorf("%+v: %d left out, %v", test, out, r.Outcome)
		}
	}
	o := Defaults
	o.Program = true
	only := labelledRun("only", []labelled{{"", "__irq_exit_rcu", stacks.KindKernel, 300}}, false)
	if r, err := Compare([]Run{only}, []Run{labelledRun("new", []labelled{{"", "work", stacks.KindUser, 300}}, false)}, o); err != nil || r.Base.Idle != 0 {
		t.Errorf("only interrupts: %v", err)
	}
}
