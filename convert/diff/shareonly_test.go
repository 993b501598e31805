package diff

import (
	"math"
	"slices"
	"testing"
)

// selfOf is functions of these shares on both sides, of which those that differ are significant.
func selfOf(shares ...[2]float64) *Result {
	r := &Result{Options: Defaults, Base: Side{Total: 1}, Tests: 1}
	for _, s := range shares {
		d := Difference{Base: s[0], New: s[1], Diff: s[1] - s[0], Significant: s[0] != s[1], freedom: math.Inf(1)}
		f := Function{Self: d, Cum: d}
		f.BaseCum, f.NewCum = int64(1e6*s[0]), int64(1e6*s[1])
		f.Verdict = f.verdict()
		r.Functions = append(r.Functions, f)
	}
	return r
}

// TestCommonFactor is the median of ratios, weighted by what both sides have.
func TestCommonFactor(t *testing.T) {
	shares := [][2]float64{{0.25, 0.20}, {0.15, 0.12}, {0.3, 0.3}, {0.1, 0.2}, {0, 0.18}, {0.2, 0}}
	// Ratios of 0.8, 0.8, 1 and 2 have 0.45, 0.27, 0.6 and 0.3 of 1.62.
	if got := selfOf(shares...).commonFactor(); !near(got, 1) {
		t.Errorf("%v, want 1", got)
	}
	shares[0] = [2]float64{0.5, 0.4} // now 0.9, 0.27, 0.6 and 0.3 of 2.07
	slices.Reverse(shares)
	if got := selfOf(shares...).commonFactor(); !near(got, 0.8) {
		t.Errorf("%v, want 0.8", got)
	}
	// What moved is no common factor, nor are three functions.
	r := selfOf([2]float64{0.5, 0.1}, [2]float64{0.2, 0.1}, [2]float64{0.2, 0.1}, [2]float64{0.01, 0.005}, [2]float64{0.02, 0.01})
	r.Functions[0].Verdict = Moved
	if got := r.commonFactor(); !near(got, 0.5) {
		t.Errorf("beside what moved: %v", got)
	}
	r.Functions[1].Verdict = Moved
	if got := r.commonFactor(); got != 1 {
		t.Errorf("of three: %v", got)
	}
}

// TestFactors: beside a function that grew from 0.2 to 0.6 there is half of what there was, and beside one
// that shrank from 0.5 to 0.25, half as much again.
func TestFactors(t *testing.T) {
	r := selfOf([2]float64{0.2, 0.6}, [2]float64{0.5, 0.25}, [2]float64{0.1, 0.1}, [2]float64{0.1, 0.1}, [2]float64{0.02, 0.02}, [2]float64{0.02, 0.02})
	for i := range r.Functions[2:] {
		r.Functions[2+i].Self.Significant = false
	}
	got := r.factors()
	slices.Sort(got[:2])
	if len(got) != 3 || !near(got[0], 0.4/0.8) || !near(got[2], 0.75/0.5) {
		t.Errorf("%v", got)
	}
	// One that explains what grew comes last, even where it is the common one.
	r = selfOf([2]float64{0.1, 0.12}, [2]float64{0.1, 0.12}, [2]float64{0.1, 0.12}, [2]float64{0.1, 0.12}, [2]float64{0.6, 0.52})
	if got = r.factors(); len(got) != 3 || got[0] >= 1 || got[1] > got[2] || !near(got[0], 0.52/0.6) {
		t.Errorf("%v", got)
	}
	// Beside all there is nothing.
	if got = selfOf([2]float64{1, 0.5}, [2]float64{0, 0.5}).factors(); len(got) != 2 || got[0] != 1 || !near(got[1], 0.5) {
		t.Errorf("%v", got)
	}
}

// TestShareOnlyOf: where something new has a fifth, four fifths are left of all others; of a function that
// has less than half of the change that this makes, or that did what it did not, more is left to explain.
func TestShareOnlyOf(t *testing.T) {
	shares := [][2]float64{{0, 0.2}, {0.3, 0.24}, {0.2, 0.16}, {0.2, 0.16}, {0.1, 0.08}, {0.1, 0.08}, {0.1, 0.08}}
	want := []Verdict{New, ShareOnly, ShareOnly, ShareOnly, ShareOnly, ShareOnly, ShareOnly}
	check := func(name string, r *Result, factor float64, want ...Verdict) {
		r.shareOnly()
		for i := range want {
			if got := r.Functions[i].Verdict; got != want[i] {
				t.Errorf("%s: function %d is %v, want %v", name, i, got, want[i])
			}
		}
		if !near(r.CommonFactor, factor) {
			t.Errorf("%s: factor %v, want %v", name, r.CommonFactor, factor)
		}
	}
	check("a fifth", selfOf(shares...), 0.8, want...)
	// 0.30 to 0.17: 0.24 was expected, and 0.07 of 0.13 is more than a half.
	r := selfOf(append([][2]float64{{0, 0.2}, {0.3, 0.17}, {0.2, 0.23}}, shares[3:]...)...)
	check("two that differ by themselves", r, 0.8, New, Less, More, ShareOnly, ShareOnly, ShareOnly, ShareOnly)
	// What is left must be chance, or below the minimum effect, 0.0025.
	for left, want := range map[float64]Verdict{0.0024: ShareOnly, 0.0026: Less} {
		r = selfOf(append([][2]float64{{0, 0.2}, {0.3, 0.24 - left}, {0.2, 0.16 + left}}, shares[3:]...)...)
		check("left", r, 0.8, New, want)
	}
	for deviation, want := range map[float64]Verdict{0.01: Less, 0.011: ShareOnly} { // 1.96 of these
		r = selfOf(append([][2]float64{{0, 0.2}, {0.3, 0.22}, {0.2, 0.18}}, shares[3:]...)...)
		f := &r.Functions[1]
		f.Self.deviation, f.Cum.deviation = deviation, deviation
		check("chance", r, 0.8, New, want)
	}
	r = selfOf(shares...)
	r.Per = PerSecond
	check("no shares", r, 0, New, Less, Less, Less, Less, Less, Less)
}
