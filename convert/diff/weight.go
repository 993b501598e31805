package diff

import (
	"slices"

	"kprof/convert/stacks"
)

// leastPeriods is a total above which a column called a count is one of periods:
// no profile has so many samples.
const leastPeriods = 1e8

// sampleWeight returns the mean value of a sample, weighted by value: a profile of
// the given total says as much as total/weight samples of value 1. It is taken, in
// this order, from the times of single samples, from a column beside it that
// counts samples, from the period that the profile tells, or from the values of
// rows: their common divisor (a fixed period), else what a quarter of them do not
// exceed, since most rows are single samples.
func sampleWeight(r *Run, total int64) float64 {
	s := r.Set
	if total <= 0 {
		return 1
	}
	var sum, squares float64
	all := len(s.Events) == 1 && r.idle == nil
	for i := range s.TimedSamples {
		m := &s.TimedSamples[i]
		if all || r.comparesRow(m.Sample) {
			sum += float64(m.Value)
			squares += float64(m.Value) * float64(m.Value)
		}
	}
	if sum > 0 && int64(sum) == total {
		return squares / sum
	}
	e := &s.Events[r.Event]
	for c, vt := range e.Values {
		if c != r.Column && countsSamples(vt, e.Name) {
			if n := r.total(c); n > 0 {
				return float64(total) / float64(n)
			}
		}
	}
	switch vt := e.Values[r.Column]; {
	case s.Period > 0 && s.PeriodType == vt:
		return float64(s.Period)
	case vt.Unit == "thousandths": // folded stacks with fractions
		return 1000
	case vt.Unit == "count" && total < leastPeriods:
		return 1
	}
	return rowWeight(r)
}

// countsSamples tells whether a column is the number of samples.
func countsSamples(vt stacks.ValueType, event string) bool {
	return vt.Unit == "count" && (vt.Type == "samples" || vt.Type == event+".samples")
}

func rowWeight(r *Run) float64 {
	var values []int64
	var divisor int64
	for i := range r.Set.NumSamples() {
		x := r.Set.Sample(i)
		if v := x.Values[r.Column]; r.compares(&x) && v > 0 {
			values = append(values, v)
			divisor = gcd(divisor, v)
		}
	}
	if divisor > 1 || len(values) == 0 {
		return float64(max(divisor, 1))
	}
	slices.Sort(values)
	return float64(values[len(values)/4])
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// compares tells whether a row is of what is compared.
func (r *Run) compares(x *stacks.Sample) bool { return x.Event == r.Event && !r.idle.has(x) }

func (r *Run) comparesRow(row uint32) bool {
	x := r.Set.Sample(int(row))
	return r.compares(&x)
}

// total sums up a column of the compared event.
func (r *Run) total(column int) (sum int64) {
	if r.idle == nil {
		return r.Set.Totals(r.Event)[column]
	}
	for i := range r.Set.NumSamples() {
		if x := r.Set.Sample(i); r.compares(&x) {
			sum += x.Values[column]
		}
	}
	return sum
}
