package diff

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"kprof/convert/diff/difftest"
	"kprof/convert/stacks"
)

// load is a simulated program: functions of unequal weight below a few callers,
// sampled at regular times. It stays in a function for a number of samples.
type load struct {
	functions int
	samples   int
	burst     int     // mean number of samples in one function at a stretch
	slow      float64 // share of samples that go to the slower function instead
	slower    string  // which has others already, or is new. Default: "slow"
	times     bool
	few       int     // samples of the new side, where it has less than the base
	wobble    float64 // by how much weights differ from run to run, as a factor's deviation
	phases    int     // in each of which it has other functions, of 0 or 1: all the time all of them
	jitter    float64 // by how much their lengths differ from run to run, as a factor's deviation
}

// run simulates one run.
func (l load) run(name string, seed uint64) Run {
	rnd := rand.New(rand.NewPCG(seed, 6))
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	s.DurationNanos = int64(l.samples) * 1e6
	root := frame(s, "main")
	callers := make([]uint32, 8)
	for i := range callers {
		callers[i] = frame(s, fmt.Sprintf("caller%d", i))
	}
	var ids []stacks.StackID
	var sums []float64
	sum := 0.0
	for i := range l.functions {
		ids = append(ids, s.Intern([]uint32{frame(s, fmt.Sprintf("f%d", i)), callers[i%len(callers)], root}))
		weight := 1 / float64(i+2)
		if l.wobble > 0 {
			weight *= max(0, 1+l.wobble*rnd.NormFloat64())
		}
		sum += weight
		sums = append(sums, sum)
	}
	slow := s.Intern([]uint32{frame(s, l.into()), callers[0], root})
	if l.phases > 1 {
		l.inPhases(s, rnd, ids, sums, slow)
		return Run{Name: name, Set: s}
	}
	var id stacks.StackID
	for i := range l.samples {
		if i == 0 || l.burst < 2 || rnd.IntN(l.burst) == 0 {
			if id = slow; rnd.Float64() >= l.slow {
				at, _ := slices.BinarySearch(sums, rnd.Float64()*sum)
				id = ids[at]
			}
		}
		row := s.Add(0, id, 0, 1)
		if l.times {
			s.AddTimedSample(stacks.TimedSample{Time: uint64(i+1) * 1e6, Sample: uint32(row), Value: 1})
		}
	}
	s.SortTimedSamples()
	return Run{Name: name, Set: s}
}

// inPhases simulates a load in which one phase follows another, with a share of
// the functions each. The slower function is in the second of them, and makes it
// longer; it does not take from the others.
func (l load) inPhases(s *stacks.Set, rnd *rand.Rand, ids []stacks.StackID, sums []float64, slow stacks.StackID) {
	n := 0
	add := func(id stacks.StackID) {
		row := s.Add(0, id, 0, 1)
		n++
		if l.times {
			s.AddTimedSample(stacks.TimedSample{Time: uint64(n) * 1e6, Sample: uint32(row), Value: 1})
		}
	}
	for phase := range l.phases {
		first, end := phase*len(ids)/l.phases, (phase+1)*len(ids)/l.phases
		low := 0.0
		if first > 0 {
			low = sums[first-1]
		}
		own := int(float64(l.samples) / float64(l.phases) * max(0.1, 1+l.jitter*rnd.NormFloat64()))
		more := 0
		if phase == 1 {
			more = int(l.slow * float64(l.samples))
		}
		for own+more > 0 {
			if rnd.IntN(own+more) < more {
				more--
				add(slow)
				continue
			}
			own--
			at, _ := slices.BinarySearch(sums, low+rnd.Float64()*(sums[end-1]-low))
			add(ids[at])
		}
	}
	s.DurationNanos = int64(n) * 1e6
	s.SortTimedSamples()
}

// into is the function that gets slower.
func (l load) into() string {
	if l.slower == "" {
		return "slow"
	}
	return l.slower
}

// frame adds a location with one function.
func frame(s *stacks.Set, name string) uint32 {
	loc := s.AddLocation(stacks.NoMapping, 0, stacks.KindUnknown)
	s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name})})
	return loc
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
	// slower are functions that a 5 % slow-down is found in.
	slower []string
}{
	{"independent", load{functions: 60, samples: 10_000, times: true}, 1, 1000, []string{"slow", "f20", "f2"}},
	{"bursts of 4", load{functions: 60, samples: 10_000, times: true, burst: 4}, 1, 300, []string{"slow", "f20"}},
	{"a long run and a short one", load{functions: 60, samples: 10_000, few: 500, times: true}, 1, 200, nil},
	{"a long run and a short one, without times", load{functions: 60, samples: 10_000, few: 500}, 1, 100, nil},
	{"bursts of 20", load{functions: 60, samples: 10_000, times: true, burst: 20}, 1, 500, nil},
	{"bursts of 200", load{functions: 60, samples: 10_000, times: true, burst: 200}, 1, 300, nil},
	{"phases", load{functions: 60, samples: 10_000, times: true, phases: 5, jitter: 0.01}, 1, 200, []string{"slow", "f20"}},
	{"phases that differ", load{functions: 60, samples: 10_000, times: true, phases: 5, jitter: 0.3}, 1, 300, nil},
	{"few phases that differ", load{functions: 12, samples: 10_000, times: true, phases: 3, jitter: 0.2}, 1, 300, nil},
	{"many phases that differ", load{functions: 60, samples: 10_000, times: true, phases: 30, jitter: 0.5}, 1, 300, nil},
	{"phases, without times", load{functions: 60, samples: 10_000, phases: 5, jitter: 0.01}, 1, 100, []string{"slow", "f20"}},
	{"without times", load{functions: 60, samples: 10_000}, 1, 500, []string{"slow", "f20", "f2"}},
	{"without times, bursts of 8", load{functions: 60, samples: 10_000, burst: 8}, 1, 300, nil},
	{"three runs each", load{functions: 60, samples: 10_000, burst: 3}, 3, 150, []string{"slow", "f20"}},
	{"five runs each, which differ", load{functions: 60, samples: 10_000, wobble: 0.05}, 5, 100, []string{"slow", "f20"}},
}

