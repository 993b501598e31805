//go:build linux

package perfevent

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/tracefs"
)

// tracepointEvent is an event of a tracepoint, counted hit by hit.
func tracepointEvent(t *testing.T, tp tracefs.Event) Event {
	t.Helper()
	fs := livetest.TracefsMounted(t)
	id, err := fs.ID(tp)
	if err != nil {
		t.Fatal(err)
	}
	return Event{Name: tp.String(), Class: ClassTracepoint, Attr: abi.Attr{Type: abi.TypeTracepoint, Config: id, SamplePeriod: 1}}
}

// count opens e on the calling thread and returns what f made of it.
func count(t *testing.T, e Event, f func()) Count {
	t.Helper()
	return livetest.Count(t, func() (*Counter, error) { return Open(&e, Where{CPU: AnyCPU}) }, f)
}

const hits = 100

// TestLiveLost counts the same whatever else the kernel is asked to count.
func TestLiveLost(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	for _, lost := range []bool{false, true} {
		e := tracepointEvent(t, tracefs.Event{System: "syscalls", Name: "sys_enter_getppid"})
		e.Configure(Sampling{Callchain: true, ReadLost: lost})
		n := count(t, e, func() {
			for range hits {
				unix.Getppid()
			}
		})
		if n.Value != hits {
			t.Errorf("PERF_FORMAT_LOST %v: %d hits, want %d", lost, n.Value, hits)
		}
	}
}

func TestLiveFeatures(t *testing.T) {
	livetest.Require(t, livetest.Root)
	f, err := ProbeFeatures()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", f)
	e := Sideband(f, false)
	c, err := Open(&e, Where{PID: AllTasks})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
}
