package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// model says how uncertain a difference is.
type model interface {
	// variance returns the variance of the difference of the selected cost, and
	// the degrees of freedom with which it is known, +Inf if it is.
	variance(d *data) (variance, freedom float64)
	method() string
}

// uncertain is a model with what makes a Difference of a variance.
type uncertain struct {
	model
	alpha     float64
	quantiles map[float64]float64 // by degrees of freedom
}

// newModel chooses a model by what the runs have.
func newModel(d *data, r *Result) *uncertain {
	u := &uncertain{alpha: r.Alpha, quantiles: make(map[float64]float64)}
	switch {
	case len(d.costs[0])+len(d.costs[1]) > 2:
		u.model = newRunsModel(d, len(r.table.functions))
	case d.hasBlocks():
		u.model = blocksModel{}
	default:
		u.model = newCountsModel(d, len(r.table.functions))
	}
	return u
}

// quantile is cached, since it takes long: degrees of freedom are rounded down.
func (u *uncertain) quantile(freedom float64) float64 {
	if freedom > 10 {
		freedom = math.Floor(freedom)
	}
	q, ok := u.quantiles[freedom]
	if !ok {
		q = quantile(u.alpha, freedom)
		u.quantiles[freedom] = q
	}
	return q
}

// difference compares the selected cost.
func (u *uncertain) difference(d *data) Difference {
	x := Difference{Base: d.mean(0), New: d.mean(1), P: 1, Adjusted: 1}
	x.Diff = x.New - x.Base
	variance, freedom := u.variance(d)
	half := u.quantile(freedom) * math.Sqrt(variance)
	x.Low, x.High = x.Diff-half, x.Diff+half
	if x.Diff != 0 && variance > 0 {
		x.P = tail(x.Diff/math.Sqrt(variance), freedom)
	}
	return x
}

// tail is the two-sided p-value of a t statistic.
func tail(t, freedom float64) float64 {
	if math.IsInf(freedom, 1) {
		return math.Erfc(math.Abs(t) / math.Sqrt2)
	}
	return mathext.RegIncBeta(freedom/2, 0.5, freedom/(t*t+freedom))
}

// quantile is the t that is exceeded, either way, with probability alpha.
func quantile(alpha, freedom float64) float64 {
	if math.IsInf(freedom, 1) {
		return math.Sqrt2 * math.Erfcinv(alpha)
	}
	x := mathext.InvRegIncBeta(freedom/2, 0.5, alpha)
	return math.Sqrt(freedom * (1 - x) / x)
}

// blocksModel takes the variance of a run from its blocks of time. Where samples
// come in bursts longer than a block, neighbouring blocks are alike and their
// variance is too small; so blocks of twice and four times the length are tried
// too, and the largest variance counts (Flyvbjerg and Petersen, "Error estimates
// on averages of correlated data", 1989). Few large blocks are enough for a t test
// (Ibragimov and Müller, "t-Statistic based correlation and heterogeneity robust
// inference", 2010). It is never less than what independent samples have.
type blocksModel struct{}

// minBlocks is the number of the largest blocks.
const minBlocks = 8

func (blocksModel) method() string {
	return fmt.Sprintf("from the variance between %d blocks of time of each run", maxBlocks)
}

func (blocksModel) variance(d *data) (variance, freedom float64) {
	d1, d2 := d.denominators[0][0], d.denominators[1][0]
	w1, w2 := d.costs[0][0].weight, d.costs[1][0].weight
	floor := d.chance(0) + d.chance(1)
	for n := maxBlocks; n >= minBlocks; n /= 2 {
		s1, s2 := d.scatter(0, n), d.scatter(1, n)
		v1, v2 := s1/(d1*d1), s2/(d2*d2)
		// If nothing has changed, samples of both runs scatter alike, whatever the
		// chance of a short one to show it.
		alike := (s1/(w1*w1) + s2/(w2*w2)) / (d1/w1 + d2/w2) * (w1/d1 + w2/d2)
		if v := max(v1+v2, alike, floor); v > variance {
			// Welch and Satterthwaite.
			variance, freedom = v, float64(n-1)
			if v1+v2 > 0 {
				freedom *= (v1 + v2) * (v1 + v2) / (v1*v1 + v2*v2)
			}
		}
	}
	return variance, max(freedom, minBlocks-1)
}

// scatter is the variance of the selected cost of a side with one run, as n blocks
// show it: that of a ratio, since blocks differ in what they are divided by.
func (d *data) scatter(side, n int) float64 {
	ratio := d.series[side][0] / d.denominators[side][0]
	var sum float64
	for b := 0; b < maxBlocks; b += maxBlocks / n {
		var residual float64
		for i := b; i < b+maxBlocks/n; i++ {
			residual += float64(d.blocked[side][i]) - ratio*d.blocks[side][i]
		}
		sum += residual * residual
	}
	return sum * float64(n) / float64(n-1)
}

// test is a difference that is judged together with others.
type test struct{ diff *Difference }

// holm corrects p-values for their number, so that the probability of any being
// called significant by chance is that of one (Holm, "A simple sequentially
// rejective multiple test procedure", 1979).
func holm(tests []test) {
	slices.SortStableFunc(tests, func(a, b test) int { return cmp.Compare(a.diff.P, b.diff.P) })
	var largest float64
	for i, t := range tests {
		largest = max(largest, min(1, t.diff.P*float64(len(tests)-i)))
		t.diff.Adjusted = largest
	}
}
