package diff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"kprof/convert/stacks"
)

// machine is a simulated machine: a load, interrupts, and another program.
type machine struct {
	samples    int
	interrupts float64 // share of samples in interrupts
	differs    float64 // by how much that differs from run to run, as the deviation of its logarithm
	thread     float64 // share of samples in a thread of RCU, which differs alike
	slow       float64 // share of the load's samples that go to f3 instead
	other      float64 // share of samples in another program
}

// run simulates one run of a machine.
func (m machine) run(name string, seed uint64) Run {
	rnd := rand.New(rand.NewPCG(seed, 7))
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	s.DurationNanos = int64(m.samples) * 1e6
	kernel := func(name string) uint32 {
		loc := frame(s, name)
		s.Locations[loc].Kind = stacks.KindKernel
		return loc
	}
	comm := func(name string) stacks.LabelsID {
		return s.InternLabels([]stacks.Label{{Key: "comm", Str: name}})
	}
	load, other, rcu := comm("load"), comm("compiler"), comm("rcu_preempt")
	main, syscall := frame(s, "main"), kernel("do_syscall_64")
	var functions []uint32
	for i := range 40 {
		functions = append(functions, kernel(fmt.Sprint("f", i)))
	}
	irq := []uint32{kernel("handle_softirqs"), kernel("__irq_exit_rcu"), kernel("sysvec_apic_timer_interrupt")}
	thread := []uint32{kernel("force_qs_rnp"), kernel("rcu_gp_kthread"), kernel("kthread")}
	compiled := []uint32{frame(s, "parse"), frame(s, "emit")}
	factor := func() float64 { return math.Exp(m.differs * rnd.NormFloat64()) }
	interrupts, threads := m.interrupts*factor(), m.thread*factor()
	for i := range m.samples {
		var stack []uint32
		labels := load
		switch x := rnd.Float64(); {
		case x < interrupts:
			// In the middle of what it interrupts, whose stack is below.
			stack = append(append(stack, irq[:1+rnd.IntN(2)]...), irq[2], syscall, main)
			if rnd.IntN(2) == 0 {
				stack = append([]uint32{functions[0]}, stack...)
			}
		case x < interrupts+threads:
			stack, labels = thread, rcu
		case x < interrupts+threads+m.other:
			stack, labels = []uint32{compiled[rnd.IntN(2)], main}, other
			if rnd.IntN(3) == 0 {
				stack = []uint32{functions[1], syscall, main}
			}
		case rnd.Float64() < m.slow:
			stack = []uint32{functions[3], syscall, main}
		default:
			stack = []uint32{functions[min(int(rnd.ExpFloat64()*8), len(functions)-1)], syscall, main}
		}
		row := s.Add(0, s.Intern(stack), labels, 1)
		s.AddTimedSample(stacks.TimedSample{Time: uint64(i+1) * 1e6, Sample: uint32(row), Value: 1})
	}
	s.SortTimedSamples()
	return Run{Name: name, Set: s}
}

func (m machine) runs(name string, n int, seed uint64) (runs []Run) {
	for i := range n {
		runs = append(runs, m.run(fmt.Sprint(name, i), seed*100+uint64(i)))
	}
	return runs
}

