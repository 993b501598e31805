package diff

import (
	"math"
	"slices"
)

// exactModel is for what was counted one by one: a difference between two counts is
// what it is.
type exactModel struct{}

func (exactModel) method() string { return "none: every occurrence was counted" }

func (exactModel) variance(*data) (variance, freedom float64) { return 0, math.Inf(1) }

// unknownModel is for rates of one run of each side: how much runs differ in their
// totals does not show in one.
type unknownModel struct{}

func (unknownModel) method() string {
	return "not known: how much runs of one build differ takes several of each to see"
}

func (unknownModel) variance(*data) (variance, freedom float64) { return math.Inf(1), 1 }

// measuredModel is for values that were measured one by one, such as how long a call
// took, of one run each. How much they differ from run to run is taken from all
// functions together, the middle half of which is taken not to have changed: small
// ones by an absolute amount, large ones by a share of what they cost.
type measuredModel struct{ floor, share float64 }

// measuredFreedom are the degrees of freedom of Student's t that is assumed for
// measurements: few, since what is rarely late is late by much.
const measuredFreedom = 4

func newMeasuredModel(d *data, functions int) *measuredModel {
	type pair struct{ size, change float64 }
	var pairs []pair
	for fn := range uint32(functions) {
		d.function(fn, false)
		if a, b := d.mean(0), d.mean(1); a > 0 && b > 0 {
			pairs = append(pairs, pair{min(a, b), abs(b - a)})
		}
	}
	m := &measuredModel{share: leastMeasured}
	if len(pairs) == 0 {
		return m
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		switch {
		case a.size < b.size:
			return -1
		case a.size > b.size:
			return 1
		}
		return 0
	})
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
	return m
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
	return "from how much the measurements of all functions differ between both runs"
}

func (m *measuredModel) variance(d *data) (variance, freedom float64) {
	share := m.share * min(d.mean(0), d.mean(1))
	return m.floor*m.floor + share*share, measuredFreedom
}
