package diff

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// runsModel takes the variance from that between the runs of a side. A few runs
// tell little of it; so the variances of all functions, each in terms of what it
// is for independent samples, are taken for draws from one distribution, and each
// function's own is drawn towards the middle, the more the less they differ
// (Smyth, "Linear models and empirical Bayes methods for assessing differential
// expression", 2004: the moderated t test). With nothing to learn from the other
// functions it is Student's t test.
type runsModel struct {
	own          float64 // degrees of freedom of a function's own variance
	prior        float64 // those that the others add
	overall      float64 // variance in terms of that of independent samples
	base, newest int     // number of runs
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
		m.fit(ratios)
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

// fit estimates the distribution of the true ratios from the observed ones: the
// logarithm of a variance with own degrees of freedom has known mean and variance,
// and what is observed beyond these is that of the true ones.
func (m *runsModel) fit(ratios []float64) {
	var sum, squares, n float64
	for _, r := range ratios {
		e := math.Log(max(r, 1e-5)) - mathext.Digamma(m.own/2) + math.Log(m.own/2)
		sum += e
		squares += e * e
		n++
	}
	mean := sum / n
	beyond := (squares-n*mean*mean)/(n-1) - trigamma(m.own/2)
	if beyond <= 0 {
		m.prior, m.overall = math.Inf(1), math.Exp(mean)
		return
	}
	m.prior = 2 * inverseTrigamma(beyond)
	m.overall = math.Exp(mean + mathext.Digamma(m.prior/2) - math.Log(m.prior/2))
}

func (m *runsModel) variance(d *data) (variance, freedom float64) {
	ratio, ok := m.ratio(d)
	if !ok {
		return 0, max(m.own, 1)
	}
	freedom = m.own + m.prior
	if math.IsInf(m.prior, 1) {
		ratio = m.overall
	} else {
		ratio = (m.prior*m.overall + m.own*ratio) / freedom
	}
	chance := m.chanceOfRun(d)
	return max(ratio, 1) * chance * (1/float64(m.base) + 1/float64(m.newest)), freedom
}

func trigamma(x float64) float64 { return mathext.Zeta(2, x) }

// inverseTrigamma solves trigamma(x) = y, which falls from infinity to 0, by
// bisection of the logarithm.
func inverseTrigamma(y float64) float64 {
	low, high := 1e-6, 1e6
	for range 100 {
		middle := math.Sqrt(low * high)
		if trigamma(middle) > y {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Sqrt(low * high)
}
