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
	exact     bool                // there is nothing uncertain, but for what is missing
	missing   float64             // what a cost may be more on one side, of what was lost
	least     float64             // samples of the side that has fewer, those that count as independent
	measured  *measuredModel      // of measurements
	quantiles map[float64]float64 // by degrees of freedom
}

// newModel chooses a model by what the runs have.
func newModel(d *data, r *Result) *uncertain {
	u := &uncertain{alpha: r.Alpha, quantiles: make(map[float64]float64)}
	single := len(d.costs[0]) == 1 && len(d.costs[1]) == 1
	rate := r.Per == PerSecond || r.Per == PerOps || r.Per == PerRun
	switch {
	case r.Measured():
		u.measured = newMeasuredModel(d, len(r.table.functions))
		u.model, u.exact = u.measured, true
		if !single {
			u.model = strictest{newRunsModel(d, len(r.table.functions)), u.measured}
		}
	case single && rate && r.counted():
		u.missing = d.missing(r)
		u.model, u.exact = exactModel{lost: u.missing > 0}, true
	case single && rate:
		u.model = unknownModel{}
	case single && !d.hasBlocks() && slices.ContainsFunc(slices.Concat(r.runs[0], r.runs[1]), func(x Run) bool { return x.durations() }):
		u.model = unknownModel{durations: true}
	case !single:
		u.model = newRunsModel(d, len(r.table.functions))
	case d.hasBlocks():
		u.model = newBlocksModel(d, len(r.table.functions))
	default:
		counts := newCountsModel(d, len(r.table.functions))
		counts.timed = r.all(func(x *Run) bool { return len(x.Set.TimedSamples)+len(x.Set.BlockSums) > 0 })
		u.model = counts
	}
	least := math.Inf(1)
	for side := range d.costs {
		var n float64
		for _, c := range d.costs[side] {
			n += float64(c.total) / c.weight
		}
		least = min(least, n)
	}
	u.least = least / u.dispersion()
	return u
}

// dispersion is by what the variance of a cost is more than that of independent samples,
// for those of which nothing is seen.
func (u *uncertain) dispersion() float64 {
	switch m := u.model.(type) {
	case *countsModel:
		return m.dispersion
	case *runsModel:
		return max(1, m.prior.overall)
	}
	return 1
}

// counted tells whether every occurrence was counted in all runs.
func (r *Result) counted() bool { return r.all(func(x *Run) bool { return x.Exact }) }

func (r *Result) all(is func(*Run) bool) bool {
	for side := range r.runs {
		for i := range r.runs[side] {
			if !is(&r.runs[side][i]) {
				return false
			}
		}
	}
	return true
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
	x.deviation, x.freedom = math.Sqrt(variance), freedom
	half := u.quantile(freedom) * x.deviation
	if variance == 0 {
		half = u.missing
	}
	x.Low, x.High = x.Diff-half, x.Diff+half
	switch {
	case x.Diff == 0 || math.IsInf(variance, 1):
	case variance > 0:
		x.P = tail(x.Diff/x.deviation, freedom)
	case u.exact && abs(x.Diff) > u.missing:
		x.P = 0
	}
	if !u.exact && (x.Base == 0) != (x.New == 0) && variance > 0 && !math.IsInf(variance, 1) {
		p := u.oneSided(d, variance)
		if _, runs := u.model.(*runsModel); runs {
			p = max(p, x.P)
		}
		x.P = p
	}
	return x
}

// oneSided is the probability that all samples of a cost are on one side, where the t
// distribution is no good approximation: that of as many tosses as the samples are worth
// independent ones.
func (u *uncertain) oneSided(d *data, variance float64) float64 {
	side := 0
	if d.mean(0) == 0 {
		side = 1
	}
	chance := d.chance(0) + d.chance(1)
	if !(chance > 0) {
		return 1
	}
	worth := d.worth(side) / (d.worth(0) + d.worth(1))
	return min(1, 2*math.Pow(worth, d.samples()/max(1, variance/chance)))
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
