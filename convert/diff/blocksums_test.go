package diff

import (
	"math"
	"strings"
	"testing"

	"kprof/convert/stacks"
)

// inBlocks is a run with sums over blocks of time in the place of times.
func inBlocks(r Run) Run {
	s := *r.Set
	for _, m := range s.TimedSamples {
		s.AddBlockSum(stacks.BlockSum{Time: m.Time, Sample: m.Sample, Count: 1, Value: m.Value})
	}
	s.SumBlocks()
	s.TimedSamples = nil
	r.Set = &s
	return r
}

// TestBlockSumsAsTimes compares runs by the times of their samples, and the same by sums over
// blocks of time, and one of each: the deviations are alike, which those without times are not,
// as bursts make these three times as large as independent samples have.
func TestBlockSumsAsTimes(t *testing.T) {
	l := load{functions: 40, samples: 12000, burst: 20, times: true}
	base, new := l.run("base", 1), l.run("new", 2)
	deviations := func(base, new Run) map[string]float64 {
		r, err := Compare([]Run{base}, []Run{new}, Defaults)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(r.Method, "blocks of time") {
			t.Fatalf("method: %s", r.Method)
		}
		found := map[string]float64{}
		for _, f := range r.Functions {
			if f.Self.Base > 0.005 {
				found[f.Name] = f.Self.High - f.Self.Low
			}
		}
		return found
	}
	want := deviations(base, new)
	if len(want) < 20 {
		t.Fatalf("%d functions", len(want))
	}
	for _, pair := range [][2]Run{{inBlocks(base), inBlocks(new)}, {base, inBlocks(new)}} {
		got := deviations(pair[0], pair[1])
		var sum float64
		for name, w := range want {
			ratio := got[name] / w
			sum += ratio
			if ratio < 0.6 || ratio > 1.6 {
				t.Errorf("%s: an interval of %.4f, wanted about %.4f", name, got[name], w)
			}
		}
		if mean := sum / float64(len(want)); math.Abs(mean-1) > 0.1 {
			t.Errorf("intervals are %.2f times as wide", mean)
		}
	}
}

// TestBlockSumsOfAMoment has all that is compared in a few blocks of many, which do not show
// how it varies.
func TestBlockSumsOfAMoment(t *testing.T) {
	run := inBlocks(load{functions: 40, samples: 2000, times: true}.run("run", 1))
	other := run.Set.AddEvent(stacks.Event{Name: "other", Values: run.Set.Events[0].Values})
	for i := range uint64(2 * stacks.MaxBlocks) {
		row := run.Set.Add(other, 0, 0, 1)
		run.Set.AddBlockSum(stacks.BlockSum{Time: i * 1e15, Sample: uint32(row), Count: 1, Value: 1})
	}
	run.Set.SumBlocks()
	long := inBlocks(load{functions: 40, samples: 2000, times: true}.run("other", 2))
	r, err := Compare([]Run{run}, []Run{long}, Defaults)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Method, "from the number of samples") || strings.Contains(r.Method, "without their times") {
		t.Errorf("method: %s", r.Method)
	}
}

// TestFewTimes says that samples with times are too few, not that they have none; nor that they
// have some, where one side has none.
func TestFewTimes(t *testing.T) {
	timed, untimed := load{functions: 4, samples: 2*maxBlocks - 1, times: true}, load{functions: 4, samples: 2*maxBlocks - 1}
	for _, test := range []struct {
		base, new load
		want      string
	}{{timed, timed, "from so few"}, {timed, untimed, "without their times"}, {untimed, untimed, "without their times"}} {
		r, err := Compare([]Run{test.base.run("base", 1)}, []Run{test.new.run("new", 2)}, Defaults)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(r.Method, test.want) {
			t.Errorf("no %q in %q", test.want, r.Method)
		}
	}
}

// TestBlockSumsOfTwoClocks compares sums of what two machines recorded, one of which runs for
// a year: they have blocks as fine as either alone.
func TestBlockSumsOfTwoClocks(t *testing.T) {
	merged := func(name string, seed uint64) Run {
		m := stacks.NewMerger(stacks.MergeOptions{})
		for i := range uint64(2) {
			one := load{functions: 40, samples: 4000, times: true}.run(name, 2*seed+i)
			for j := range one.Set.TimedSamples {
				one.Set.TimedSamples[j].Time += i * 365 * 86400e9
			}
			if err := m.Add(inBlocks(one).Set, stacks.Addend{}); err != nil {
				t.Fatal(err)
			}
		}
		return Run{Name: name, Set: m.Set()}
	}
	r, err := Compare([]Run{merged("base", 1)}, []Run{merged("new", 2)}, Defaults)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Method, "blocks of time") {
		t.Errorf("method: %s", r.Method)
	}
}
