//go:build linux

package main

import (
	"os"
	"strings"
	"testing"
)

// TestFrequency: max is what the kernel's setting says, which the kernel may lower at any time.
func TestFrequency(t *testing.T) {
	setting := func() string {
		t.Helper()
		s, err := os.ReadFile("/proc/sys/kernel/perf_event_max_sample_rate")
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(s))
	}
	for {
		before := setting()
		var f frequency
		if err := f.Set("max"); err != nil {
			t.Fatal(err)
		}
		if setting() != before {
			continue
		}
		if f.String() != before {
			t.Errorf("-F max: %s, want %s", f.String(), before)
		}
		break
	}
	for text, want := range map[string]string{"99": "99", "0": ""} {
		var f frequency
		if err := f.Set(text); err != nil || f.String() != want {
			t.Errorf("-F %s: %q, %v, want %q", text, f.String(), err, want)
		}
	}
	for _, text := range []string{"", "maximum", "-1", "99.5", "4k"} {
		f := frequency(7)
		if err := f.Set(text); err != errFrequency || f != 7 {
			t.Errorf("-F %q: %d, %v", text, f, err)
		}
	}
}
