package diff

import (
	"math"
	"slices"
	"strings"

	"kprof/convert/stacks"
)

// leastPeriods is a total above which a column called a count is one of periods:
// no profile has so many samples.
const leastPeriods = 1e8

// sampleWeight returns the mean value of a sample, weighted by value: a profile of
// the given total says as much as total/weight samples of value 1. It is taken, in
// this order, from the times of single samples, from a column beside it that
// counts samples, from the period that the profile tells (of allocations see
// allocationWeight), or from the values of rows, see rowWeight and countWeight. The number of samples is 0 where
// that is a guess.
func sampleWeight(r *Run, total int64) (weight float64, samples int64) {
	s := r.Set
	if total <= 0 {
		return 1, 0
	}
	var sum, squares float64
	all := len(s.Events) == 1 && r.idle == nil
	for i := range s.TimedSamples {
		m := &s.TimedSamples[i]
		if all || r.comparesRow(m.Sample) {
			sum += float64(m.Value)
			squares += float64(m.Value) * float64(m.Value)
			samples++
		}
	}
	if sum > 0 && int64(sum) == total {
		return squares / sum, samples
	}
	e := &s.Events[r.Event]
	for c, vt := range e.Values {
		if c != r.Column && countsSamples(vt, e.Name) {
			if n := r.total(c); n > 0 {
				return float64(total) / float64(n), n
			}
		}
	}
	vt, sibling := e.Values[r.Column], allocations(e.Values, r.Column)
	switch {
	case s.PeriodType.Unit == "bytes" && s.Period > 0 && (sibling >= 0 || vt.Unit == "bytes"):
		return allocationWeight(r, sibling), 0
	case s.Period > 0 && s.PeriodType == vt:
		return float64(s.Period), total / s.Period
	case vt.Unit == "thousandths": // folded stacks with fractions
		return max(1000, countWeight(r)), 0
	case vt.Unit == "count" && sibling < 0 && total < leastPeriods:
		if weight := countWeight(r); weight > 1 {
			return weight, 0
		}
		return 1, total
	}
	return rowWeight(r), 0
}

// allocations returns the column that has the bytes of the objects that a column counts,
// or the number of those whose bytes it has: that of inuse_space is inuse_objects. It
// returns -1 if there is none.
func allocations(columns []stacks.ValueType, column int) int {
	units := map[string]string{"bytes": "count", "count": "bytes"}
	of := func(vt stacks.ValueType) string { return vt.Type[:strings.LastIndexAny(vt.Type, "_.")+1] }
	vt := columns[column]
	if vt.Type == "samples" || units[vt.Unit] == "" {
		return -1
	}
	return slices.IndexFunc(columns, func(o stacks.ValueType) bool {
		return o.Unit == units[vt.Unit] && of(o) == of(vt)
	})
}

// allocationWeight is the weight of a profile of allocations of which about one in every
// Period bytes was sampled. Each stands for as many of its size as it takes to expect one
// sample: 1/(1-exp(-size/period)), by which Go's runtime multiplies (scaleHeapSample in
// runtime/pprof/protomem.go). sibling is the column of allocations, -1 if there is none:
// then none is taken for larger than a period.
func allocationWeight(r *Run, sibling int) float64 {
	period := float64(r.Set.Period)
	inBytes := r.Set.Events[r.Event].Values[r.Column].Unit == "bytes"
	var sum, weighted float64
	for i := range r.Set.NumSamples() {
		x := r.Set.Sample(i)
		v := float64(x.Values[r.Column])
		if !r.compares(&x) || v <= 0 {
			continue
		}
		of := min(v, period)
		if sibling >= 0 && x.Values[sibling] > 0 {
			size := v / float64(x.Values[sibling])
			if !inBytes {
				size = 1 / size
			}
			of = 1 / -math.Expm1(-size/period)
			if inBytes {
				of *= size
			}
		}
		sum += v
		weighted += v * of
	}
	if sum == 0 {
		return 1
	}
	return weighted / sum
}

// countsSamples tells whether a column is the number of samples.
func countsSamples(vt stacks.ValueType, event string) bool {
	return vt.Unit == "count" && (vt.Type == "samples" || vt.Type == event+".samples")
}

// oftenOne is how many samples the smallest row has at most where there is a fixed period.
const oftenOne = 10

// rowWeight is a guess by the values of rows: their common divisor if that is a fixed
// period, of which the smallest row has few, else what a quarter of them do not exceed,
// since most rows are single samples.
func rowWeight(r *Run) float64 {
	values, divisor := rowValues(r)
	switch {
	case len(values) == 0:
		return 1
	case divisor > 1 && values[0]/divisor <= oftenOne:
		return float64(divisor)
	}
	return float64(values[len(values)/4])
}

// leastRows is how many rows tell that what divides all their counts is no accident: so many are
// all even once in 256 times.
const leastRows = 8

// countWeight is the weight of counts that do not tell of what: their common divisor, such as the
// period of folded stacks whose weights are microseconds, or how often a profile was added up,
// else 1.
func countWeight(r *Run) float64 {
	if values, divisor := rowValues(r); len(values) >= leastRows {
		return float64(divisor)
	}
	return 1
}

// rowValues are the values above 0 of the rows that are compared, in order, and their greatest
// common divisor.
func rowValues(r *Run) (values []int64, divisor int64) {
	for i := range r.Set.NumSamples() {
		x := r.Set.Sample(i)
		if v := x.Values[r.Column]; r.compares(&x) && v > 0 {
			values = append(values, v)
			divisor = gcd(divisor, v)
		}
	}
	slices.Sort(values)
	return values, divisor
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

// sides describes the two groups.
func (r *Result) sides(d *data) {
	for side, s := range [...]*Side{&r.Base, &r.New} {
		known := true
		for i := range r.runs[side] {
			s.Runs = append(s.Runs, r.runs[side][i].Name)
			s.Value += d.costs[side][i].total
			s.Samples += float64(d.costs[side][i].total) / d.costs[side][i].weight
			if s.Counted += d.costs[side][i].samples; d.costs[side][i].samples == 0 {
				known = false
			}
			s.Total += float64(d.costs[side][i].total) / d.denominators[side][i] / float64(len(r.runs[side]))
			s.Idle += d.costs[side][i].idle
			s.CPU += r.runs[side][i].cpuSeconds()
			s.Seconds += float64(r.runs[side][i].Set.DurationNanos) / 1e9
		}
		if !known {
			s.Counted = 0
		}
		if r.Interrupts != nil {
			s.Idle -= r.Interrupts.values[side]
		}
		s.Machine = r.runs[side][0].Machine
		r.weights[side] = s.weigh(d.denominators[side])
	}
}
