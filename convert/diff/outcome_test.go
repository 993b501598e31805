package diff

import (
	"slices"
	"testing"
)

// TestLimitBelowMinEffect: what was not looked for is not within a limit. All of f is below half the
// minimum effect, so that it is not tested.
func TestLimitBelowMinEffect(t *testing.T) {
	const base, new = "main;f 1000\nmain;g 999000\n", "main;f 40000\nmain;g 999000\n"
	for effect, want := range map[float64]Outcome{0.0025: Changed, 0.05: Inconclusive, 10: Inconclusive} {
		o := Defaults
		o.MinEffect = effect
		r := compareLines(t, base, new, o)
		if j := r.Judge(0.03); j.Outcome != want || slices.Contains(j.Doubts, BelowEffect) != (want == Inconclusive) {
			t.Errorf("minimum effect %v: %v, %v", effect, j.Outcome, j.Doubts)
		}
	}
	o := Defaults
	o.MinEffect = 0.05
	if j := compareLines(t, base, "main;f 1001\nmain;g 999000\n", o).Judge(0.05); j.Outcome != Unchanged {
		t.Errorf("a limit that was looked for: %v, %v", j.Outcome, j.Doubts)
	}
}
