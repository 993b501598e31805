package spandiff

import (
	"math"
	"slices"
	"testing"

	"kprof/convert/diff"
	"kprof/convert/stacks"
)

// TestNumbers: what both sides have is what the durations themselves say.
func TestNumbers(t *testing.T) {
	l := load{kinds: 3, calls: 3000}
	run := l.run("base", 3)
	values := map[string][]float64{}
	for _, m := range run.Set.TimedSamples {
		name, _ := run.Set.Label(run.Set.Sample(int(m.Sample)).Labels, "syscall")
		values[name.Str] = append(values[name.Str], float64(m.Value))
		values[""] = append(values[""], float64(m.Value))
	}
	r := Compare([]diff.Run{run}, []diff.Run{l.run("new", 4)}, Options{})
	if len(r.Groups) != len(values) || r.By[0] != "syscall" {
		t.Fatalf("%d groups by %v of %d", len(r.Groups), r.By, len(values))
	}
	for _, g := range r.Groups {
		want := values[g.Name]
		slices.Sort(want)
		sum := 0.0
		for _, v := range want {
			sum += v
		}
		n := float64(len(want))
		near := func(what string, got, want, by float64) {
			if math.Abs(got-want) > by*want {
				t.Errorf("%q: %s is %v, want %v", g.Name, what, got, want)
			}
		}
		near("number", g.Calls.Base, n, 0)
		near("rate", g.Rate.Base, n/(float64(run.Set.DurationNanos)/1e9), 1e-9)
		near("mean", g.Mean.Base, sum/n, 1e-9)
		near("median", g.Median.Base, want[int(math.Ceil(0.5*n))-1], 0.01)
		near("p99", g.P99.Base, want[int(math.Ceil(0.99*n))-1], 0.01)
		for _, c := range []*Change{&g.Mean, &g.Median, &g.P99} {
			if i := c.Of[0]; !(i.Low <= c.Base && c.Base <= i.High) {
				t.Errorf("%q: %v is not in %v", g.Name, c.Base, i)
			}
		}
	}
}

// TestIntervals: of the medians of 100 runs about 95 of 100 intervals have the true one.
func TestIntervals(t *testing.T) {
	l := load{kinds: 1, calls: 600}
	within := 0
	for seed := range uint64(100) {
		runs := [2]diff.Run{l.run("base", 2*seed), l.run("new", 2*seed+1)}
		r := Compare(runs[:1], runs[1:], Options{})
		// The median of exp(0.5·x), x normal, is 1.
		if i := r.Groups[0].Median.Of[0]; i.Low <= 1000*1.004 && 1000*0.996 <= i.High {
			within++
		}
	}
	if within < 88 {
		t.Errorf("%d of 100 intervals have the true median", within)
	}
}

// TestIntervalsOfRuns: the interval of means of three runs is Student's, at the level 0.95 at whatever
// level differences are tested.
func TestIntervalsOfRuns(t *testing.T) {
	const t4 = 2.776445 // exceeded either way with probability 0.05, of 4 degrees of freedom
	l := load{kinds: 1, calls: 500}
	var runs [2][]diff.Run
	var mean, squares [2]float64
	for side := range runs {
		var logs []float64
		for i := range 3 {
			run := l.run("run", uint64(10*side+i))
			sum := 0.0
			for _, m := range run.Set.TimedSamples {
				sum += float64(m.Value)
			}
			logs = append(logs, math.Log(sum/float64(len(run.Set.TimedSamples))))
			runs[side] = append(runs[side], run)
		}
		for _, x := range logs {
			mean[side] += x / 3
		}
		for _, x := range logs {
			squares[side] += (x - mean[side]) * (x - mean[side])
		}
	}
	half := t4 * math.Sqrt((squares[0]+squares[1])/4*2/3)
	for _, alpha := range []float64{0.05, 0.025, 0.2} {
		got := Compare(runs[0], runs[1], Options{Alpha: alpha}).Groups[0].Mean.Ratio
		diff := mean[1] - mean[0]
		if low, high := math.Exp(diff-half), math.Exp(diff+half); math.Abs(got.Low-low) > 1e-5 || math.Abs(got.High-high) > 1e-5 {
			t.Errorf("alpha %v: %v, want %v to %v", alpha, got, low, high)
		}
	}
}

