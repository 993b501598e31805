package diff

import (
	"math"
	"math/rand/v2"
	"testing"

	"kprof/convert/stacks"
)

var heapColumns = []stacks.ValueType{
	{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
	{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"},
}

// heap simulates what Go's runtime writes of a heap: for each size of object, of which there are
// bytes/size, the number that were sampled at a mean distance of period bytes, multiplied by
// what each stands for. It also returns the number of samples.
func heap(rnd *rand.Rand, period int64, bytes float64, sizes ...float64) (r Run, samples int) {
	s := stacks.New(stacks.Event{Name: "inuse_space", Values: heapColumns})
	s.Period, s.PeriodType = period, stacks.ValueType{Type: "space", Unit: "bytes"}
	main := frame(s, "main")
	for i, size := range sizes {
		chance := 1 - math.Exp(-size/float64(period))
		var n float64
		for range int(bytes / size) {
			if rnd.Float64() < chance {
				n++
			}
		}
		samples += int(n)
		objects := int64(n / chance)
		space := int64(n / chance * size)
		s.Add(0, s.Intern([]uint32{frame(s, string(rune('a'+i))), main}), 0, 2*objects, 2*space, objects, space)
	}
	return Run{Name: "heap", Set: s}, samples
}

// TestAllocationsAreSamples: a heap profile is worth as many samples as were taken, not as
// many as it has objects, or bytes by a divisor that they have by chance.
func TestAllocationsAreSamples(t *testing.T) {
	const period = 512 << 10
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, sizes := range [][]float64{{64}, {1 << 20}, {4 << 20}} {
		for column := range heapColumns {
			r, samples := heap(rnd, period, 512<<20, sizes...)
			r.Column = column
			total := r.Set.Totals(0)[column]
			if column < 2 { // all objects twice: only half of the samples are counted here
				total /= 2
			}
			if got := float64(total) / weightOf(&r, total); math.Abs(got/float64(samples)-1) > 0.01 {
				t.Errorf("%s of objects of %.0f bytes is worth %.0f samples, of %d", heapColumns[column].Type, sizes[0], got, samples)
			}
		}
	}
	// All objects are sampled (runtime.MemProfileRate = 1).
	all, samples := heap(rnd, 1, 64<<10, 64)
	for column := 2; column < 4; column++ {
		all.Column = column
		total := all.Set.Totals(0)[column]
		if got := float64(total) / weightOf(&all, total); math.Abs(got/float64(samples)-1) > 0.01 {
			t.Errorf("%s of which all are sampled is worth %.0f samples, of %d", heapColumns[column].Type, got, samples)
		}
	}
	// Without the number of objects.
	r, samples := heap(rnd, period, 512<<20, 64)
	bytes := stacks.New(stacks.Event{Name: "space", Values: heapColumns[3:]})
	bytes.Period, bytes.PeriodType = r.Set.Period, r.Set.PeriodType
	bytes.Add(0, bytes.Intern(nil), 0, r.Set.Totals(0)[3])
	total := bytes.Totals(0)[0]
	if got := float64(total) / weightOf(&Run{Set: bytes}, total); math.Abs(got/float64(samples)-1) > 0.01 {
		t.Errorf("without objects it is worth %.0f samples, of %d", got, samples)
	}
}

// TestHeapsOfOneProgram: two heap profiles of the same program differ in one of twenty
// comparisons at most.
func TestHeapsOfOneProgram(t *testing.T) {
	const rounds = 100
	changed := make([]int, len(heapColumns))
	for i := range uint64(rounds) {
		var runs [2]Run
		for side := range runs {
			runs[side], _ = heap(rand.New(rand.NewPCG(i, uint64(side))), 1<<16, 16<<20, 16, 64, 512, 4096, 1<<20)
		}
		for column := range heapColumns {
			base, new := runs[0], runs[1]
			base.Column, new.Column = column, column
			result, err := Compare([]Run{base}, []Run{new}, Defaults)
			if err != nil {
				t.Fatal(err)
			}
			if result.Outcome == Changed {
				changed[column]++
			}
		}
	}
	for column, n := range changed {
		// Of 100 at most 5 are expected; 12 or more are of a chance of 0.4 %.
		if n > 11 {
			t.Errorf("%s: %d of %d comparisons say that something changed", heapColumns[column].Type, n, rounds)
		}
	}
}
