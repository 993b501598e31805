//go:build linux

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprof/convert/stacks/stackstest"
	"kprof/perfevent/livetest"
)

// TestLivePlainSleep: a plain user's recording of a program that only sleeps has the time
// that it slept, without a single sample.
func TestLivePlainSleep(t *testing.T) {
	livetest.Require(t, livetest.Root)
	livetest.RequirePrograms(t, "gcc")
	p := newPlainUser(t)
	setKernel(t, "perf_event_paranoid", 2)
	program := filepath.Join(p.dir, "nap")
	if out, err := exec.Command("gcc", "-O1", "-static", "-nostdlib", "-o", program, "testdata/nap.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	said, err := p.record("-e off-cpu -- ./nap")
	if err != nil || strings.Contains(said, "no sample") {
		t.Fatalf("%v: %s", err, said)
	}
	profile := filepath.Join(t.TempDir(), "o.pb.gz")
	runKprof(t, "convert", "-q", "-o", profile, filepath.Join(p.dir, "perf.data"))
	sum := int64(0)
	for _, s := range stackstest.ReadPprof(t, profile).Sample {
		if strings.Contains(strings.Join(s.Label["comm"], ""), "nap") {
			sum += s.Value[len(s.Value)-1]
		}
	}
	if sum < 290e6 || sum > 10e9 {
		t.Errorf("%d ns off the CPU, of 300 ms asleep:\n%s", sum, said)
	}
}
