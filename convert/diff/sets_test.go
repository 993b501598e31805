package diff

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"kprof/convert/stacks"
)

// TestScaled: of a base that is longer, all stacks together, and those below a function, have as
// much as the shares say, however few samples each has.
func TestScaled(t *testing.T) {
	for _, n := range []int{500, 490, 1500} {
		var base, new strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&base, "main;f%d;g%d 1\n", i%4, i)
		}
		for i := range n {
			fmt.Fprintf(&new, "main;f%d;h%d 1\n", i%4, i)
		}
		r := compareLines(t, base.String(), new.String(), Defaults)
		both := r.Both()
		if got := both.Totals(0); got[0] != int64(n) || got[1] != int64(n) {
			t.Errorf("%d: new and base are %d in all", n, got)
		}
		first, second := r.Means()
		if got := Negated(first, second, r.Scale()).Totals(0)[0]; got != 0 {
			t.Errorf("%d: both sides differ by %d", n, got)
		}
		below := map[string]int64{}
		for row := range both.NumSamples() {
			x := both.Sample(row)
			f := both.Functions[both.Lines(both.Stack(x.Stack)[1])[0].Function].Name
			below[f] += x.Values[1]
		}
		for f, v := range below {
			if want := float64(n) / 4; math.Abs(float64(v)-want) > 1 {
				t.Errorf("%d: %s has %d of the base, want %v", n, f, v, want)
			}
		}
	}
}

// TestMeans: in the profiles of groups, runs count as they do in the means that are compared, and
// not by how long they took. The shares of f and g are 90% and 10% of one run, 10% and 90% of one
// that is ten times as long, so 50% on average; and of costs per run (900+1000)/2 and (100+9000)/2.
func TestMeans(t *testing.T) {
	for per, want := range map[Per]map[string][2]float64{
		PerShare: {"f": {5500, 5500}, "g": {5500, 5500}},
		PerRun:   {"f": {1900, 5500}, "g": {9100, 5500}},
	} {
		o := Defaults
		o.Per = per
		r, err := Compare(
			[]Run{profile(t, "b1", "main;f 900\nmain;g 100"), profile(t, "b2", "main;f 1000\nmain;g 9000")},
			[]Run{profile(t, "n1", "main;f 500\nmain;g 500"), profile(t, "n2", "main;f 5000\nmain;g 5000")}, o)
		if err != nil {
			t.Fatal(err)
		}
		var sums [2]map[string]float64
		base, new := r.Means()
		for side, s := range []*stacks.Set{base, new} {
			sums[side] = map[string]float64{}
			for row := range s.NumSamples() {
				x := s.Sample(row)
				sums[side][s.Functions[s.Lines(s.Stack(x.Stack)[0])[0].Function].Name] += float64(x.Values[0])
			}
		}
		both := map[string]int64{}
		for s, row := r.Both(), 0; row < s.NumSamples(); row++ {
			x := s.Sample(row)
			both[s.Functions[s.Lines(s.Stack(x.Stack)[0])[0].Function].Name] += x.Values[1]
		}
		for name, w := range want {
			for side := range sums {
				if got := sums[side][name]; math.Abs(got-w[side]) > 1 {
					t.Errorf("per %v: %s has %v on side %d, want %v", per, name, got, side, w[side])
				}
			}
			if got, w := float64(both[name]), w[0]*r.Scale(); math.Abs(got-w) > 1 {
				t.Errorf("per %v: of both, %s has %v of the base, want %v", per, name, got, w)
			}
		}
		if base, _ := r.Sets(); base.Totals(0)[0] != 11000 {
			t.Errorf("per %v: what was recorded is %d", per, base.Totals(0)[0])
		}
	}
}

// TestTooLargeSums: the runs of a side are one sum in pictures, pages and pprof, which then has to fit.
func TestTooLargeSums(t *testing.T) {
	runs := func(a, b string) []Run {
		return []Run{profile(t, "one", "main;f 9000000000000000000\nmain;g 1"), profile(t, "two", "main;f "+a+"\nmain;g "+b)}
	}
	fits, above := runs("223372036854775805", "1"), runs("223372036854775805", "2")
	if r, err := Compare(fits, fits, Options{Force: true}); err != nil || r.Base.Value != math.MaxInt64 {
		t.Errorf("what fits: %v, %+v", err, r)
	}
	for _, sides := range [][2][]Run{{fits, above}, {above, fits}} {
		_, err := Compare(sides[0], sides[1], Options{Force: true})
		var sum *stacks.TooLargeSumError
		if !errors.As(err, &sum) || !strings.HasPrefix(err.Error(), "two: with the runs before it, the values of ") {
			t.Errorf("what does not: %v", err)
		}
	}
}
