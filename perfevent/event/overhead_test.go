//go:build linux

package event

import (
	"testing"

	"kprof/perfevent/livetest"
)

// TestOverheadOfProbe: ProbeOverhead fails when the kernel has not counted each hit. On a busy
// machine it may be that no hit seems to cost anything.
func TestOverheadOfProbe(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.PMU("uprobe"))
	kernelToo := livetest.PMU("kprobe")() == ""
	for _, user := range []bool{true, false} {
		if !user && !kernelToo {
			continue
		}
		for _, via := range []ProbeVia{ProbePMU, ProbeTracefs} {
			cost, err := ProbeOverhead(user, via, 2)
			if err != nil || cost < 0 {
				t.Errorf("user %v via %d: %v, %v", user, via, cost, err)
			}
			t.Logf("user %v via %d: %v", user, via, cost)
		}
	}
	if left := leftProbes(t); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}
