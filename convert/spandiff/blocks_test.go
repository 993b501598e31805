package spandiff

import (
	"math"
	"slices"
	"testing"

	"kprof/convert/diff"
	"kprof/convert/stacks"
)

// student is the probability that Student's t is as far out, either way (Abramowitz and Stegun,
// 26.7.3 and 26.7.4).
func student(t float64, freedom int) float64 {
	theta := math.Atan(t / math.Sqrt(float64(freedom)))
	sin, cos := math.Sincos(theta)
	if freedom%2 == 0 {
		sum, term := 1.0, 1.0
		for k := 2; k < freedom; k += 2 {
			term *= float64(k-1) / float64(k) * cos * cos
			sum += term
		}
		return 1 - sin*sum
	}
	sum, term := 0.0, cos
	for k := 1; k < freedom; k += 2 {
		if k > 1 {
			term *= float64(k-1) / float64(k) * cos * cos
		}
		sum += term
	}
	return 1 - 2/math.Pi*(theta+sin*sum)
}

// near tells whether a number is the one that is wanted, which is finite.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-9*(1+math.Abs(want)) }

// waves are blocks of one height, of which some at a time are more and less by turns.
func waves(middle, height float64, long int) (x [blocks]float64) {
	for b := range x {
		if x[b] = middle + height; b/long%2 == 1 {
			x[b] = middle - height
		}
	}
	return x
}

