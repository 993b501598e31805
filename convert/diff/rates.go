package diff

import (
	"cmp"
	"math"
	"slices"
)

// exactModel is for what was counted one by one: a difference between two counts is
// what it is, up to what was lost.
type exactModel struct{ lost bool }

func (m exactModel) method() string {
	if m.lost {
		return "every occurrence was counted, but those that were lost, which may be anywhere"
	}
	return "none: every occurrence was counted"
}

// missing is the largest cost of one side that what its run lost may be.
func (d *data) missing(r *Result) (most float64) {
	for side := range r.runs {
		most = max(most, float64(r.runs[side][0].Lost)/d.denominators[side][0])
	}
	return most
}

func (exactModel) variance(*data) (variance, freedom float64) { return 0, math.Inf(1) }

// unknownModel is for rates of one run of each side: how much runs differ in their
// totals does not show in one. And for durations without their times: one of them may be as
// long as all others together, and their sum does not tell.
type unknownModel struct{ durations bool }

func (m unknownModel) method() string {
	if m.durations {
		return "not known: the profiles have sums of durations, not how much single ones differ"
	}
	return "not known: how much runs of one build differ takes several of each to see"
}

// durations tells whether a run has sums of the times that something took, each of which
// was counted, and not times of samples.
func (r *Run) durations() bool {
	e := &r.Set.Events[r.Event]
	switch e.Values[r.Column].Unit {
	case "nanoseconds", "microseconds", "milliseconds", "seconds":
	default:
		return false
	}
	counted := false
	for c, v := range e.Values {
		counted = counted || c != r.Column && v.Unit == "count"
	}
	return counted && r.Set.PeriodType != e.Values[r.Column] && r.cpuSeconds() == 0
}

func (unknownModel) variance(*data) (variance, freedom float64) { return math.Inf(1), 1 }

// measuredModel is for values that were measured one by one, such as how long a call
// took. How much both sides differ by chance is taken from all functions together, the middle half of which is taken not to have changed: small
// ones by an absolute amount, large ones by a share of what they cost. What is rarely
// late is late by much: how the largest tenth of the differences thins out gives Student's
// t its degrees of freedom, which may be less than one. The largest of all are left out of
// that, since they may be changes.
type measuredModel struct{ floor, share, freedom, scale float64 }

const (
	// measuredFreedom are the degrees of freedom where there are less than manyMeasured
	// functions to tell, leastFreedom and mostFreedom what they may be.
	measuredFreedom           = 4
	manyMeasured              = 50
	leastFreedom, mostFreedom = 0.5, 30
	// The tail is looked at between these shares of all differences.
	tailFrom, tailTo = 0.1, 0.02
)

func newMeasuredModel(d *data, functions int) *measuredModel {
	type pair struct{ size, change float64 }
	var pairs []pair
	for fn := range uint32(functions) {
		d.function(fn, false)
		if a, b := d.mean(0), d.mean(1); a > 0 && b > 0 {
			pairs = append(pairs, pair{min(a, b), abs(b - a)})
		}
	}
	m := &measuredModel{share: leastMeasured, freedom: measuredFreedom, scale: 1}
	if len(pairs) == 0 {
		return m
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.size, b.size) })
	small, large := pairs[:(len(pairs)+1)/2], pairs[len(pairs)/2:]
	if len(pairs) < fewMeasured {
		large = pairs
	}
	changes := make([]float64, 0, len(pairs))
	for _, p := range small {
		changes = append(changes, p.change)
	}
	m.floor = deviation * median(changes)
	changes = changes[:0]
	for _, p := range large {
		changes = append(changes, p.change/p.size)
	}
	m.share = max(deviation*median(changes), leastMeasured)
	if len(pairs) < manyMeasured {
		return m
	}
	changes = changes[:0]
	for _, p := range pairs {
		changes = append(changes, p.change/m.deviation(p.size))
	}
	slices.Sort(changes)
	at := func(share float64) float64 { return changes[len(changes)-1-int(share*float64(len(changes)))] }
	if from, to := at(tailFrom), at(tailTo); from > 0 && to > from {
		// The tail of t with n degrees of freedom falls with the power n.
		m.freedom = min(max(math.Log(tailFrom/tailTo)/math.Log(to/from), leastFreedom), mostFreedom)
		m.scale = max(1, from/quantile(tailFrom, m.freedom))
	}
	return m
}

func (m *measuredModel) deviation(size float64) float64 {
	return math.Sqrt(m.floor*m.floor + m.share*m.share*size*size)
}

const (
	// fewMeasured functions are too few to look at the large ones apart.
	fewMeasured = 20
	// leastMeasured is how much a measurement differs from run to run at least.
	leastMeasured = 0.02
	// deviation is the standard deviation of a normal distribution by the median of
	// its absolute values.
	deviation = 1.482602
)

// median is the lower one of an even number.
func median(x []float64) float64 {
	slices.Sort(x)
	return x[(len(x)-1)/2]
}

func (m *measuredModel) method() string {
	return "from how much the measurements of all functions differ between both sides"
}

// resolution is the least difference of a short call that would be told.
func (m *measuredModel) resolution(alpha float64) float64 {
	return quantile(alpha, m.freedom) * m.scale * m.floor
}

// strictest is what of several models explains a difference best by chance.
type strictest []model

func (s strictest) method() string {
	text := s[0].method()
	for _, m := range s[1:] {
		text += "; and " + m.method()
	}
	return text
}

func (s strictest) variance(d *data) (variance, freedom float64) {
	diff, most := d.mean(1)-d.mean(0), -1.0
	for _, m := range s {
		v, f := m.variance(d)
		p := 1.0
		if v > 0 {
			p = tail(diff/math.Sqrt(v), f)
		} else if diff != 0 {
			p = 0
		}
		if p > most {
			most, variance, freedom = p, v, f
		}
	}
	return variance, freedom
}

func (m *measuredModel) variance(d *data) (variance, freedom float64) {
	s := m.scale * m.deviation(min(d.mean(0), d.mean(1)))
	return s * s, m.freedom
}
