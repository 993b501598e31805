package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestManyWords: of functions whose names have too many words to hold each against each, as
// those of C++ may, it is those that cost most that are looked at.
func TestManyWords(t *testing.T) {
	var base, new strings.Builder
	long := func(i int) string {
		var name strings.Builder
		for j := range 60 {
			fmt.Fprintf(&name, "t%d<", (i*61+j*j)%997)
		}
		return name.String()
	}
	for i := range 200 {
		fmt.Fprintf(&base, "m;g%d;%swent%d %d\n", i, long(i), i, 1000-i)
		fmt.Fprintf(&new, "m;h%d;%scame%d %d\n", i, long(1000+i), i, 1000-i)
	}
	for _, cost := range []int{2000, 500} {
		fmt.Fprintf(&base, "m;g;do_mas_munmap%d %d\n", cost, cost)
		fmt.Fprintf(&new, "m;g;do_vmi_munmap%d %d\n", cost, cost)
	}
	got := pairsOf(compareLines(t, base.String(), new.String(), Defaults))
	if !slices.Contains(got, "do_mas_munmap2000 do_vmi_munmap2000 renamed") || slices.Contains(got, "do_mas_munmap500 do_vmi_munmap500 renamed") {
		t.Errorf("pairs: %v", got)
	}
}
