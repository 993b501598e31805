package perfevent

import (
	"errors"
	"os"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/tracefs"
)

// TestLiveCountsOnly: one tracepoint can be counted and not sampled, which is no matter of
// rights.
func TestLiveCountsOnly(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	e := tracepointEvent(t, tracefs.Event{System: "irq_vectors", Name: "irq_work_exit"})
	e.Attr.SampleType = abi.SampleIP
	c, err := Open(&e, Where{CPU: AnyCPU})
	if !errors.Is(err, ErrNotSupported) || errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "counted only") {
		t.Errorf("%v, %v", c, err)
	}
	e.Attr.SamplePeriod = 0
	if c, err = Open(&e, Where{CPU: AnyCPU}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