// TestOneSided: what only one side calls is more, or fewer, calls.
func TestOneSided(t *testing.T) {
	one, both := load{kinds: 1, calls: 2000}, load{kinds: 2, calls: 2000}
	for _, x := range []struct {
		base, new load
		want      Verdict
	}{{one, both, MoreCalls}, {both, one, FewerCalls}} {
		r := Compare([]diff.Run{x.base.run("base", 1)}, []diff.Run{x.new.run("new", 2)}, Options{})
		i := slices.IndexFunc(r.Groups, func(g Group) bool { return g.Name == "call1" })
		if i < 0 || r.Groups[i].Verdict() != x.want || r.Groups[i].Mean.Tested {
			t.Errorf("%+v", r.Groups)
		}
	}
}

// TestSums: without the single times there are the sums, and nothing is said of them.
func TestSums(t *testing.T) {
	runs := [2]diff.Run{load{kinds: 2, calls: 500}.run("base", 1), load{kinds: 2, calls: 500, slowdown: 5}.run("new", 2)}
	for i := range runs {
		runs[i].Set.TimedSamples = nil
	}
	r := Compare(runs[:1], runs[1:], Options{})
	if !r.Sums || r.Changed() || r.Tests != 0 || len(r.Groups) != 3 {
		t.Errorf("%+v", r)
	}
	if m := r.Groups[0].Mean; !(m.New > 4*m.Base) || r.Groups[0].P99.Base != 0 {
		t.Errorf("%+v", r.Groups[0])
	}
}

// TestManyGroups: those with the most time are compared, all others are among all spans.
func TestManyGroups(t *testing.T) {
	l := load{kinds: 3 * maxGroups, calls: 10_000}
	r := Compare([]diff.Run{l.run("base", 1)}, []diff.Run{l.run("new", 2)}, Options{noIntervals: true})
	if len(r.Groups) != maxGroups+1 || r.More == 0 || r.Groups[0].Name != "" || r.Groups[0].Calls.Base != 10_000 {
		t.Errorf("%d groups, %d more, %v calls", len(r.Groups), r.More, r.Groups[0].Calls)
	}
}

func TestIs(t *testing.T) {
	count, ns := "count", "nanoseconds"
	for _, x := range []struct {
		name string
		is   bool
		v    []stacks.ValueType
	}{
		{"span:irq", true, []stacks.ValueType{{Type: "spans", Unit: count}, {Type: "open", Unit: count}, {Type: "unended", Unit: ns}, {Type: "span:irq", Unit: ns}}},
		{"span:irq", true, []stacks.ValueType{{Type: "span:irq.spans", Unit: count}, {Type: "span:irq.open", Unit: count}, {Type: "span:irq.unended", Unit: ns}, {Type: "span:irq", Unit: ns}}},
		{"off-cpu", true, []stacks.ValueType{{Type: "samples", Unit: count}, {Type: "blocked", Unit: ns}, {Type: "runnable", Unit: ns}, {Type: "unended", Unit: ns}, {Type: "off-cpu", Unit: ns}}},
		{"span:kmalloc", false, []stacks.ValueType{{Type: "alloc_objects", Unit: count}, {Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_objects", Unit: count}, {Type: "inuse_space", Unit: "bytes"}}},
		{"wall-clock", false, []stacks.ValueType{{Type: "samples", Unit: count}, {Type: "running", Unit: ns}, {Type: "blocked", Unit: ns}, {Type: "runnable", Unit: ns}, {Type: "wall-clock", Unit: ns}}},
		{"cpu-clock", false, []stacks.ValueType{{Type: "samples", Unit: count}, {Type: "cpu", Unit: ns}}},
		{"", false, nil},
	} {
		if got := Is(&stacks.Event{Name: x.name, Values: x.v}); got != x.is {
			t.Errorf("%s %v: %v", x.name, x.v, got)
		}
	}
}
