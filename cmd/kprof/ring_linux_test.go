package main

import (
	"os"
	"testing"
)

// TestRingSize: a number alone is one of pages, as of perf record -m (parse_pages_arg in
// tools/perf/util/evlist.c).
func TestRingSize(t *testing.T) {
	for text, want := range map[string]int{"": 0, "1": os.Getpagesize(), "128": 128 * os.Getpagesize(), "128K": 128 << 10, "512b": 512, "1G": 1 << 30} {
		if got, err := parseRing(text); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "8388608", "99999999999999999999", "2G", "8T", "M"} {
		if got, err := parseRing(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}
