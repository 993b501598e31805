//go:build linux

package count

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"kprof/perfevent/livetest"
)

// TestUprobeOfSiblings: a process that ends does not take a probe out of others.
func TestUprobeOfSiblings(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.PMU("uprobe"), livetest.Program("gcc"), livetest.Program("sh"))
	program := filepath.Join(t.TempDir(), "siblings")
	livetest.Run(t, "gcc", "-O1", "-o", program, "../event/testdata/siblings.c")
	c := exec.Command("sh", "-c", `read go; exec "$0" 40`, program)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{Groups: groups(t, "uprobe:"+program+":hit"), Target: Target{PIDs: []int{c.Process.Pid}}})
	got := totals(t, s, func() {
		_, err := in.Write([]byte("\n"))
		if err := errors.Join(err, c.Wait()); err != nil {
			t.Fatal(err)
		}
	})
	wantHits(t, "hit", got[0], 20_000)
}
