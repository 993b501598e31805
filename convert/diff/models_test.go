package diff

import (
	"math"
	"strings"
	"testing"
)

// euler is Euler's constant: digamma(n) is 1 + 1/2 + … + 1/(n-1) less it.
const euler = 0.57721566490153286

// runsData is what functions cost in the runs of both sides, runs by functions, of samples of
// a weight.
func runsData(per Per, weight float64, base, new [][]int64) *data {
	var c [2][]*cost
	for side, runs := range [...][][]int64{base, new} {
		for _, self := range runs {
			x := &cost{weight: weight, self: self, cum: self}
			for _, v := range self {
				x.total += v
			}
			c[side] = append(c[side], x)
		}
	}
	return newData([2][]Run{make([]Run, len(base)), make([]Run, len(new))}, c, per)
}

// blocksData is what functions have in the blocks of one run of each side, functions by blocks,
// of samples of a weight for each side; shares are compared.
func blocksData(weights [2]float64, base, new [][]int64) *data {
	var c [2][]*cost
	for side, functions := range [...][][]int64{base, new} {
		x := &cost{weight: weights[side], totalBlocks: make([]int64, maxBlocks)}
		for _, blocks := range functions {
			var sum int64
			for b, v := range blocks {
				sum += v
				x.totalBlocks[b] += v
			}
			x.self, x.selfBlocks = append(x.self, sum), append(x.selfBlocks, blocks...)
			x.total += sum
		}
		x.cum, x.cumBlocks = x.self, x.selfBlocks
		c[side] = []*cost{x}
	}
	return newData([2][]Run{make([]Run, 1), make([]Run, 1)}, c, PerShare)
}

// waves are blocks of middle+height and middle-height by turns, each for so many blocks.
func waves(middle, height int64, long int) (blocks []int64) {
	for b := range maxBlocks {
		if b/long%2 == 1 {
			blocks = append(blocks, middle-height)
		} else {
			blocks = append(blocks, middle+height)
		}
	}
	return blocks
}

// TestChance has the variances of binomial and Poisson distributions.
func TestChance(t *testing.T) {
	const p = 0.25
	d := runsData(PerShare, 1, [][]int64{{25, 75}, {100, 300}}, [][]int64{{250, 750}}).function(0, false)
	if got, want := d.chance(0), p*(1-p)*(1.0/100+1.0/400)/4; !near(got, want) {
		t.Errorf("the mean of two shares: %v, want %v", got, want)
	}
	if got, want := d.chance(1), p*(1-p)/1000; !near(got, want) {
		t.Errorf("a share: %v, want %v", got, want)
	}
	if got := d.samples(); got != 375 {
		t.Errorf("%v samples", got)
	}
	// 6 samples of 10 in each of two runs and 4 of them in each of three others: their mean is 4.8, and
	// the variance of each 4.8 samples of 10.
	d = runsData(PerRun, 10, [][]int64{{60}, {60}}, [][]int64{{40}, {40}, {40}}).function(0, false)
	m := newRunsModel(d, 1)
	if got := m.chanceOfRun(d); !near(got, 4.8*100) {
		t.Errorf("a run: %v, want 480", got)
	}
	if a, b := d.chance(0), d.chance(1); !near(a, 240) || !near(b, 160) {
		t.Errorf("means of two and three runs: %v, %v", a, b)
	}
}

