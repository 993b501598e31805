package live_test

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"kprof/convert"
	"kprof/convert/live"
	"kprof/perfevent"
	"kprof/perfevent/event"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/livetest"
	"kprof/record"
	"kprof/record/capture"
)

// TestLiveLeavesNothing: what a recording began ends with it, also where it is given up before it
// runs.
func TestLiveLeavesNothing(t *testing.T) {
	livetest.Require(t, livetest.Root)
	specs, err := event.ParseSpecs("cpu-clock")
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := expr.Parse("nosuchfield == 1")
	if err != nil {
		t.Fatal(err)
	}
	ro := record.Options{Specs: specs, UserCallers: perfevent.CopiedStacks, Target: record.Target{PIDs: []int{os.Getpid()}}}
	_, _, err = live.Record(t.Context(), ro, convert.Options{Selection: convert.Selection{Where: wrong}})
	if err == nil || !strings.Contains(err.Error(), "nosuchfield") {
		t.Errorf("a condition on a field that no event has: %v", err)
	}
	c, err := capture.Open(t.Context(), ro, capture.Options{Files: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	left := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		all := make([]byte, 1<<20)
		left = string(all[:runtime.Stack(all, true)])
		if !strings.Contains(left, "created by kprof/record") && !strings.Contains(left, "created by kprof/convert") {
			return
		}
	}
	t.Errorf("goroutines are left: %s", left)
}
