package spandiff

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"kprof/convert/span"
)

// ratios is a sum over blocks by another sum over them, of both sides: a share, a mean.
type ratios struct {
	sum, of  [2][blocks]float64
	total    [2]float64 // of sum
	ofTotal  [2]float64
	least    float64 // variance of the difference that independent spans have
	residual [2][blocks]float64
}

func (x *ratios) fill(residuals bool) {
	for side := range x.sum {
		for b := range blocks {
			x.total[side] += x.sum[side][b]
			x.ofTotal[side] += x.of[side][b]
		}
		for b := range blocks {
			if residuals && x.ofTotal[side] > 0 {
				x.residual[side][b] = (x.sum[side][b] - x.total[side]/x.ofTotal[side]*x.of[side][b]) / x.ofTotal[side]
			}
		}
	}
}

const (
	// leastBlocks is the number of the largest blocks.
	leastBlocks = 8
	// alike is the correlation from which on the blocks of both runs are taken to be of
	// the same phases of a load, which are no chance.
	alike = 0.8
)

// test returns the probability that chance makes so large a difference of the two ratios.
//
// Where spans come in bursts longer than a block, neighbouring blocks are alike and their
// variance is too small: blocks of twice and four times the length are tried too, and the
// largest variance counts (Flyvbjerg and Petersen, 1989; as in diff).
func (x *ratios) test() float64 {
	diff := x.total[1]/x.ofTotal[1] - x.total[0]/x.ofTotal[0]
	phases := x.correlation() >= alike
	p := 0.0
	for n := blocks; n >= leastBlocks; n /= 2 {
		var v [2]float64
		var both float64
		for b := 0; b < blocks; b += blocks / n {
			var r [2]float64
			for side := range r {
				for i := b; i < b+blocks/n; i++ {
					r[side] += x.residual[side][i]
				}
				v[side] += r[side] * r[side]
			}
			both += (r[1] - r[0]) * (r[1] - r[0])
		}
		unbiased := float64(n) / float64(n-1)
		freedom := float64(n - 1)
		variance := (v[0] + v[1]) * unbiased
		if variance > 0 { // Welch and Satterthwaite
			freedom *= (v[0] + v[1]) * (v[0] + v[1]) / (v[0]*v[0] + v[1]*v[1])
		}
		// If nothing has changed, both runs scatter alike, whatever the chance of a short
		// one to show it.
		n0, n1 := x.ofTotal[0], x.ofTotal[1]
		variance = max(variance, (v[0]*n0*n0+v[1]*n1*n1)/(n0+n1)*(1/n0+1/n1)*unbiased)
		if phases {
			variance, freedom = both*unbiased, float64(n-1)
		}
		p = max(p, tail(diff, max(variance, x.least), freedom))
	}
	return p
}

