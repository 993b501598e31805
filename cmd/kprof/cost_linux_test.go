//go:build linux

package main

import (
	"regexp"
	"testing"
	"time"
)

// TestCost: what is told of the recorder is of the time since its start, and what the kernel
// says.
func TestCost(t *testing.T) {
	if got, want := costText(3*time.Millisecond, time.Second, 24<<20), "the recorder took 0.3% of one CPU, and at most 24.0 MiB of memory"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c := startCost()
	before, _ := used()
	for cpu := before; cpu-before < 20*time.Millisecond; cpu, _ = used() {
	}
	time.Sleep(20 * time.Millisecond)
	m := regexp.MustCompile(`took ([0-9.]+)% .* ([0-9.]+) [KMG]iB`).FindStringSubmatch(c.String())
	if m == nil || m[1] == "0.0" {
		t.Errorf("%v", c)
	}
}
