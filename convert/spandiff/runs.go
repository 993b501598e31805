package spandiff

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// ofRuns compares a group of several runs: of each number its logarithm, by Student's t test.
func (g *Group) ofRuns(runs [2][]*run, i int) {
	of := func(c *Change, least float64, f func(*run, *group) float64) { c.ofRuns(runs, i, least, f) }
	of(&g.Calls, 0, func(_ *run, x *group) float64 { return x.calls })
	of(&g.Rate, 0, func(r *run, x *group) float64 { return perSecond(x.calls, r.seconds) })
	of(&g.Mean, 1, func(_ *run, x *group) float64 { return x.mean() })
	of(&g.Median, leastBeyond, func(_ *run, x *group) float64 { return x.quantile(0.5) })
	of(&g.P99, leastBeyond/2/0.01, func(_ *run, x *group) float64 { return x.quantile(0.99) })
}

// ofRuns fills in a number of all runs. It is tested where each has so many calls.
func (c *Change) ofRuns(runs [2][]*run, i int, least float64, f func(*run, *group) float64) {
	var mean, squares, n, calls [2]float64
	tested := true
	for side := range runs {
		n[side] = float64(len(runs[side]))
		var logs []float64
		value := &c.Base
		if side == 1 {
			value = &c.New
		}
		for _, r := range runs[side] {
			x := &r.groups[i]
			calls[side] += x.calls
			v := f(r, x)
			*value += v / n[side]
			tested = tested && v > 0 && x.calls >= least
			logs = append(logs, math.Log(v))
		}
		for _, l := range logs {
			mean[side] += l / n[side]
		}
		for _, l := range logs {
			squares[side] += (l - mean[side]) * (l - mean[side])
		}
	}
	freedom := n[0] + n[1] - 2
	if !tested || calls[0]+calls[1] < leastCalls {
		return
	}
	c.Tested = true
	perRun := (squares[0] + squares[1]) / freedom
	variance := perRun * (1/n[0] + 1/n[1])
	diff := mean[1] - mean[0]
	c.P = tail(diff, variance, freedom)
	t := quantile(1-level, freedom)
	around := func(l, deviation float64) Interval {
		return Interval{math.Exp(l - t*deviation), math.Exp(l + t*deviation)}
	}
	for side := range mean {
		c.Of[side] = around(mean[side], math.Sqrt(perRun/n[side]))
	}
	c.Ratio = around(diff, math.Sqrt(variance))
}

// quantile is the t that is exceeded, either way, with probability alpha.
func quantile(alpha, freedom float64) float64 {
	x := mathext.InvRegIncBeta(freedom/2, 0.5, alpha)
	return math.Sqrt(freedom * (1 - x) / x)
}
