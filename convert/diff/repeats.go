package diff

import "fmt"

// runsModel takes the variance from that between the runs of a side. A few runs
// tell little of it; so the variances of all functions, each in terms of what it
// is for independent samples, are taken for draws from one distribution, and each
// function's own is drawn towards the middle, the more the less they differ
// (Smyth, "Linear models and empirical Bayes methods for assessing differential
// expression", 2004: the moderated t test). With nothing to learn from the other
// functions it is Student's t test.
type runsModel struct {
	own          float64 // degrees of freedom of a function's own variance
	prior        prior
	base, newest int // number of runs
}

func newRunsModel(d *data, functions int) *runsModel {
	m := &runsModel{base: len(d.costs[0]), newest: len(d.costs[1])}
	m.own = float64(m.base + m.newest - 2)
	var ratios []float64
	for fn := range uint32(functions) {
		d.function(fn, false)
		if d.samples() < leastSamples {
			continue
		}
		if ratio, ok := m.ratio(d); ok {
			ratios = append(ratios, ratio)
		}
	}
	if len(ratios) >= leastFunctions {
		m.prior = fitPrior(ratios, m.own)
	}
	return m
}

func (m *runsModel) method() string {
	return fmt.Sprintf("from the variance between %d and %d runs", m.base, m.newest)
}

// ratio is the variance between runs of a side by that of independent samples.
func (m *runsModel) ratio(d *data) (ratio float64, ok bool) {
	var sum float64
	for side := range d.series {
		mean := d.mean(side)
		for i, v := range d.series[side] {
			residual := v/d.denominators[side][i] - mean
			sum += residual * residual
		}
	}
	chance := m.chanceOfRun(d)
	return sum / m.own / chance, chance > 0
}

// chanceOfRun is the mean variance of one run if samples are independent.
func (m *runsModel) chanceOfRun(d *data) float64 {
	b, n := float64(m.base), float64(m.newest)
	return (d.chance(0)*b*b + d.chance(1)*n*n) / (b + n)
}

func (m *runsModel) variance(d *data) (variance, freedom float64) {
	ratio, ok := m.ratio(d)
	if !ok {
		return 0, max(m.own, 1)
	}
	ratio, freedom = m.prior.moderate(ratio, m.own)
	chance := m.chanceOfRun(d)
	return max(ratio, 1) * chance * (1/float64(m.base) + 1/float64(m.newest)), freedom
}
