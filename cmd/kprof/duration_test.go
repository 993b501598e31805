//go:build linux

package main

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10": 10 * time.Second, "0.5": 500 * time.Millisecond, "1.000000001": time.Second + 1, "1e-9": 1,
		"10s": 10 * time.Second, "500ms": 500 * time.Millisecond, "2m": 2 * time.Minute, "1m30s": 90 * time.Second,
	} {
		var d duration
		if err := d.Set(text); err != nil || time.Duration(d) != want {
			t.Errorf("-d %s: %v, %v, want %v", text, time.Duration(d), err, want)
		}
	}
	for _, text := range []string{"", "0", "0s", "1e-10", "ten", "-1", "-1s", "10 s", "1e300", "inf", "nan", "5x", "s"} {
		d := duration(time.Minute)
		if err := d.Set(text); err != errDuration || d != duration(time.Minute) {
			t.Errorf("-d %q: %v, %v", text, time.Duration(d), err)
		}
	}
}
