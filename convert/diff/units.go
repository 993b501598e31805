package diff

import (
	"math"

	"kprof/convert/stacks"
)

// unitSizes are the units of which values can be converted into each other, as pprof names them
// (internal/measurement of github.com/google/pprof, which counts 1024 bytes a kilobyte).
var unitSizes = map[string]struct {
	of   string
	size float64
}{
	"nanoseconds": {"time", 1}, "microseconds": {"time", 1e3}, "milliseconds": {"time", 1e6}, "seconds": {"time", 1e9},
	"bytes": {"memory", 1}, "kilobytes": {"memory", 1 << 10}, "megabytes": {"memory", 1 << 20}, "gigabytes": {"memory", 1 << 30},
}

// OneUnit tells whether the values of all runs of both sides have one unit, or units of which one
// becomes the other, such as microseconds and nanoseconds.
func (r *Result) OneUnit() bool {
	_, ok := r.finest()
	return ok
}

// finest is the unit that Sets have: the smallest of all runs, as go tool pprof takes of several
// profiles. There is none if units measure different things, or the sums do not fit.
func (r *Result) finest() (unit string, ok bool) {
	first := r.runs[0][0].valueType().Unit
	unit = first
	for side := range r.runs {
		for i := range r.runs[side] {
			u := r.runs[side][i].valueType().Unit
			if of := unitSizes[u].of; u != first && (of == "" || of != unitSizes[first].of) {
				return "", false
			}
			if unitSizes[u].size < unitSizes[unit].size {
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
	if u == unit {
		return 1
	}
	return unitSizes[u].size / unitSizes[unit].size
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
