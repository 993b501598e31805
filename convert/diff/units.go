package diff

import (
	"math"

	"kprof/convert/stacks"
)

// OneUnit tells whether the values of all runs of both sides have one unit, or units of which one
// becomes the other, such as microseconds and nanoseconds.
func (r *Result) OneUnit() bool {
	_, ok := r.finest()
	return ok
}

// finest is the unit that Sets have: the smallest of all runs, as go tool pprof takes of several
// profiles. There is none if units measure different things, or the sums do not fit.
func (r *Result) finest() (unit string, ok bool) {
	unit = r.runs[0][0].valueType().Unit
	for side := range r.runs {
		for i := range r.runs[side] {
			u := r.runs[side][i].valueType().Unit
			num, den := stacks.UnitRatio(u, unit)
			if num == 0 {
				return "", false
			}
			if num < den {
				unit = u
			}
		}
	}
	for side := range r.runs {
		total, converts := 0.0, false
		for i := range r.runs[side] {
			run := &r.runs[side][i]
			size := sizeIn(run.valueType().Unit, unit)
			total += float64(run.Set.Totals(run.Event)[run.Column]) * size
			converts = converts || size != 1
		}
		if converts && total >= math.MaxInt64 {
			return "", false
		}
	}
	return unit, true
}

// sizeIn is how many of one unit another one is.
func sizeIn(u, unit string) float64 {
	num, den := stacks.UnitRatio(u, unit)
	return float64(num) / float64(den)
}

// inUnit returns the weights of the runs of a side with which their values have a unit, and the
// type of these values.
func (r *Result) inUnit(side int, unit string) (weights []float64, t stacks.ValueType) {
	t = r.runs[side][0].valueType()
	t.Unit = unit
	for i := range r.runs[side] {
		weights = append(weights, sizeIn(r.runs[side][i].valueType().Unit, unit))
	}
	return weights, t
}