// TestScatterOfBlocks: a variance of blocks is that of a ratio (Cochran, Sampling Techniques,
// chapter 6): n/(n-1) times the sum of the squares of what blocks are off, by the square of
// the total.
func TestScatterOfBlocks(t *testing.T) {
	// 10 % of 100 samples in each block, off by 2 for four blocks at a time.
	f, rest := waves(10, 2, 4), waves(90, -2, 4)
	d := blocksData([2]float64{1, 1}, [][]int64{f, rest}, [][]int64{f, rest}).function(0, false)
	for n, want := range map[int]float64{32: 32 * 2 * 2 * 32.0 / 31, 16: 16 * 4 * 4 * 16.0 / 15, 8: 8 * 8 * 8 * 8.0 / 7} {
		v, freedom := d.varianceOf(n)
		if got := d.scatter(0, n); !near(got, want) || !near(v, 2*want/3200/3200) || !near(freedom, float64(2*(n-1))) {
			t.Errorf("%d blocks: scatter %v, variance %v, freedom %v, want a scatter of %v", n, got, v, freedom, want)
		}
	}
	m := &blocksModel{phases: 1}
	if v, freedom := m.variance(d); !near(v, 2*(8*8*8*8.0/7)/3200/3200) || !near(freedom, 14) {
		t.Errorf("the largest: %v, %v", v, freedom)
	}
	// By turns, they are off by less than independent samples are, and not at all in pairs.
	f, rest = waves(10, 2, 1), waves(90, -2, 1)
	d = blocksData([2]float64{1, 1}, [][]int64{f, rest}, [][]int64{f, rest}).function(0, false)
	if v, freedom := m.variance(d); !near(v, 0.1*0.9*2/3200) || !near(freedom, 62) {
		t.Errorf("less than chance: %v, %v", v, freedom)
	}
	// A function that one side has in one block: fewer blocks would have no more freedom than 7.
	one := make([]int64, maxBlocks)
	one[3] = 3200
	d = blocksData([2]float64{1, 1}, [][]int64{make([]int64, maxBlocks), waves(100, 0, 1)}, [][]int64{one, waves(100, 0, 1)}).function(0, false)
	if _, freedom := m.variance(d); freedom < minBlocks-1 {
		t.Errorf("%v degrees of freedom", freedom)
	}
	// All together have all of each block, and one together with none has its own.
	all := func() *data { return blocksData([2]float64{1, 1}, [][]int64{f, rest}, [][]int64{f, rest}) }
	for range 2 {
		d = all()
		if got := d.function(0, false).scatter(0, 32); got == 0 {
			t.Error("a function does not scatter")
		}
		if got := d.together([]uint32{0, 1}).scatter(0, 32); got != 0 {
			t.Errorf("all together scatter by %v", got)
		}
		if a, b := d.together([]uint32{0}).scatter(1, 32), all().function(0, false).scatter(1, 32); a != b {
			t.Errorf("one scatters by %v, want %v", a, b)
		}
		if got := d.totals().scatter(0, 32); got != 0 {
			t.Errorf("the total scatters by %v", got)
		}
	}
	// Blocks of unequal totals, of which each has a tenth, are off by nothing.
	d = blocksData([2]float64{1, 1}, [][]int64{waves(20, 10, 4), waves(180, 90, 4)}, [][]int64{waves(20, 10, 4), waves(180, 90, 4)}).function(0, false)
	if got := d.scatter(0, 8); got > 1e-9 {
		t.Errorf("the same share of each: %v", got)
	}
	// The new side has half the samples, each of 2, and is off by 1 of them: of both together each
	// sample has a variance of (128+32)·32/31/4800.
	f2, rest2 := waves(10, 2, 1), waves(90, -2, 1)
	d = blocksData([2]float64{1, 2}, [][]int64{f, rest}, [][]int64{f2, rest2}).function(0, false)
	want := (128 + 32) * 32.0 / 31 / 4800 * (1.0/3200 + 1.0/1600)
	if v, freedom := d.varianceOf(32); !near(v, want) || !near(freedom, 62) {
		t.Errorf("pooled: %v, want %v; freedom %v", v, want, freedom)
	}
	// All that by 3 is the same.
	threefold := func(blocks []int64) (more []int64) {
		for _, v := range blocks {
			more = append(more, 3*v)
		}
		return more
	}
	d = blocksData([2]float64{3, 6}, [][]int64{threefold(f), threefold(rest)}, [][]int64{threefold(f2), threefold(rest2)}).function(0, false)
	if v, freedom := d.varianceOf(32); !near(v, want) || !near(freedom, 62) {
		t.Errorf("in thirds: %v, want %v; freedom %v", v, want, freedom)
	}
	// A short run that is off by as much has more of the variance: Welch's degrees of freedom.
	short, shortRest := waves(5, 2, 1), waves(20, -2, 1)
	d = blocksData([2]float64{1, 1}, [][]int64{f, rest}, [][]int64{short, shortRest}).function(0, false)
	v1, v2 := 128*32.0/31/3200/3200, 128*32.0/31/800/800
	if v, freedom := d.varianceOf(32); !near(v, v1+v2) || !near(freedom, 31*(v1+v2)*(v1+v2)/(v1*v1+v2*v2)) {
		t.Errorf("of a short run: %v, want %v; freedom %v", v, v1+v2, freedom)
	}
}