// TestRatios has differences of two ratios of which the variance is known by hand.
func TestRatios(t *testing.T) {
	ten := waves(10, 0, 1)
	for _, x := range []struct {
		name    string
		sum, of [2][blocks]float64
		least   float64
		want    float64
	}{
		// Eight blocks of 4 are off by 4 of 320 each, at other times in each run.
		{"blocks of 4", [2][blocks]float64{waves(5, 1, 4), waves(6, -1, 4)}, [2][blocks]float64{ten, ten}, 0,
			student(0.1/math.Sqrt(2*8*16.0/320/320*8/7), 14)},
		// At the same times, they differ by nothing: what is left is what independent calls have.
		{"phases", [2][blocks]float64{waves(5, 1, 4), waves(6, 1, 4)}, [2][blocks]float64{ten, ten}, 0.002,
			student(0.1/math.Sqrt(0.002), 7)},
		// Or half as much on one side.
		{"phases of unequal height", [2][blocks]float64{waves(5, 2, 4), waves(6, 1, 4)}, [2][blocks]float64{ten, ten}, 0,
			student(0.1/math.Sqrt(8*16.0/320/320*8/7), 7)},
		// A short run that does not scatter is taken to scatter as the long one does.
		{"pooled", [2][blocks]float64{waves(15, 1, 4), waves(6, 0, 1)}, [2][blocks]float64{waves(30, 0, 1), ten}, 0,
			student(0.1/math.Sqrt(8*16.0/1280*(1.0/960+1.0/320)*8/7), 7)},
		// Or as much, in terms of shares, which is less in terms of calls.
		{"pooled of both", [2][blocks]float64{waves(15, 1, 4), waves(6, -1.0/3, 4)}, [2][blocks]float64{waves(30, 0, 1), ten}, 0,
			student(0.1/math.Sqrt((8*16.0+8*16.0/9)/1280*(1.0/960+1.0/320)*8/7), 14)},
		// Blocks of unequal size, of which each has its share, are off by nothing.
		{"shares", [2][blocks]float64{waves(5, 1, 4), waves(6, 3, 4)}, [2][blocks]float64{waves(10, 2, 4), waves(10, 5, 4)}, 0.002,
			student(0.1/math.Sqrt(0.002), 7)},
		{"no difference", [2][blocks]float64{waves(5, 1, 4), waves(5, -1, 4)}, [2][blocks]float64{ten, ten}, 0.002, 1},
		{"no variance", [2][blocks]float64{waves(5, 0, 4), waves(6, 0, 4)}, [2][blocks]float64{ten, ten}, 0, 0},
	} {
		r := ratios{sum: x.sum, of: x.of, least: x.least}
		r.fill(true)
		if got := r.test(); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
	// Correlations are Pearson's.
	r := ratios{of: [2][blocks]float64{ten, ten}, sum: [2][blocks]float64{waves(5, 3, 16), waves(5, 3, 16)}}
	for b := 8; b < 16; b++ {
		r.sum[1][b] = 2
	}
	r.fill(true)
	if got := r.correlation(); !near(got, 1/math.Sqrt(3)) {
		t.Errorf("correlation %v, want 1/√3", got)
	}
	r = ratios{of: [2][blocks]float64{ten, ten}, sum: [2][blocks]float64{waves(5, 3, 16), ten}}
	if r.fill(true); r.correlation() != 0 {
		t.Errorf("correlation with nothing: %v", r.correlation())
	}
}

// inBuckets is a group that has so many calls of each of two lengths in each block.
func inBuckets(short, long int) *group {
	g := &group{}
	for b := range blocks {
		n := float64(short + long)
		g.calls += n
		g.blockCalls[b] = n
		g.cells = append(g.cells, cell{uint8(b), 100, uint32(short)}, cell{uint8(b), 200, uint32(long)})
	}
	return g
}

// TestMood compares shares of calls that are longer than what a share of both sides is not.
func TestMood(t *testing.T) {
	binomial := func(long, n, m float64) float64 { p := long / (n + m); return math.Sqrt(p * (1 - p) * (1/n + 1/m)) }
	for _, x := range []struct {
		name      string
		base, new *group
		share     float64
		want      float64
	}{
		{"four and five of ten", inBuckets(6, 4), inBuckets(5, 5), 0.5, student(0.1/binomial(9*32, 320, 320), 7)},
		{"of twice as many", inBuckets(12, 8), inBuckets(5, 5), 0.5, student(0.1/binomial(13*32, 640, 320), 7)},
		{"more than a half is long", inBuckets(4, 6), inBuckets(5, 5), 0.5, 1}, // none is above the median
		{"a half is", inBuckets(5, 5), inBuckets(5, 5), 0.5, 1},
		{"1 and 9 of a thousand", inBuckets(999, 1), inBuckets(991, 9), 0.99, student(0.008/binomial(320, 32000, 32000), 7)},
		{"more than one of a hundred", inBuckets(98, 2), inBuckets(99, 1), 0.99, 1},
	} {
		if got := testQuantile([2]*group{x.base, x.new}, x.share); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

// spans is a run of calls, each of a kind, at a time, and so long; the run takes a second.
func spans(name string, calls ...[3]int) diff.Run {
	s := stacks.New(stacks.Event{Name: "span:syscalls", Values: []stacks.ValueType{
		{Type: "spans", Unit: "count"}, {Type: "open", Unit: "count"}, {Type: "unended", Unit: "nanoseconds"}, {Type: "span:syscalls", Unit: "nanoseconds"},
	}})
	id := s.Intern([]uint32{frame(s, "f")})
	for _, c := range calls {
		row := s.Add(0, id, s.InternLabels([]stacks.Label{{Key: "syscall", Num: int64(c[0])}}), 1, 0, 0, int64(c[2]))
		s.AddTimedSample(stacks.TimedSample{Time: uint64(c[1]), Sample: uint32(row), Value: int64(c[2])})
	}
	s.DurationNanos = 1e9
	return diff.Run{Name: name, Set: s, Column: 3}
}

// TestReadBlocks puts calls into blocks of equal time.
func TestReadBlocks(t *testing.T) {
	run := spans("run", [3]int{7, 5000, 10}, [3]int{7, 5099, 30}, [3]int{8, 5100, 20}, [3]int{7, 8199, 50}, [3]int{7, 8100, 50})
	for _, seconds := range []int64{0, 2} {
		run.Set.DurationNanos = seconds * 1e9
		times, more := read([2][]diff.Run{{run}, {run}}, []string{"syscall"})
		if !slices.Equal(times.groups, []string{"", "7", "8"}) || more != 0 || len(times.runs[1]) != 1 {
			t.Fatalf("%q, %d more", times.groups, more)
		}
		r := times.runs[0][0]
		all, seven := &r.groups[0], &r.groups[1]
		if all.calls != 5 || all.sum != 160 || all.sumOfSquares != 100+900+400+2500+2500 || all.blockCalls[0] != 2 || all.blockCalls[1] != 1 || all.blockCalls[31] != 2 || all.blockSum[0] != 40 || all.blockSum[31] != 100 ||
			seven.calls != 4 || seven.blockCalls[1] != 0 || len(all.cells) != 4 || all.cells[3].count != 2 || all.cells[3].block != 31 {
			t.Errorf("%+v", r.groups)
		}
		if want := map[int64]float64{0: 3200e-9, 2: 2}[seconds]; !near(r.seconds, want) {
			t.Errorf("%v seconds, want %v", r.seconds, want)
		}
	}
	// One kind is all spans, by its name; and without labels there are no kinds.
	one := spans("run", [3]int{7, 5000, 10})
	if times, _ := read([2][]diff.Run{{one}, {one}}, []string{"syscall"}); !slices.Equal(times.groups, []string{"7"}) || times.runs[0][0].groups[0].calls != 1 {
		t.Errorf("one kind: %q", times.groups)
	}
	if times, _ := read([2][]diff.Run{{run}, {run}}, nil); !slices.Equal(times.groups, []string{""}) || times.runs[0][0].groups[0].calls != 5 {
		t.Errorf("no kinds: %q", times.groups)
	}
	// As many as are compared are all compared.
	for _, n := range []int{maxGroups, maxGroups + 1} {
		var calls [][3]int
		for i := range n {
			calls = append(calls, [3]int{i + 1, i, 1000 - i})
		}
		run := spans("run", calls...)
		if times, more := read([2][]diff.Run{{run}, {run}}, []string{"syscall"}); len(times.groups) != maxGroups+1 || more != n-maxGroups || times.groups[maxGroups] != "100" {
			t.Errorf("%d kinds: %d groups, %d more", n, len(times.groups), more)
		}
	}
}

// TestEvenBlocks: of blocks that are all alike every draw is, and what is left of chance is that of
// independent calls.
func TestEvenBlocks(t *testing.T) {
	run := func(name string, short, long int, took int) diff.Run {
		var calls [][3]int
		for b := range blocks {
			for i := range short + long {
				ns := 1000
				if i >= short {
					ns = took
				}
				calls = append(calls, [3]int{1, b*1000 + i*1000/(short+long), ns})
			}
		}
		return spans(name, append(calls, [3]int{1, blocks*1000 - 1, took})...)
	}
	before, after := run("base", 3, 3, 3000), run("new", 3, 6, 3000)
	before.Set.DurationNanos, after.Set.DurationNanos = 2e9, 4e9
	r := Compare([]diff.Run{before}, []diff.Run{after}, Options{})
	g := r.Groups[0]
	n, m := 6.0*32+1, 9.0*32+1
	longBase, longNew := 3.0*32+1, 6.0*32+1
	if !near(g.Calls.Base, n) || !near(g.Calls.New, m) || !near(g.Rate.Base, n/2) || !near(g.Rate.New, m/4) || !near(g.Mean.Base, (96*1000+longBase*3000)/n) || r.Blocks != blocks {
		t.Errorf("%+v", g)
	}
	for name, x := range map[string]struct {
		c *Change
		t float64
	}{
		"rate": {&g.Rate, (m/4 - n/2) / math.Sqrt((n+m)/6*(1.0/2+1.0/4))},
		"mean": {&g.Mean, ((96*1000+longNew*3000)/m - (96*1000+longBase*3000)/n) / math.Sqrt(
			4e6*(longBase/n*(1-longBase/n)/n+longNew/m*(1-longNew/m)/m))},
	} {
		if want := student(math.Abs(x.t), 7); !x.c.Tested || math.Abs(x.c.P/want-1) > 1e-6 {
			t.Errorf("%s: p is %v, want %v", name, x.c.P, want)
		}
	}
	// As many calls in twice the time are no fewer, nor is what takes a little longer slower.
	for took, want := range map[int]Verdict{3000: Noise, 3200: Noise, 4500: Slower} {
		again := run("again", 0, 6, took)
		again.Set.DurationNanos = 4e9
		before := run("base", 0, 6, 3000)
		before.Set.DurationNanos = 2e9
		r := Compare([]diff.Run{before}, []diff.Run{again}, Options{})
		if c := r.Groups[0].Rate; r.Groups[0].Verdict() != want || c.Adjusted > 0.001 || c.Significant {
			t.Errorf("%d ns: %v, rate %+v", took, r.Groups[0].Verdict(), c)
		}
	}
	if !g.Median.Tested || g.P99.Tested {
		t.Errorf("median %+v, 99th percentile %+v", g.Median, g.P99)
	}
	even := [2]*group{inBuckets(10, 0), inBuckets(10, 0)}
	for side, x := range even {
		for b := range blocks {
			x.blockSum[b] = float64(10 * 1000 * (side + 1))
			x.cells[2*b].bucket += uint16(100 * side)
		}
	}
	g = Group{}
	g.bootstrap(even)
	if g.Mean.Of != [2]Interval{{1000, 1000}, {2000, 2000}} || g.Mean.Ratio != (Interval{2, 2}) {
		t.Errorf("mean %+v", g.Mean)
	}
	base, new := even[0].quantile(0.5), even[1].quantile(0.5)
	if g.Median.Of != [2]Interval{{base, base}, {new, new}} || g.Median.Ratio != (Interval{new / base, new / base}) || !(new > base) {
		t.Errorf("median %+v", g.Median)
	}
	// Of 500 draws 2.5 % are below the thirteenth.
	var draws []float64
	for i := range resamples {
		draws = append(draws, float64((i*7)%resamples))
	}
	if got := middle(draws); got != (Interval{12, 487}) {
		t.Errorf("%v", got)
	}
}

// TestRunsOfOneKind: of several runs, logarithms are compared by Student's t.
func TestRunsOfOneKind(t *testing.T) {
	side := func(calls float64, means ...float64) (runs []*run) {
		for _, v := range means {
			runs = append(runs, &run{timed: true, seconds: 2, groups: []group{{calls: calls, sum: v * calls}}})
		}
		return runs
	}
	e := math.Exp
	for _, x := range []struct {
		name   string
		runs   [2][]*run
		least  float64
		tested bool
		p      float64
	}{
		// Logarithms of 0, 1, 2 and 2, 3, 4: variances of 1, a difference of 2.
		{"three each", [2][]*run{side(10, 1, e(1), e(2)), side(10, e(2), e(3), e(4))}, 10, true, student(2/math.Sqrt(2.0/3), 4)},
		{"three and one", [2][]*run{side(20, 1, e(1), e(2)), side(20, e(3))}, 10, true, student(2/math.Sqrt(1+1.0/3), 2)},
		{"fewer calls than it takes", [2][]*run{side(10, 1, e(1), e(2)), side(10, e(2), e(3), e(4))}, 11, false, 0},
		{"forty calls of all", [2][]*run{side(10, 1, e(1)), side(10, e(2), e(3))}, 1, true, student(2/math.Sqrt(0.5), 2)},
		{"fewer of all", [2][]*run{side(10, 1, e(1)), side(9.5, e(2), e(3))}, 1, false, 0},
		{"one of none", [2][]*run{side(20, 0, e(1)), side(20, e(2), e(3))}, 1, false, 0},
	} {
		var c Change
		c.ofRuns(x.runs, 0, x.least, func(_ *run, g *group) float64 { return g.mean() })
		if c.Tested != x.tested || x.tested && math.Abs(c.P-x.p) > 1e-9 {
			t.Errorf("%s: %+v, want p %v", x.name, c, x.p)
		}
		want := 0.0
		for _, r := range x.runs[0] {
			want += r.groups[0].mean() / float64(len(x.runs[0]))
		}
		if !near(c.Base, want) {
			t.Errorf("%s: the mean is %v, want %v", x.name, c.Base, want)
		}
	}
	var g Group
	g.ofRuns([2][]*run{side(100, 1, 2), side(50, 3, 4)}, 0)
	if g.Calls.Base != 100 || g.Calls.New != 50 || g.Rate.Base != 50 || g.Rate.New != 25 || g.Mean.New != 3.5 {
		t.Errorf("%+v", g)
	}
}

// TestLeast: of one run of each side, a group must change by four times what half of the groups do (as factors),
// within bounds.
func TestLeast(t *testing.T) {
	result := func(blocks int, ratios ...float64) *Result {
		r := &Result{Least: 0.1, Blocks: blocks}
		for _, x := range ratios {
			r.Groups = append(r.Groups, Group{Mean: Change{Base: 1000, New: 1000 * x, Tested: true}})
		}
		return r
	}
	untested := result(32, 1.05, 1.05, 1.05, 2)
	untested.Groups[0].Mean.Tested = false
	gone := result(32, 1.05, 0, 1.05, 2)
	for name, x := range map[string]struct {
		r    *Result
		want float64
	}{
		"half change by 5 %":    {result(32, 2, 1.05, 1/1.05, 1.01), math.Pow(1.05, 4) - 1},
		"half change by 1 %":    {result(32, 2, 1.01, 1.01, 1.01), 0.1},
		"half change by a half": {result(32, 2, 1.5, 1.5, 1.5), 0.5},
		"three":                 {result(32, 1.05, 1.05, 1.05), 0.1},
		"runs":                  {result(0, 1.05, 1.05, 1.05, 2), 0.1},
		"one not tested":        {untested, 0.1},
		"one gone":              {gone, 0.1},
	} {
		x.r.leastOf(1)
		for _, g := range x.r.Groups {
			if !near(g.Mean.Least, x.want) || g.Median.Least != 0 {
				t.Errorf("%s: %v, want %v", name, g.Mean.Least, x.want)
			}
		}
	}
	for _, x := range []struct {
		base, new, least float64
		want             bool
	}{{80, 90, 0.125, true}, {80, 89, 0.125, false}, {90, 80, 0.125, true}, {89, 80, 0.125, false}, {0, 0, 0.125, false}, {0, 1, 0.125, true}, {5, 5, 0, false}} {
		if c := (&Change{Base: x.base, New: x.new}); c.by(x.least) != x.want {
			t.Errorf("%+v", x)
		}
	}
	// Holm's procedure; what changed by too little is told at no p.
	cs := []*Change{{New: 1, P: 0.01}, {New: 1, P: 0.04}, {New: 1, P: 0.03}, {Base: 1, New: 1.05, Least: 0.1, P: 0.005}}
	r := &Result{Alpha: 0.03}
	r.judge(slices.Clone(cs))
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if !near(cs[i].Adjusted, want) || cs[i].Significant != (i == 0) || r.Tests != 4 {
			t.Errorf("%d: %+v, want %v", i, *cs[i], want)
		}
	}
}

// TestVerdictOfGroup is by what is significant, the times of calls first.
func TestVerdictOfGroup(t *testing.T) {
	up, down := Change{Base: 1, New: 2, Significant: true}, Change{Base: 2, New: 1, Significant: true}
	chance := Change{Base: 1, New: 9}
	for _, x := range []struct {
		g      Group
		want   Verdict
		slower bool
	}{
		{Group{Mean: up, Median: chance}, Slower, true},
		{Group{P99: down, Rate: up}, Faster, false},
		{Group{Mean: up, P99: down}, Spread, true},
		{Group{Rate: up, Median: chance}, MoreCalls, false},
		{Group{Rate: down}, FewerCalls, false},
		{Group{Rate: chance, Mean: chance}, Noise, false},
	} {
		if got := x.g.Verdict(); got != x.want {
			t.Errorf("%v, want %v", got, x.want)
		}
		r := &Result{Groups: []Group{{}, x.g}}
		if r.Slower() != x.slower || r.Changed() != (x.want != Noise) {
			t.Errorf("%v: slower %v, changed %v", x.want, r.Slower(), r.Changed())
		}
	}
	if (*Result)(nil).Slower() {
		t.Error("nothing is slower")
	}
	g := Group{Calls: Change{Base: 3, New: 2}, Mean: Change{Base: 5, New: 6}}
	if g.Time() != 15 {
		t.Errorf("time %v", g.Time())
	}
}
