package spandiff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"kprof/convert/diff"
	"kprof/convert/diff/difftest"
	"kprof/convert/stacks"
)

// load is a simulated program that makes calls of several kinds, each of which takes a time.
type load struct {
	kinds, calls int
	burst        int     // calls for which the machine stays slow, or fast
	slowness     float64 // by how much, as the deviation of a logarithm
	tail         float64 // exponent of Pareto's distribution, 0 for a lognormal one
	phases       int     // in each of which calls are of other kinds, and slower
	wobble       float64 // by how much runs differ as a whole, as the deviation of a logarithm
	repeat       int

	// What is changed of kind 0.
	factor   float64 // of its times
	late     float64 // share of its calls that take twenty times as long
	oftener  int     // calls of it for one
	slowdown float64 // of all kinds
}

func (l load) run(name string, seed uint64) diff.Run {
	rnd := rand.New(rand.NewPCG(seed, 7))
	s := stacks.New(stacks.Event{Name: "span:syscalls", Values: []stacks.ValueType{
		{Type: "spans", Unit: "count"}, {Type: "open", Unit: "count"}, {Type: "unended", Unit: "nanoseconds"}, {Type: "span:syscalls", Unit: "nanoseconds"},
	}})
	var ids []stacks.StackID
	var labels []stacks.LabelsID
	root := frame(s, "main")
	for k := range l.kinds {
		ids = append(ids, s.Intern([]uint32{frame(s, fmt.Sprint("f", k)), root}))
		labels = append(labels, s.InternLabels([]stacks.Label{{Key: "comm", Str: "test"}, {Key: "syscall", Str: fmt.Sprint("call", k)}}))
	}
	run := l.wobble * rnd.NormFloat64()
	now, slow := 0.0, 0.0
	add := func(k int, t float64) {
		row := s.Add(0, ids[k], labels[k], 1, 0, 0, int64(t))
		s.AddTimedSample(stacks.TimedSample{Time: 1 + uint64(now), Sample: uint32(row), Value: int64(t)})
	}
	for i := range l.calls {
		if l.burst > 0 && rnd.IntN(l.burst) == 0 {
			slow = l.slowness * rnd.NormFloat64()
		}
		k := min(int(rnd.ExpFloat64()*float64(l.kinds)/3), l.kinds-1)
		level := 1.0
		if l.phases > 0 {
			phase := i * l.phases / l.calls
			k, level = (k+phase)%l.kinds, 1+float64(phase%3)
		}
		for n := range 1 + l.oftener {
			if n > 0 && k != 0 {
				break
			}
			t := 1000 * float64(k+1) * level * math.Exp(run+slow)
			if l.tail > 0 {
				t *= math.Pow(1-rnd.Float64(), -1/l.tail)
			} else {
				t *= math.Exp(0.5 * rnd.NormFloat64())
			}
			if l.factor > 0 && k == 0 {
				t *= l.factor
			}
			if l.slowdown > 0 {
				t *= l.slowdown
			}
			if k == 0 && rnd.Float64() < l.late {
				t *= 20
			}
			now += t + 5000*rnd.ExpFloat64()
			add(k, t)
		}
	}
	s.DurationNanos = int64(now)
	s.SortTimedSamples()
	return diff.Run{Name: name, Set: s, Column: 3}
}

func frame(s *stacks.Set, name string) uint32 {
	loc := s.AddLocation(stacks.NoMapping, 0, stacks.KindUnknown)
	s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name})})
	return loc
}

func (l load) runs(name string, seed uint64) (runs []diff.Run) {
	for i := range max(l.repeat, 1) {
		runs = append(runs, l.run(fmt.Sprint(name, i), seed*100+uint64(i)))
	}
	return runs
}

