//go:build linux

package count

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
	"kprof/perfevent/procfs"
)

// TestLiveTaskOnCPUs has a thread run on one CPU after the other: each counts what happened
// on it, and nothing takes turns.
func TestLiveTaskOnCPUs(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &all)
	online, err := procfs.ReadCPUs(sysfs, procfs.CPUsOnline)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{Groups: groups(t, getppid, "{"+getppid+",cs}"), Target: Target{TIDs: []int{unix.Gettid()}}, PerCPU: true})
	if err := s.Enable(); err != nil {
		t.Fatal(err)
	}
	on := map[int]uint64{}
	for _, cpu := range online {
		var one unix.CPUSet
		one.Set(cpu)
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			continue // which is not this process's to use
		}
		on[cpu] = hits
		callGetppid()
		for until := time.Now().Add(30 * time.Millisecond); time.Now().Before(until); {
		}
	}
	if err := s.Disable(); err != nil {
		t.Fatal(err)
	}
	readings, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range readings {
		var total Total
		total.Add(r)
		if s.Events()[r.Event].Name == getppid && total.Value != on[r.CPU] || r.Running < r.Enabled {
			t.Errorf("cpu %d: %s %+v of %+v, want %d", r.CPU, s.Events()[r.Event].Name, total, r, on[r.CPU])
		}
	}
}
