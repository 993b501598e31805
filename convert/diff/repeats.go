package diff

import (
	"fmt"
	"math"
)

// runsModel takes the variance from that between the runs of a side. A few runs
// tell little of it; so the variances of all functions, each in terms of what it
// is for independent samples, are taken for draws from one distribution, and each
// function's own is drawn towards the middle, the more the less they differ
// (Smyth, "Linear models and empirical Bayes methods for assessing differential
// expression", 2004: the moderated t test). Where runs differ by a share of what functions
// cost, large ones differ by more in terms of independent samples: the middle rises with
// the number of samples (as limma-trend has it: Law and others, "voom", 2014). With
// nothing to learn from the other functions it is Student's t test.
type runsModel struct {
	own          float64 // degrees of freedom of a function's own variance
	prior        prior   // of ratios by trend
	trend        trend
	base, newest int // number of runs
}

func newRunsModel(d *data, functions int) *runsModel {
	m := &runsModel{base: len(d.costs[0]), newest: len(d.costs[1])}
	m.own = float64(m.base + m.newest - 2)
	var ratios, samples []float64
	for fn := range uint32(functions) {
		d.function(fn, false)
		if d.samples() < leastSamples {
			continue
		}
		if ratio, ok := m.ratio(d); ok {
			ratios, samples = append(ratios, ratio), append(samples, d.samples())
		}
	}
	if len(ratios) >= leastFunctions {
		m.trend = fitTrend(ratios, samples)
		for i := range ratios {
			ratios[i] /= m.trend.at(samples[i])
		}
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
	middle := m.trend.at(d.samples())
	ratio, freedom = m.prior.moderate(ratio/middle, m.own)
	ratio *= middle
	chance := m.chanceOfRun(d)
	return max(ratio, 1) * chance * (1/float64(m.base) + 1/float64(m.newest)), freedom
}

// trend is how variances, in terms of independent samples, rise with the number of these: where
// runs differ by a share of each cost, by 1 + slope·samples. The zero value does not rise.
type trend struct{ slope, most float64 }

// at is the factor for a number of samples; no more is known of more of them than any function
// has.
func (t trend) at(samples float64) float64 { return 1 + t.slope*min(samples, t.most) }

// fitTrend takes the slope from which the logarithms of ratios differ least.
func fitTrend(ratios, samples []float64) (best trend) {
	most := 0.0
	for _, n := range samples {
		most = max(most, n)
	}
	const steepest = 1 << 20 // in terms of what has most samples
	least := math.Inf(1)
	for slope := 1.0 / 16; slope <= steepest; slope *= 2 {
		t := trend{slope / most, most}
		if slope == 1.0/16 {
			t = trend{}
		}
		var sum, squares float64
		for i, r := range ratios {
			e := math.Log(max(r, leastRatio) / t.at(samples[i]))
			sum += e
			squares += e * e
		}
		if rest := squares - sum*sum/float64(len(ratios)); rest < least {
			least, best = rest, t
		}
	}
	return best
}
