package diff

import (
	"cmp"
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
		u.model = newBlocksModel(d, len(r.table.functions))
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
