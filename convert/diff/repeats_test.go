package diff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"kprof/convert/diff/difftest"
	"kprof/convert/stacks"
)

// manySamples is a run of functions of unequal weight, each of which differs from run to run by a
// twentieth, with so many samples that this is more than chance in the large ones alone.
func manySamples(name string, rnd *rand.Rand) Run {
	const functions, samples = 60, 200_000
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	root := frame(s, "main")
	var weights [functions]float64
	sum := 0.0
	for i := range weights {
		weights[i] = 1 / float64(i+2) * math.Exp(0.05*rnd.NormFloat64())
		sum += weights[i]
	}
	for i, w := range weights {
		mean := w / sum * samples
		s.Add(0, s.Intern([]uint32{frame(s, fmt.Sprint("f", i)), root}), 0, int64(mean+math.Sqrt(mean)*rnd.NormFloat64()))
	}
	return Run{Name: name, Set: s}
}

// TestLargeDiffer: where runs differ by a share of what functions cost, the variance of large ones is
// not that of the others, in terms of independent samples: two and three equal runs of each side say
// anything in 5 of 100 pairs, and not in 10.
func TestLargeDiffer(t *testing.T) {
	for _, repeat := range []int{2, 3} {
		rate := difftest.Rate{Good: 0.05, Bad: 0.1, Most: some(300)}
		wrong, pairs, good := rate.Judge(func(pair uint64) bool {
			rnd := rand.New(rand.NewPCG(pair, 11))
			var sides [2][]Run
			for side := range sides {
				for i := range repeat {
					sides[side] = append(sides[side], manySamples(fmt.Sprint(side, i), rnd))
				}
			}
			r, err := Compare(sides[0], sides[1], Defaults)
			if err != nil {
				t.Fatal(err)
			}
			return len(flagged(r)) > 0
		})
		if !good && !testing.Short() {
			t.Errorf("%d runs: %d of %d equal pairs are said to differ", repeat, wrong, pairs)
		}
	}
}

// TestTrend: a middle that rises with the number of samples is found, on a grid of factors of 2, and is
// not continued beyond what was seen.
func TestTrend(t *testing.T) {
	var samples, rising, level []float64
	for i := range 40 {
		n := float64(25 * (i + 1))
		noise := 1 + 0.1*float64(i%2)
		samples, rising, level = append(samples, n), append(rising, noise*3*(1+8*n/1000)), append(level, noise*3)
	}
	if got := fitTrend(rising, samples); got.most != 1000 || !near(got.slope, 8.0/1000) || !near(got.at(500), 5) || !near(got.at(5000), 9) {
		t.Errorf("rising: %+v", got)
	}
	if got := fitTrend(level, samples); got != (trend{}) || got.at(500) != 1 {
		t.Errorf("level: %+v", got)
	}
}

// TestRunsOfManyFunctions: variances of 2 degrees of freedom that rise with the number of samples alike have a
// trend, beside which each is the same: on average exp(digamma(1)) of what they are drawn from.
func TestRunsOfManyFunctions(t *testing.T) {
	const functions = 24
	var runs [2][2][]int64
	for side := range runs {
		for i := range functions {
			c := float64(i+1) * 1e6
			off := int64(math.Sqrt(2*(1+16*float64(i+1)/functions)*c/2) + 0.5)
			runs[side][0], runs[side][1] = append(runs[side][0], int64(c)+off), append(runs[side][1], int64(c)-off)
		}
		runs[side][0], runs[side][1] = append(runs[side][0], 9), append(runs[side][1], 0) // too few to tell
	}
	d := runsData(PerRun, 1, [][]int64{runs[0][0], runs[0][1]}, [][]int64{runs[1][0], runs[1][1]})
	m := newRunsModel(d, functions+1)
	if m.trend.most != 4*functions*1e6 || !near(m.trend.slope*m.trend.most, 16) {
		t.Errorf("trend %+v", m.trend)
	}
	if want := 2 * math.Exp(euler); !math.IsInf(m.prior.freedom, 1) || math.Abs(m.prior.overall/want-1) > 1e-3 {
		t.Errorf("prior %+v, want %v", m.prior, want)
	}
	// The variance of a difference of means of two runs each is that of one run.
	v, freedom := m.variance(d.function(11, false))
	if want := 2 * math.Exp(euler) * (1 + 16*0.5) * 12e6; math.Abs(v/want-1) > 1e-3 || !math.IsInf(freedom, 1) {
		t.Errorf("variance %v, want %v; freedom %v", v, want, freedom)
	}
	m = newRunsModel(d, leastFunctions-1)
	if m.trend != (trend{}) || m.prior != (prior{}) {
		t.Errorf("few functions: %+v", m)
	}
	if v, freedom := m.variance(d.function(11, false)); math.Abs(v/(2*9*12e6)-1) > 1e-3 || freedom != 2 {
		t.Errorf("few functions: %v, %v", v, freedom)
	}
	// Runs that are more alike than independent samples would be have the variance of these, and what is in none has none.
	d = runsData(PerRun, 1, [][]int64{{100, 0}, {100, 0}}, [][]int64{{100, 0}, {100, 0}})
	m = newRunsModel(d, 2)
	if v, freedom := m.variance(d.function(0, false)); !near(v, 100) || freedom != 2 {
		t.Errorf("alike: %v, %v", v, freedom)
	}
	if v, freedom := m.variance(d.function(1, false)); v != 0 || freedom != 2 {
		t.Errorf("nothing: %v, %v", v, freedom)
	}
}

// TestRunsOfFewFunctions has the numbers of the example of Student's and Welch's t tests in Wikipedia
// ("Student's t-test"): screws of two kinds, of which six each were weighed.
func TestRunsOfFewFunctions(t *testing.T) {
	kinds := [2][]int{{3002000, 2999000, 3011000, 2997000, 3001000, 2999000}, {2989000, 2993000, 2972000, 2998000, 3002000, 2998000}}
	var runs [2][]Run
	for side, values := range kinds {
		for i, v := range values {
			r := profile(t, fmt.Sprint(side, i), fmt.Sprint("screw ", v))
			r.Set.TimeNanos = int64(6*side + i + 1) // else those of one weight are one run
			runs[side] = append(runs[side], r)
		}
	}
	o := Defaults
	o.Per = PerRun
	r, err := Compare(runs[0], runs[1], o)
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Total; math.Abs(d.P-0.07857) > 5e-6 || math.Abs(d.Diff+9500) > 1e-6 || !near(d.Diff/d.deviation, r.Functions[0].Self.Diff/r.Functions[0].Self.deviation) || math.Abs(d.Diff/d.deviation+1.959) > 5e-4 || d.freedom != 10 {
		t.Errorf("Student: %+v", d)
	}
	if d := r.Total; math.Abs(d.High-d.Diff-2.228139*d.deviation) > 1e-3 || !near(d.High-d.Diff, d.Diff-d.Low) { // t of 0.05 with 10 degrees of freedom
		t.Errorf("its interval: %+v", d)
	}
	o.Per = PerShare
	if r, err = Compare(runs[0], runs[1], o); err != nil {
		t.Fatal(err)
	}
	if d := r.PerRun; math.Abs(d.P-0.09077) > 5e-6 || math.Abs(d.freedom-7.031) > 5e-4 || math.Abs(d.Diff+9500) > 1e-6 || d.Significant {
		t.Errorf("Welch: %+v", d)
	}
}
