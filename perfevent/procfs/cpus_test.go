package procfs

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/memtest"
)

func TestParseCPUs(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "0-3,8": {0, 1, 2, 3, 8}, "5,1-2,2": {1, 2, 5}} {
		got, err := ParseCPUs(list)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", list, got, err, want)
		}
	}
	for _, list := range []string{"", "a", "3-1", "-1", "1-", "0-99999999", "1,,2"} {
		if got, err := ParseCPUs(list); err == nil {
			t.Errorf("%q: %v", list, got)
		}
	}
	if got := FormatCPUs([]int{0, 1, 2, 5, 7, 8}); got != "0-2,5,7-8" {
		t.Error(got)
	}
}

func FuzzParseCPUs(f *testing.F) {
	f.Add("0-3,8")
	f.Add("0-65535,0-65535")
	f.Add("7,1-2,2")
	f.Fuzz(func(t *testing.T, list string) {
		defer memtest.Within(t, 2<<20+10*len(list))()
		cpus, err := ParseCPUs(list)
		if err != nil {
			return
		}
		if len(cpus) == 0 || !slices.IsSorted(cpus) || cpus[0] < 0 || cpus[len(cpus)-1] >= MaxCPU {
			t.Fatalf("%q: %v", list, cpus)
		}
		again, err := ParseCPUs(FormatCPUs(cpus))
		if err != nil || !slices.Equal(cpus, again) || len(slices.Compact(again)) != len(cpus) {
			t.Errorf("%q: %v, written and read again %v, %v", list, cpus, again, err)
		}
	})
}
