//go:build linux

package count

import (
	"os"
	"runtime"
	"strings"
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

// TestLiveAboutOthers: of what the kernel counts for a task that others do something to, only
// counters of single CPUs have all, and those of tasks alone say that they have not.
func TestLiveAboutOthers(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	self := Target{PIDs: []int{os.Getpid()}}
	for _, test := range []struct {
		opts Options
		want bool
	}{
		{Options{Target: self}, true},
		{Options{Target: self, PerCPU: true}, false},
		{Options{Target: Target{AllCPUs: true}}, false},
	} {
		test.opts.Groups = groups(t, "sched:sched_waking", "sched:sched_switch")
		notes := open(t, test.opts).Notes()
		told := len(notes) == 1 && strings.HasPrefix(notes[0], "sched:sched_waking: what these tasks do themselves is counted")
		if told != test.want || len(notes) > 1 {
			t.Errorf("%+v: %q", test.opts, notes)
		}
	}
}