// TestInterruptsDiffer: of one run of each side, what differs in interrupts from run to run is
// no change, and is shown as what it is; with several runs it is judged like anything else. A
// function that got slower is found beside it.
func TestInterruptsDiffer(t *testing.T) {
	m := machine{samples: 6000, interrupts: 0.05, thread: 0.02, differs: 0.4}
	slower := m
	slower.slow = 0.05
	with := Defaults
	with.WithInterrupts = true
	pairs := some(60)
	var wrong, unclear, plain, found, runs int
	for pair := range uint64(pairs) {
		compare := func(base, new machine, n int, o Options) *Result {
			r, err := Compare(base.runs("base", n, 2*pair), new.runs("new", n, 2*pair+1), o)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := compare(m, m, 1, Defaults)
		if r.Outcome != Unchanged {
			wrong++
		}
		if r.Interrupts == nil || len(r.Notes) == 0 || !strings.Contains(r.Notes[len(r.Notes)-1], "interrupts") {
			t.Fatalf("%+v, %q", r.Interrupts, r.Notes)
		}
		if len(r.Interrupts.Functions) > 0 {
			unclear++
			for _, f := range r.Interrupts.Functions {
				if f.Verdict != Unclear || !slices.Contains([]string{"handle_softirqs", "__irq_exit_rcu", "sysvec_apic_timer_interrupt", "f0", "force_qs_rnp", "rcu_gp_kthread"}, f.Name) {
					t.Errorf("%+v", f)
				}
			}
			if j := r.Judge(0.002); r.Outcome == Unchanged && j.Outcome != Inconclusive {
				t.Errorf("a limit of 0.2%%: %v", j)
			}
		}
		if compare(m, m, 1, with).Outcome == Changed {
			plain++
		}
		if r := compare(m, slower, 1, Defaults); r.Outcome == Changed && r.Functions[0].Name == "f3" && r.Functions[0].Verdict == More {
			found++
		}
		if pair%10 == 0 && compare(m, m, 3, Defaults).Outcome == Changed {
			runs++
		}
	}
	t.Logf("of %d equal pairs %d changed, %d unclear, %d as anything else; f3 found in %d; %d of %d of three runs changed", pairs, wrong, unclear, plain, found, runs, pairs/10)
	if testing.Short() {
		return
	}
	if wrong*100 > 10*pairs || unclear*2 < pairs || plain*2 < pairs || found*100 < 95*pairs || runs > 2 {
		t.Errorf("%d, %d, %d, %d, %d", wrong, unclear, plain, found, runs)
	}
	// With three runs of each side twice as many interrupts are a change.
	twice := machine{samples: 6000, interrupts: 0.1, differs: 0.05}
	m.thread, m.differs = 0, 0.05
	r, err := Compare(m.runs("base", 3, 1), twice.runs("new", 3, 2), Defaults)
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome != Changed || r.Interrupts != nil || !slices.Contains(flagged(r), "sysvec_apic_timer_interrupt") {
		t.Errorf("three runs, twice the interrupts: %v, %q", r.Outcome, flagged(r))
	}
	// A machine that does nothing else is compared by them.
	m.interrupts, twice.interrupts = 0.6, 0.8
	if r, err = Compare(m.runs("base", 1, 1), twice.runs("new", 1, 2), Defaults); err != nil || r.Outcome != Changed || r.Interrupts != nil {
		t.Errorf("most is interrupts: %v", err)
	}
	// From nearly none to a third is no answer.
	m.interrupts, twice.interrupts = 0.02, 0.4
	if r, err = Compare(m.runs("base", 1, 1), twice.runs("new", 1, 2), Defaults); err != nil || r.Outcome != Inconclusive {
		t.Errorf("many more interrupts: %v", err)
	}
}

// TestOtherPrograms: what differs since another program ran, or ran more, is no change; a
// function that got slower is one beside it, and so is the load of another name.
func TestOtherPrograms(t *testing.T) {
	quiet := machine{samples: 6000, other: 0.02}
	busy, slower := quiet, quiet
	busy.other = 0.4
	slower.other, slower.slow = 0.4, 0.2
	none := quiet
	none.other = 0
	for _, test := range []struct {
		name      string
		base, new machine
		want      Outcome
		first     string
	}{
		{"more of another", quiet, busy, Inconclusive, "compiler"},
		{"less of another", busy, quiet, Inconclusive, "compiler"},
		{"another", none, busy, Inconclusive, "compiler"},
		{"another no more", busy, none, Inconclusive, "compiler"},
		{"slower", quiet, slower, Changed, ""},
		{"slower alone", none, machine{samples: 6000, slow: 0.1}, Changed, ""},
	} {
		for seed := range uint64(5) {
			r, err := Compare([]Run{test.base.run("base", 2*seed+50)}, []Run{test.new.run("new", 2*seed+51)}, Defaults)
			if err != nil {
				t.Fatal(err)
			}
			if r.Outcome != test.want || test.first != "" && (len(r.Programs) != 2 || r.Programs[0].Comm != test.first) {
				t.Errorf("%s: %v, %v, %q", test.name, r.Outcome, r.Programs, flagged(r))
			}
			if test.want == Changed && (r.Functions[0].Name != "f3" || r.Functions[0].Verdict != More) {
				t.Errorf("%s: %s %v is first", test.name, r.Functions[0].Name, r.Functions[0].Verdict)
			}
			if j := r.Judge(0.01); test.want == Inconclusive && (j.Outcome != Inconclusive || !slices.Contains(j.Doubts, ProgramsUp)) {
				t.Errorf("%s: %v %v", test.name, j.Outcome, j.Doubts)
			}
		}
	}
	// A load that each build calls otherwise is no other program.
	base, new := quiet.run("base", 1), slower.run("new", 2)
	for _, r := range []Run{base, new} {
		for id := range r.Set.NumLabels() {
			if l := r.Set.Labels(stacks.LabelsID(id)); len(l) > 0 && l[0].Str == "load" {
				l[0].Str = r.Name + "-load"
			}
		}
	}
	if r, err := Compare([]Run{base}, []Run{new}, Defaults); err != nil || r.Outcome != Changed {
		t.Errorf("renamed: %v, %v", r.Outcome, r.Programs)
	}
}

// TestManyPrograms: as many programs as functions that changed take no time by their product.
func TestManyPrograms(t *testing.T) {
	const functions, programs = 10_000, 20_000
	start := time.Now()
	run := func(name string, deep int64) Run {
		s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
		var all []uint32
		for i := range functions {
			all = append(all, frame(s, fmt.Sprint("f", i)))
		}
		rest := s.Intern([]uint32{frame(s, "rest")})
		load := s.InternLabels([]stacks.Label{{Key: "comm", Str: "load"}})
		s.Add(0, s.Intern(all), load, deep)
		s.Add(0, rest, load, 100_000)
		for i := range programs {
			s.Add(0, rest, s.InternLabels([]stacks.Label{{Key: "comm", Str: fmt.Sprint("p", i)}}), 1)
		}
		return Run{Name: name, Set: s}
	}
	r, err := Compare([]Run{run("base", 1000)}, []Run{run("new", 50_000)}, Defaults)
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome != Changed || len(r.Functions) != functions+1 {
		t.Errorf("%v, %d functions", r.Outcome, len(r.Functions))
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