// TestPriorOfBlocks: where the blocks of twenty functions are off alike, each has their variance, with no
// doubt of it; one that is off by far more than these has its own.
func TestPriorOfBlocks(t *testing.T) {
	data := func(functions int, height int64) *data {
		var sides [2][][]int64
		for side, sign := range []int64{1, -1} { // at other times, so that these are no phases
			for range functions {
				sides[side] = append(sides[side], waves(100, 40*sign, 4))
			}
			n := int64(functions)
			sides[side] = append(sides[side], waves(100, height*sign, 4), waves(100*(n+1), -(40*n+height)*sign, 4))
		}
		return blocksData([2]float64{1, 1}, sides[0], sides[1])
	}
	d := data(leastFunctions, 40)
	m := newBlocksModel(d, leastFunctions)
	p := 100.0 / (200 * (leastFunctions + 1))
	n := 200.0 * (leastFunctions + 1) * maxBlocks
	own := 2 * (8 * 160 * 160 * 8.0 / 7) / n / n // 8 blocks
	digamma := 1 + 1.0/2 + 1.0/3 + 1.0/4 + 1.0/5 + 1.0/6 - euler
	// 14 degrees of freedom: variances are on average exp(digamma(7))/7 of what they are drawn from.
	want := own * 7 / math.Exp(digamma)
	if v, freedom := m.variance(d.function(0, false)); math.Abs(v/want-1) > 1e-6 || !math.IsInf(freedom, 1) {
		t.Errorf("%v with %v degrees of freedom, want %v (of its own %v, by chance %v)", v, freedom, want, own, p*(1-p)*2/n)
	}
	if p := m.priors[8]; !near(p.overall, want/(100.0/(200*(leastFunctions+1))*(1-100.0/(200*(leastFunctions+1)))*2/n)) || len(m.priors) != 3 {
		t.Errorf("priors %v", m.priors)
	}
	d = data(leastFunctions, 100)
	m = newBlocksModel(d, leastFunctions)
	if v, freedom := m.variance(d.function(leastFunctions, false)); !near(v, own*100*100/40/40) || !near(freedom, 14) {
		t.Errorf("out of the ordinary: %v, %v", v, freedom)
	}
	// What is known of 8 blocks draws their variance towards it.
	d = data(leastFunctions, 40)
	m = &blocksModel{phases: 1, priors: map[int]prior{8: {6, 60}}}
	floor := p * (1 - p) * 2 / n
	if v, freedom := m.variance(d.function(0, false)); !near(v, (6*60*floor+14*own)/20) || !near(freedom, 20) {
		t.Errorf("drawn towards a prior: %v, want %v; freedom %v", v, (6*60*floor+14*own)/20, freedom)
	}
	// Fewer tell nothing of the others.
	d = data(leastFunctions-1, 40)
	n = 200.0 * leastFunctions * maxBlocks
	m = newBlocksModel(d, leastFunctions-1)
	if v, freedom := m.variance(d.function(0, false)); len(m.priors) != 0 || !near(v, 2*(8*160*160*8.0/7)/n/n) || !near(freedom, 14) {
		t.Errorf("few functions: %v, %v, %v", m.priors, v, freedom)
	}
}

