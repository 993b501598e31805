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
