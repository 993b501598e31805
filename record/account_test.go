package record

import (
	"regexp"
	"strconv"
	"testing"
)

// TestAccount: the terms of a probe in tracefs add up to its hits, whichever there are.
func TestAccount(t *testing.T) {
	for _, e := range []EventStats{
		{Name: "k", MissedKnown: true, LostKnown: true, Hits: 10, Samples: 7, Lost: 3, Missed: 2, Kernel: KernelHits{Hits: 15, Filtered: 5, Before: 1}},
		{Name: "k", MissedKnown: true, LostKnown: true, Hits: 10, Samples: 5, Lost: 3, Kernel: KernelHits{Hits: 10}},
		{Name: "k", MissedKnown: true, Hits: 10, Samples: 7, Missed: 1, Kernel: KernelHits{Hits: 12, Filtered: 2}},
	} {
		m := regexp.MustCompile(`^k: (\d+) kernel hits = (\d+) samples((?: \+ \d+ [a-z, ]+)*)(; 1 of the filtered ones before sampling began)?$`).FindStringSubmatch(e.Account())
		if m == nil {
			t.Fatalf("%+v: %s", e, e.Account())
		}
		number := func(s string) uint64 {
			n, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		sum := number(m[2])
		for _, term := range regexp.MustCompile(`\d+`).FindAllString(m[3], -1) {
			sum += number(term)
		}
		if sum != number(m[1]) || number(m[1]) != e.Kernel.Hits+e.Missed || (m[4] != "") != (e.Kernel.Before > 0) {
			t.Errorf("%+v: %s", e, e.Account())
		}
	}
	pmu := EventStats{Name: "u", Probe: true, Hits: 3, Samples: 2, Lost: 1, LostKnown: true}
	if got, want := pmu.Account(), "u: 3 hits, 2 samples, 1 lost, misses unknown"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	pmu.LostKnown = false
	if got, want := pmu.Account(), "u: 3 hits, 2 samples, unknown lost, misses unknown"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