// TestShape: shapes of blocks correlate as Pearson has it.
func TestShape(t *testing.T) {
	half, quarter, turns := waves(50, 30, 16), waves(50, 30, 16), waves(5, 3, 8)
	for b := 8; b < 16; b++ {
		quarter[b] = 20
	}
	rest := func(blocks []int64) (left []int64) {
		for b, v := range blocks { // of blocks that are not alike
			left = append(left, int64(100+b)-v)
		}
		return left
	}
	level := func(blocks []int64) (left []int64) {
		for _, v := range blocks {
			left = append(left, 100-v)
		}
		return left
	}
	shapeOf := func(blocks []int64, rest func([]int64) []int64) shape {
		return blocksData([2]float64{1, 1}, [][]int64{blocks, rest(blocks)}, [][]int64{blocks, rest(blocks)}).function(0, false).shape(0)
	}
	a, b, c := shapeOf(half, level), shapeOf(quarter, level), shapeOf(turns, level)
	for want, got := range map[float64]float64{1: a.correlation(&a), 1 / math.Sqrt(3): a.correlation(&b), 0: a.correlation(&c)} {
		if !near(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	// Of unequal blocks, what each has more than its share of all.
	x := shapeOf(half, rest)
	var want shape
	for i := range want {
		want[i] = float64(half[i]) - 1600.0/3696*float64(100+i)
	}
	if got := want.correlation(&x); !near(got*got, want.correlation(&want)) || !near(x.correlation(&x), 1) {
		t.Errorf("unequal blocks: %v", x)
	}
}

// phaseData has functions in phases of two blocks each, one after the other, of base and new
// samples a block.
func phaseData(functions int, base, new func(fn int) int64) *data {
	var c [2][][]int64
	for side, of := range []func(int) int64{base, new} {
		for fn := range functions {
			blocks := make([]int64, maxBlocks)
			blocks[2*fn], blocks[2*fn+1] = of(fn), of(fn)
			c[side] = append(c[side], blocks)
		}
		rest := make([]int64, maxBlocks)
		for b := 2 * functions; b < maxBlocks; b++ {
			rest[b] = 100
		}
		c[side] = append(c[side], rest)
	}
	return blocksData([2]float64{1, 1}, c[0], c[1])
}

// TestPhases: functions that come at the same times in both runs and agree better than their blocks let
// expect are known by that; what comes at other times is not.
func TestPhases(t *testing.T) {
	same := func(int) int64 { return 100 }
	d := phaseData(leastPhased, same, same)
	m := newBlocksModel(d, leastPhased+1)
	if !strings.HasSuffix(m.method(), "less what phases make that both have alike") {
		t.Errorf("method: %s", m.method())
	}
	// Without a difference there is as much variance as is assumed of samples without times.
	p := 200.0 / 3200
	if v, freedom := m.variance(d.function(0, false)); !near(v, 3*p*(1-p)*2/3200) || freedom != leastPhased+1 {
		t.Errorf("in phases: %v, %v", v, freedom)
	}
	d = phaseData(leastPhased-1, same, same) // and the rest is in a phase, too
	if m := newBlocksModel(d, leastPhased-1); m.phases != 1 || strings.Contains(m.method(), "phases") {
		t.Errorf("few functions: %v, %s", m.phases, m.method())
	}
	// A tenth more or less in each is still far less than blocks differ by.
	d = phaseData(16, same, func(fn int) int64 { return 100 + 10*int64(1-fn%2*2) })
	m = newBlocksModel(d, 16)
	// Of what is a tenth more or less, the differences are all 1/160, of variances by blocks that are nearly alike.
	var least, most float64 = math.Inf(1), 0
	for fn := range uint32(16) {
		v, _ := m.blockVariance(d.function(fn, false))
		f := 1.0 / 160 / 160 / v / 1.642374 * (1 + 2.0/4)
		least, most = min(least, f), max(most, f)
	}
	if m.phases < least*(1-1e-9) || m.phases > most*(1+1e-9) || most > 0.05 || m.freedom != 16 {
		t.Errorf("phases %v of %v to %v, freedom %v", m.phases, least, most, m.freedom)
	}
	// What one side alone has, in the same blocks as another function, is in phases; what is elsewhere is not.
	zero := make([]int64, maxBlocks)
	for name, x := range map[string]struct {
		base, new []int64
		in        bool
	}{
		"new":                 {zero, waves(10, 10, 16), true},
		"gone":                {waves(10, 10, 16), zero, true},
		"new elsewhere":       {zero, waves(10, 10, 1), false},
		"both":                {waves(10, 10, 8), waves(20, 20, 8), true},
		"both at other times": {waves(10, 10, 16), waves(10, -10, 16), false},
	} {
		var base, new [][]int64
		for range leastPhased {
			base, new = append(base, waves(100, 100, 16)), append(new, waves(100, 100, 16))
		}
		base, new = append(base, waves(1000, -800, 16)), append(new, waves(1000, -800, 16))
		base, new = append(base, x.base), append(new, x.new)
		d := blocksData([2]float64{1, 1}, base, new)
		m := newBlocksModel(d, leastPhased)
		if m.phases >= agreement {
			t.Fatalf("%s: phases %v", name, m.phases)
		}
		if got := m.inPhases(d.function(uint32(leastPhased+1), false)); got != x.in {
			t.Errorf("%s: %v", name, got)
		}
		v, freedom := m.variance(d)
		plain, own := m.blockVariance(d)
		if x.in && (v >= plain || freedom != leastPhased) || !x.in && (v != plain || freedom != own) {
			t.Errorf("%s: %v with %v, by blocks %v with %v", name, v, freedom, plain, own)
		}
	}
}

// TestDispersion: a factor of variances is what the lower quartile of squared differences is more than
// that of chi squared with one degree of freedom, 0.1015.
func TestDispersion(t *testing.T) {
	run := func(functions int, few [2]int64) *data {
		var base, new []int64
		for i := range functions { // differences of 10, -10, 20, -20, …
			more := int64(i/2+1) * 10 * int64(1-i%2*2)
			base, new = append(base, 1000), append(new, 1000+more)
		}
		for range 5 {
			base, new = append(base, few[0]), append(new, few[1])
		}
		return runsData(PerShare, 1, [][]int64{append(base, 100_000-int64(functions)*1000-5*few[0])}, [][]int64{append(new, 100_000-int64(functions)*1000-5*few[1])})
	}
	at := func(more float64) float64 {
		p := (2000 + more) / 200_000
		return more * more / 1e10 / (p * (1 - p) * 2 / 100_000) / 0.101531
	}
	for _, x := range []struct {
		functions int
		few       [2]int64
		want      float64
	}{
		{40, [2]int64{10, 9}, at(60)},  // the eleventh of 40, if those of 19 samples do not count: 60
		{40, [2]int64{10, 10}, at(40)}, // the twelfth of 45, of which five have no difference
		{leastFunctions - 1, [2]int64{}, leastDispersion},
	} {
		d := run(x.functions, x.few)
		m := newCountsModel(d, x.functions+5)
		if math.Abs(m.dispersion/x.want-1) > 1e-6 {
			t.Errorf("%+v: %v", x, m.dispersion)
		}
		if v, freedom := m.variance(d.function(0, false)); !near(v, m.dispersion*2010/200_000*(1-2010.0/200_000)*2/100_000) || !near(freedom, 2010/m.dispersion) {
			t.Errorf("%+v: %v, %v", x, v, freedom)
		}
	}
}

// TestFitPrior: logarithms of variances of 4 degrees of freedom have a variance of trigamma(2),
// π²/6 - 1; those of 6 add trigamma(3), 1/4 less. Digamma of 2 and 3 differ by 1/2.
func TestFitPrior(t *testing.T) {
	const n, middle = 20, 0.7
	two, three := math.Pi*math.Pi/6-1, math.Pi*math.Pi/6-5.0/4
	ratios := func(variance float64) (r []float64) {
		s := math.Sqrt(variance * (n - 1) / n)
		for range n / 2 {
			r = append(r, math.Exp(middle-s), math.Exp(middle+s))
		}
		return r
	}
	p := fitPrior(ratios(two+three), 4)
	if math.Abs(p.freedom-6) > 1e-6 || math.Abs(p.overall-math.Exp(middle+0.5)*2/3) > 1e-6 {
		t.Errorf("%+v", p)
	}
	// What differs by no more than own variances do is of one.
	p = fitPrior(ratios(two*0.99), 4)
	if !math.IsInf(p.freedom, 1) || !near(p.overall, math.Exp(middle-(1-euler))*2) {
		t.Errorf("%+v", p)
	}
	// Nothing is less than leastRatio.
	if a, b := fitPrior([]float64{0, 1, 2}, 4), fitPrior([]float64{leastRatio, 1, 2}, 4); a != b || math.IsNaN(a.overall) {
		t.Errorf("%v and %v", a, b)
	}
	for x, want := range map[float64]float64{1: math.Pi * math.Pi / 6, 0.5: math.Pi * math.Pi / 2, 2: two, 3: three} {
		if got := trigamma(x); !near(got, want) {
			t.Errorf("trigamma(%v) is %v, want %v", x, got, want)
		}
		if got := inverseTrigamma(want); math.Abs(got/x-1) > 1e-9 {
			t.Errorf("trigamma(%v) is %v, want %v", got, want, x)
		}
	}
}

// TestModerate: a variance and that of the others are weighed by their degrees of freedom; one that tables
// of F, or of chi squared, exclude at a level of 0.001 is an outlier.
func TestModerate(t *testing.T) {
	for _, x := range []struct {
		prior          prior
		ratio, freedom float64
	}{
		{prior{6, 2}, (6*2 + 4*7.0) / 10, 10},
		{prior{}, 7, 4},
		{prior{math.Inf(1), 2}, 2, math.Inf(1)},
	} {
		if ratio, freedom := x.prior.moderate(7, 4); ratio != x.ratio || freedom != x.freedom {
			t.Errorf("%+v: %v, %v", x, ratio, freedom)
		}
	}
	for freedom, quantile := range map[float64]float64{6: 21.92, math.Inf(1): 18.467 / 4} {
		p := prior{freedom, 2}
		if p.outlier(2*quantile*0.999, 4) || !p.outlier(2*quantile*1.001, 4) {
			t.Errorf("with %v degrees of freedom of the prior, %v is not the border", freedom, quantile)
		}
	}
}