var simulations = []struct {
	name string
	load load
}{
	{"independent", load{kinds: 8, calls: 3000}},
	{"one kind", load{kinds: 1, calls: 2000}},
	{"few calls", load{kinds: 8, calls: 300}},
	{"long tails", load{kinds: 6, calls: 2000, tail: 1.5}},
	{"bursts of 20", load{kinds: 6, calls: 2000, burst: 20, slowness: 0.5}},
	{"bursts of 200", load{kinds: 6, calls: 2000, burst: 200, slowness: 0.5}},
	{"phases", load{kinds: 6, calls: 2000, phases: 5}},
	{"runs that differ by 2 %", load{kinds: 6, calls: 2000, wobble: 0.02}},
	{"three runs each, which differ by 10 %", load{kinds: 8, calls: 800, wobble: 0.1, repeat: 3}},
}

// TestEqualRecordings compares recordings of one load: in 5 of 100 pairs they may be said to
// differ at alpha 0.05, and not in 10; between these, in 7 at most where all pairs do not tell.
// What shows within runs needs no least change for that.
func TestEqualRecordings(t *testing.T) {
	for _, sim := range simulations {
		t.Run(sim.name, func(t *testing.T) {
			t.Parallel()
			rate := difftest.Rate{Good: 0.05, Bad: 0.1, Most: 200}
			if testing.Short() {
				rate.Most = 10
			}
			wrong, pairs, good := rate.Judge(func(pair uint64) bool {
				base, new := sim.load.runs("base", 2*pair), sim.load.runs("new", 2*pair+1)
				// Both questions that are asked of spans, as package compare asks them.
				o := diff.Defaults
				o.Alpha, o.MinEffect = o.Alpha/2, 0
				r := Compare(base, new, Options{Alpha: o.Alpha, noIntervals: true, any: sim.load.wobble == 0 || sim.load.repeat > 0})
				if r.Tests == 0 {
					t.Fatal("nothing was tested")
				}
				shares, err := diff.Compare(base, new, o)
				if err != nil {
					t.Fatal(err)
				}
				return r.Changed() || shares.Outcome == diff.Changed
			})
			t.Logf("%d of %d equal pairs flagged", wrong, pairs)
			if !good && !testing.Short() {
				t.Errorf("%d of %d equal pairs are said to differ", wrong, pairs)
			}
		})
	}
}

// TestChanges compares recordings of which something changed: it must be found, and
// nothing else in more than a few.
func TestChanges(t *testing.T) {
	base := load{kinds: 8, calls: 4000}
	bursts := load{kinds: 6, calls: 2000, burst: 20, slowness: 0.5}
	repeated := load{kinds: 8, calls: 1500, wobble: 0.02, repeat: 5}
	for _, c := range []struct {
		name   string
		load   load
		change func(*load)
		want   Verdict
	}{
		{"a kind takes 30 % longer", base, func(l *load) { l.factor = 1.3 }, Slower},
		{"a kind takes 30 % less", base, func(l *load) { l.factor = 1 / 1.3 }, Faster},
		{"5 % of a kind are late", base, func(l *load) { l.late = 0.05 }, Slower},
		{"a kind is called twice", base, func(l *load) { l.oftener = 1 }, MoreCalls},
		{"in bursts a kind takes twice as long", bursts, func(l *load) { l.factor = 2 }, Slower},
		{"all take three times as long", base, func(l *load) { l.slowdown = 3 }, Slower},
		{"of five runs each a kind takes 20 % longer", repeated, func(l *load) { l.factor = 1.2 }, Slower},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pairs, found := 20, 0
			after := c.load
			c.change(&after)
			for pair := range uint64(pairs) {
				r := Compare(c.load.runs("base", 2*pair+900), after.runs("new", 2*pair+901), Options{noIntervals: true})
				for _, g := range r.Groups {
					if g.Name == "call0" && g.Verdict() == c.want {
						found++
					}
				}
			}
			if found < pairs-1 {
				t.Errorf("found in %d of %d pairs", found, pairs)
			}
		})
	}
}
