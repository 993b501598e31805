package diff

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"kprof/convert/stacks"
)

// million makes a profile of a million samples with times, in 300,000 distinct
// stacks of 30 frames from 20,000 functions.
func million(seed uint64) Run {
	rnd := rand.New(rand.NewPCG(seed, 3))
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	for i := range 50_000 {
		f := s.AddFunction(stacks.Function{Name: fmt.Sprintf("function_%d", i%20_000)})
		s.SetLines(s.AddLocation(stacks.NoMapping, uint64(i), stacks.KindKernel), stacks.Line{Function: f})
	}
	chain := make([]uint32, 30)
	var ids []stacks.StackID
	for range 300_000 {
		for i := range chain {
			// The outer frames are shared by most.
			chain[i] = rnd.Uint32N(50_000 >> (i / 3))
		}
		ids = append(ids, s.Intern(chain))
	}
	for i := range 1_000_000 {
		row := s.Add(0, ids[rnd.IntN(len(ids))], 0, 1)
		s.AddTimedSample(stacks.TimedSample{Time: uint64(i + 1), Sample: uint32(row), Value: 1})
	}
	s.SortTimedSamples()
	s.DurationNanos = 1e9
	return Run{Name: fmt.Sprint("million", seed), Set: s}
}

// BenchmarkCompare compares two profiles of a million samples each.
func BenchmarkCompare(b *testing.B) {
	base, new := []Run{million(1)}, []Run{million(2)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compare(base, new, Defaults); err != nil {
			b.Fatal(err)
		}
	}
}
