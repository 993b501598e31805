package diff

import (
	"fmt"
	"slices"
)

// countsModel knows the number of samples alone. They are taken to have more
// variance than independent ones, by one factor for all functions.
type countsModel struct {
	dispersion float64
	timed      bool // both sides have times, but too few samples of them for blocks
}

const (
	// leastDispersion is assumed where the functions of both sides agree better:
	// samples come in bursts, in any program.
	leastDispersion = 3
	// Functions with less samples than leastSamples tell nothing of dispersion,
	// nor do less than leastFunctions.
	leastSamples   = 20
	leastFunctions = 20
)

// newCountsModel estimates the factor by the quarter of the functions that agree
// best, since others may have changed: the lower quartile of squared differences,
// in terms of their variance, has a known value (as "genomic control" does: Devlin
// and Roeder, 1999).
func newCountsModel(d *data, functions int) *countsModel {
	var squares []float64
	for fn := range uint32(functions) {
		d.function(fn, false)
		if d.samples() < leastSamples {
			continue
		}
		if v := d.chance(0) + d.chance(1); v > 0 {
			diff := d.mean(1) - d.mean(0)
			squares = append(squares, diff*diff/v)
		}
	}
	m := &countsModel{dispersion: leastDispersion}
	if len(squares) >= leastFunctions {
		const quartile = 0.101531 // of chi squared with one degree of freedom
		slices.Sort(squares)
		m.dispersion = max(m.dispersion, squares[len(squares)/4]/quartile)
	}
	return m
}

func (m *countsModel) method() string {
	why := "since without their times it cannot be measured (recordings have these, and kprof's pprof, pages, and folded stacks with a header)"
	if m.timed {
		why = "since it cannot be measured from so few of them, or from such a short part of a recording"
	}
	return fmt.Sprintf("from the number of samples, assumed to have %.3g times the variance of independent ones, %s", m.dispersion, why)
}

// variance has as many degrees of freedom as there are samples that count as
// independent: few have no normal distribution.
func (m *countsModel) variance(d *data) (variance, freedom float64) {
	return m.dispersion * (d.chance(0) + d.chance(1)), max(1, d.samples()/m.dispersion)
}

// worth is how many equal samples the runs of a side are worth.
func (d *data) worth(side int) (n float64) {
	for i, c := range d.costs[side] {
		n += d.denominators[side][i] / c.weight
	}
	return n
}

// samples is the number of samples of the selected cost, of all runs.
func (d *data) samples() (n float64) {
	for side := range d.series {
		for i, v := range d.series[side] {
			n += max(v, 0) / d.costs[side][i].weight
		}
	}
	return n
}