// correlation is that of the residuals of both sides.
func (x *ratios) correlation() float64 {
	var xx, yy, xy float64
	for b := range blocks {
		r, s := x.residual[0][b], x.residual[1][b]
		xx, yy, xy = xx+r*r, yy+s*s, xy+r*s
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

// tail is the two-sided p-value of a difference with a variance, of Student's t.
func tail(diff, variance, freedom float64) float64 {
	switch {
	case diff == 0 || math.IsNaN(diff):
		return 1
	case !(variance > 0):
		return 0
	}
	t := diff * diff / variance
	return mathext.RegIncBeta(freedom/2, 0.5, freedom/(t+freedom))
}

// ofBlocks compares a group of one run of each side.
func (g *Group) ofBlocks(base, new *run, i int) {
	runs := [2]*run{base, new}
	var of [2]*group
	for side, r := range runs {
		of[side] = &r.groups[i]
	}
	set := func(c *Change, f func(*run, *group) float64) { c.Base, c.New = f(base, of[0]), f(new, of[1]) }
	set(&g.Calls, func(_ *run, x *group) float64 { return x.calls })
	set(&g.Rate, func(r *run, x *group) float64 { return perSecond(x.calls, r.seconds) })
	set(&g.Mean, func(_ *run, x *group) float64 { return x.mean() })
	set(&g.Median, func(_ *run, x *group) float64 { return x.quantile(0.5) })
	set(&g.P99, func(_ *run, x *group) float64 { return x.quantile(0.99) })
	if !base.timed || !new.timed {
		return
	}
	calls := of[0].calls + of[1].calls
	if calls < leastCalls {
		return
	}
	var rate ratios
	for side, x := range of {
		for b := range blocks {
			rate.sum[side][b], rate.of[side][b] = x.blockCalls[b], runs[side].seconds/blocks
		}
	}
	rate.fill(true)
	// What comes independently of each other scatters as Poisson's, of the rate of both.
	s0, s1 := runs[0].seconds, runs[1].seconds
	rate.least = calls / (s0 + s1) * (1/s0 + 1/s1)
	g.Rate.Tested, g.Rate.P = true, rate.test()
	if of[0].calls == 0 || of[1].calls == 0 {
		return
	}
	var mean ratios
	for side, x := range of {
		mean.sum[side], mean.of[side] = x.blockSum, x.blockCalls
		mean.least += max(0, x.sumOfSquares/x.calls-x.mean()*x.mean()) / x.calls
	}
	mean.fill(true)
	g.Mean.Tested, g.Mean.P = true, mean.test()
	for _, q := range []struct {
		c     *Change
		share float64
	}{{&g.Median, 0.5}, {&g.P99, 0.99}} {
		if (1-q.share)*min(of[0].calls, of[1].calls) >= leastBeyond/2 {
			q.c.Tested, q.c.P = true, testQuantile(of, q.share)
		}
	}
}

// testQuantile tests whether as many spans of both sides are above what a share of all are
// not above (as Mood's median test does).
func testQuantile(of [2]*group, share float64) float64 {
	var all [1 << 13]float64
	total := 0.0
	for _, x := range of {
		for _, c := range x.cells {
			w := float64(c.count) / x.calls // both sides count alike
			all[c.bucket] += w
			total += w
		}
	}
	above := len(all)
	for sum := 0.0; above > 1 && sum+all[above-1] <= (1-share)*total; above-- {
		sum += all[above-1]
	}
	var x ratios
	for side, y := range of {
		x.of[side] = y.blockCalls
		for _, c := range y.cells {
			if int(c.bucket) >= above {
				x.sum[side][c.block] += float64(c.count)
			}
		}
	}
	x.fill(true)
	n := x.ofTotal[0] + x.ofTotal[1]
	p := (x.total[0] + x.total[1]) / n
	if x.total[0]+x.total[1] == 0 {
		return 1
	}
	x.least = p * (1 - p) * (1/x.ofTotal[0] + 1/x.ofTotal[1])
	return x.test()
}

func perSecond(n, seconds float64) float64 {
	if seconds == 0 {
		return 0
	}
	return n / seconds
}

func (x *group) mean() float64 {
	if x.calls == 0 {
		return 0
	}
	return x.sum / x.calls
}

// quantile is what a share of the times are not above, 0 where the times are not known.
func (x *group) quantile(share float64) float64 {
	var weights [blocks]float64
	for b := range weights {
		weights[b] = 1
	}
	return x.quantiles(&weights, share)[0]
}

// quantiles are those of the blocks, each as often as its weight says.
func (x *group) quantiles(weights *[blocks]float64, shares ...float64) []float64 {
	lowest, highest := x.buckets()
	counts := make([]float64, highest-lowest+1)
	total := 0.0
	for _, c := range x.cells {
		n := weights[c.block] * float64(c.count)
		counts[c.bucket-lowest] += n
		total += n
	}
	found := make([]float64, len(shares))
	if total == 0 {
		return found
	}
	for i, share := range shares {
		sum := 0.0
		for b, n := range counts {
			if sum += n; sum >= share*total-1e-9 {
				lo, hi := span.BucketBounds(lowest + uint16(b))
				found[i] = float64(lo)/2 + float64(hi)/2
				break
			}
		}
	}
	return found
}

// buckets are the buckets that there are.
func (x *group) buckets() (lowest, highest uint16) {
	if len(x.cells) == 0 {
		return 0, 0
	}
	lowest = ^uint16(0)
	for _, c := range x.cells {
		lowest, highest = min(lowest, c.bucket), max(highest, c.bucket)
	}
	return lowest, highest
}

// resamples is how many samples the bootstrap takes of the blocks, of those groups that
// have cells enough for it to take long fewer.
const resamples, maxWork = 500, 20e6

// bootstrap finds the intervals of a group, by drawing blocks of each run
// (Künsch, "The jackknife and the bootstrap for general stationary observations", 1989).
func (g *Group) bootstrap(of [2]*group) {
	n := resamples
	if work := len(of[0].cells) + len(of[1].cells); work > 0 {
		n = max(100, min(n, int(maxWork)/work))
	}
	if of[0].calls+of[1].calls < leastCalls || !of[0].drawn() || !of[1].drawn() {
		return
	}
	rnd := rand.New(rand.NewPCG(1, 2)) // the same result every time
	var draws [3][2][]float64          // mean, median, 99th percentile
	for side, x := range of {
		for len(draws[0][side]) < n {
			var weights [blocks]float64
			var calls, sum float64
			for range blocks {
				b := rnd.IntN(blocks)
				weights[b]++
				calls += x.blockCalls[b]
				sum += x.blockSum[b]
			}
			if calls == 0 {
				continue
			}
			q := x.quantiles(&weights, 0.5, 0.99)
			for i, v := range [...]float64{sum / calls, q[0], q[1]} {
				draws[i][side] = append(draws[i][side], v)
			}
		}
	}
	for i, c := range []*Change{&g.Mean, &g.Median, &g.P99} {
		ratio := make([]float64, n)
		for j := range ratio {
			ratio[j] = draws[i][1][j] / draws[i][0][j]
		}
		c.Of = [2]Interval{middle(draws[i][0]), middle(draws[i][1])}
		c.Ratio = middle(ratio)
	}
}

// drawn reports whether blocks can be drawn of which some have calls.
func (x *group) drawn() bool {
	return len(x.cells) > 0 && slices.ContainsFunc(x.blockCalls[:], func(n float64) bool { return n > 0 })
}

// middle is where most numbers are, at the level, which it sorts.
func middle(x []float64) Interval {
	slices.Sort(x)
	at := func(q float64) float64 { return x[int(q*float64(len(x)-1)+0.5)] }
	return Interval{at((1 - level) / 2), at((1 + level) / 2)}
}
