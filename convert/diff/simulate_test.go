package diff

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"kprof/convert/stacks"
)

// load is a simulated program: functions of unequal weight below a few callers,
// sampled at regular times. It stays in a function for a number of samples.
type load struct {
	functions int
	samples   int
	burst     int     // mean number of samples in one function at a stretch
	slow      float64 // share of samples that go to function "slow" instead
	times     bool
	wobble    float64 // by how much weights differ from run to run, as a factor's deviation
}

// run simulates one run.
func (l load) run(name string, seed uint64) Run {
	rnd := rand.New(rand.NewPCG(seed, 6))
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	s.DurationNanos = int64(l.samples) * 1e6
	location := func(name string) uint32 {
		loc := s.AddLocation(stacks.NoMapping, 0, stacks.KindUser)
		s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name})})
		return loc
	}
	root := location("main")
	var chains [][]uint32
	sums := []float64{0}
	callers := make([]uint32, 8)
	for i := range callers {
		callers[i] = location(fmt.Sprintf("caller%d", i))
	}
	for i := range l.functions {
		chains = append(chains, []uint32{location(fmt.Sprintf("f%d", i)), callers[i%len(callers)], root})
		weight := 1 / float64(i+2)
		if l.wobble > 0 {
			weight *= max(0, 1+l.wobble*rnd.NormFloat64())
		}
		sums = append(sums, sums[i]+weight)
	}
	slow := []uint32{location("slow"), callers[0], root}
	pick := func() []uint32 {
		if rnd.Float64() < l.slow {
			return slow
		}
		x := rnd.Float64() * sums[len(sums)-1]
		for i := range chains {
			if x < sums[i+1] {
				return chains[i]
			}
		}
		return chains[0]
	}
	chain := pick()
	for i := range l.samples {
		if l.burst < 2 || rnd.IntN(l.burst) == 0 {
			chain = pick()
		}
		row := s.Add(0, s.Intern(chain), 0, 1)
		if l.times {
			s.AddMoment(stacks.Moment{Time: uint64(i+1) * 1e6, Sample: uint32(row), Value: 1})
		}
	}
	s.SortMoments()
	return Run{Name: name, Set: s}
}

// runs simulates several runs, each with a seed of its own.
func (l load) runs(name string, n int, seed uint64) []Run {
	var runs []Run
	for i := range n {
		runs = append(runs, l.run(fmt.Sprint(name, i), seed*100+uint64(i)))
	}
	return runs
}

// simulations are pairs of runs, or of groups of them, as recordings are.
var simulations = []struct {
	name   string
	load   load
	repeat int
	pairs  int
}{
	{"independent", load{functions: 60, samples: 10_000, times: true}, 1, 1000},
	{"bursts of 20", load{functions: 60, samples: 10_000, times: true, burst: 20}, 1, 1000},
	{"bursts of 200", load{functions: 60, samples: 10_000, times: true, burst: 200}, 1, 1000},
	{"without times", load{functions: 60, samples: 10_000}, 1, 1000},
	{"without times, bursts of 8", load{functions: 60, samples: 10_000, burst: 8}, 1, 1000},
	{"three runs each", load{functions: 60, samples: 10_000, burst: 3}, 3, 300},
	{"five runs each, which differ", load{functions: 60, samples: 10_000, wobble: 0.05}, 5, 200},
}

func flagged(r *Result) (names []string) {
	for _, f := range r.Functions {
		if f.Verdict != Noise {
			names = append(names, f.Name)
		}
	}
	return names
}

// TestEqualProfiles compares loads with themselves: in at most 70 of 1000 pairs
// anything at all may be reported at alpha 0.05, with no minimum effect to help.
func TestEqualProfiles(t *testing.T) {
	for _, sim := range simulations {
		t.Run(sim.name, func(t *testing.T) {
			t.Parallel()
			wrong := 0
			for pair := range uint64(sim.pairs) {
				o := Defaults
				o.MinEffect = 0
				r, err := Compare(sim.load.runs("base", sim.repeat, 2*pair), sim.load.runs("new", sim.repeat, 2*pair+1), o)
				if err != nil {
					t.Fatal(err)
				}
				if len(flagged(r)) > 0 {
					wrong++
				}
			}
			t.Logf("%d of %d equal pairs flagged", wrong, sim.pairs)
			if wrong*1000 > 70*sim.pairs {
				t.Errorf("%d of %d equal pairs are said to differ", wrong, sim.pairs)
			}
		})
	}
}

// TestSlowerFunction puts 5 % of the samples of one side into one function: it
// must be the first in the table in at least 95 of 100 pairs.
func TestSlowerFunction(t *testing.T) {
	for _, sim := range simulations {
		t.Run(sim.name, func(t *testing.T) {
			t.Parallel()
			found := 0
			for pair := range uint64(100) {
				slower := sim.load
				slower.slow = 0.05
				r, err := Compare(sim.load.runs("base", sim.repeat, 2*pair+5000), slower.runs("new", sim.repeat, 2*pair+5001), Defaults)
				if err != nil {
					t.Fatal(err)
				}
				if f := r.Functions[0]; f.Name == "slow" && f.Verdict == New {
					found++
				}
			}
			t.Logf("found in %d of 100", found)
		})
	}
}