// some is n, or a twentieth with -short, which is too few to judge by, but enough
// for the race detector.
func some(n int) int {
	if testing.Short() {
		return n / 20
	}
	return n
}

func flagged(r *Result) (names []string) {
	for _, f := range r.Functions {
		if f.Verdict != Noise {
			names = append(names, f.Name)
		}
	}
	return names
}

// TestEqualProfiles compares loads with themselves: in 5 of 100 pairs anything at all
// may be reported at alpha 0.05, with no minimum effect to help, and not in 10; between
// these, in 7 at most where all pairs do not tell.
func TestEqualProfiles(t *testing.T) {
	o := Defaults
	o.MinEffect = 0
	for _, sim := range simulations {
		t.Run(sim.name, func(t *testing.T) {
			t.Parallel()
			after := sim.load
			after.samples = cmp.Or(after.few, after.samples)
			rate := difftest.Rate{Good: 0.05, Bad: 0.1, Most: some(sim.pairs)}
			wrong, pairs, good := rate.Judge(func(pair uint64) bool {
				r, err := Compare(sim.load.runs("base", sim.repeat, 2*pair), after.runs("new", sim.repeat, 2*pair+1), o)
				if err != nil {
					t.Fatal(err)
				}
				return len(flagged(r)) > 0
			})
			t.Logf("%d of %d equal pairs flagged", wrong, pairs)
			if !good && !testing.Short() {
				t.Errorf("%d of %d equal pairs are said to differ", wrong, pairs)
			}
		})
	}
}

// inNanoseconds is a run with its samples as so many nanoseconds each.
func inNanoseconds(r Run, period int64) Run {
	vt := stacks.ValueType{Type: "cpu", Unit: "nanoseconds"}
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{vt}})
	s.Period, s.PeriodType, s.DurationNanos = period, vt, r.Set.DurationNanos
	for loc := range r.Set.Locations {
		frame(s, r.Set.Functions[r.Set.Lines(uint32(loc))[0].Function].Name)
	}
	for i := range r.Set.NumSamples() {
		x := r.Set.Sample(i)
		s.Add(0, s.Intern(r.Set.Stack(x.Stack)), 0, period*x.Values[0])
	}
	for _, m := range r.Set.TimedSamples {
		s.AddTimedSample(stacks.TimedSample{Time: m.Time, Sample: m.Sample, Value: period * m.Value})
	}
	return Run{Name: r.Name, Set: s}
}

// TestUnits: shares, and how uncertain they are, do not depend on whether a side
// counts samples or time.
func TestUnits(t *testing.T) {
	for _, times := range []bool{true, false} {
		l := load{functions: 30, samples: 5000, times: times, burst: 4}
		base, new := l.run("base", 1), l.run("new", 2)
		want, err := Compare([]Run{base}, []Run{new}, Defaults)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Compare([]Run{inNanoseconds(base, 1e6)}, []Run{new}, Defaults)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want.Functions {
			w, g := want.Functions[i].Self, got.Functions[i].Self
			if want.Functions[i].Name != got.Functions[i].Name || math.Abs(w.Diff-g.Diff) > 1e-9 || math.Abs(w.High-g.High) > 1e-6*w.High || math.Abs(w.P-g.P) > 1e-6 {
				t.Fatalf("times %v: %s %+v, with time %s %+v", times, want.Functions[i].Name, w, got.Functions[i].Name, g)
			}
		}
	}
}

// TestSlowerFunction puts 5 % of the samples of one side into one function: it
// must be the first in the table in 99 of 100 pairs, and not in 90; between these, in 96
// at least where all pairs do not tell.
func TestSlowerFunction(t *testing.T) {
	for _, sim := range simulations {
		for _, slower := range sim.slower {
			t.Run(sim.name+", "+slower, func(t *testing.T) {
				t.Parallel()
				after := sim.load
				after.slow, after.slower = 0.05, slower
				want := More
				if slower == "slow" {
					want = New
				}
				rate := difftest.Rate{Good: 0.99, Bad: 0.9, Most: some(100)}
				found, pairs, good := rate.Judge(func(pair uint64) bool {
					r, err := Compare(sim.load.runs("base", sim.repeat, 2*pair+5000), after.runs("new", sim.repeat, 2*pair+5001), Defaults)
					if err != nil {
						t.Fatal(err)
					}
					f := r.Functions[0]
					return f.Name == slower && f.Verdict == want
				})
				t.Logf("found in %d of %d pairs", found, pairs)
				if !good && !testing.Short() {
					t.Errorf("found in %d of %d pairs only", found, pairs)
				}
			})
		}
	}
}
