package diff

import (
	"fmt"
	"math"
	"strings"
	"testing"
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
		if got := r.Profile(r.Scale()).Totals(0)[0]; got != 0 {
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
