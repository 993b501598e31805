package diff

import (
	"cmp"
	"slices"
)

// fewFunctions is a number of functions below which the middle tells nothing.
const fewFunctions = 4

// mostLeft is the part of a difference that may be left when the factor has explained it.
const mostLeft = 0.5

// commonFactor is by what the shares of most functions changed alike: those of what
// did not change, where something else grew or shrank. It is the median of the ratios
// of self costs, weighted by these.
func (r *Result) commonFactor() float64 {
	type ratio struct{ factor, weight float64 }
	var ratios []ratio
	var sum float64
	for i := range r.Functions {
		f := &r.Functions[i]
		if b, n := f.Self.Base, f.Self.New; b > 0 && n > 0 && f.Verdict != Moved {
			ratios = append(ratios, ratio{n / b, b + n})
			sum += b + n
		}
	}
	if len(ratios) < fewFunctions {
		return 1
	}
	slices.SortFunc(ratios, func(a, b ratio) int { return cmp.Compare(a.factor, b.factor) })
	at := 0.0
	for _, x := range ratios {
		if at += x.weight; at >= sum/2 {
			return x.factor
		}
	}
	return 1
}

// factors are what the shares of all that did not change may have changed by: the common
// factor of most, what is left beside all that grew, and what is left beside all that
// shrank. Ones above 1, which explain what grew, come last.
func (r *Result) factors() []float64 {
	factors := []float64{r.commonFactor()}
	var grew, shrank struct{ base, new float64 }
	for i := range r.Functions {
		switch d := &r.Functions[i].Self; {
		case d.Significant && d.Diff > 0:
			grew.base += d.Base
			grew.new += d.New
		case d.Significant:
			shrank.base += d.Base
			shrank.new += d.New
		}
	}
	for _, x := range [...]struct{ base, new float64 }{grew, shrank} {
		if x.base < 1 && x.new < 1 {
			factors = append(factors, (1-x.new)/(1-x.base))
		}
	}
	slices.SortStableFunc(factors, func(a, b float64) int { return cmp.Compare(max(a, 1), max(b, 1)) })
	return factors
}

// shareOnly marks differences of which only the share changed, since something else grew
// or shrank: with most others, by one factor. It is the factor that leaves the fewest
// changes unexplained. Where costs are no shares, there is nothing to explain.
func (r *Result) shareOnly() {
	if r.Per != PerShare {
		return
	}
	alpha := r.Alpha / float64(max(r.Tests, 1))
	explained := func(d *Difference, factor float64) bool {
		left := abs(d.New - factor*d.Base)
		return (d.Diff < 0) == (factor < 1) && d.Base > 0 && d.New > 0 && left <= mostLeft*abs(d.Diff) &&
			left <= max(quantile(alpha, d.freedom)*d.deviation, r.MinEffect*r.Base.Total)
	}
	fewest := -1
	for _, factor := range r.factors() {
		left := 0
		for i := range r.Functions {
			f := &r.Functions[i]
			if d := &f.Self; d.Significant && f.Verdict != Moved && !explained(d, factor) {
				left++
			}
		}
		if fewest < 0 || left < fewest {
			fewest, r.CommonFactor = left, factor
		}
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		if f.Verdict != More && f.Verdict != Less {
			continue
		}
		for _, d := range []*Difference{&f.Self, &f.Cum} {
			d.ShareOnly = d.Significant && explained(d, r.CommonFactor)
		}
		f.Verdict = f.verdict()
		if f.Verdict == Noise {
			f.Verdict = ShareOnly
		}
	}
}
