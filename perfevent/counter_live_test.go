//go:build linux

package perfevent

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/tracefs"
)

func TestWhere(t *testing.T) {
	livetest.Table(t, Where.String, map[Where]string{
		{}:                               "the calling thread on cpu 0",
		{CPU: AnyCPU}:                    "the calling thread",
		{PID: 7, CPU: AnyCPU}:            "task 7",
		{PID: AllTasks, CPU: 3}:          "all tasks on cpu 3",
		{PID: AllTasks, CPU: AnyCPU - 1}: "all tasks on cpu -2",
	})
}

// TestCountAttr: who of a group waits to be enabled, and what is read.
func TestCountAttr(t *testing.T) {
	const times = abi.ReadTotalTimeEnabled | abi.ReadTotalTimeRunning
	for _, tt := range []struct {
		e     Event
		c     Counting
		flags abi.Flags
		read  abi.ReadFormat
	}{
		{Event{}, Counting{}, abi.FlagDisabled, times},
		{Event{}, Counting{Inherit: true, EnableOnExec: true}, abi.FlagDisabled | abi.FlagInherit | abi.FlagEnableOnExec, times},
		{Event{NotInherited: true}, Counting{Inherit: true}, abi.FlagDisabled, times},
		{Event{}, Counting{EnableOnExec: true, Leader: true}, abi.FlagDisabled | abi.FlagEnableOnExec, times | abi.ReadGroup},
		{Event{}, Counting{Inherit: true, EnableOnExec: true, Member: true}, abi.FlagInherit, times | abi.ReadGroup},
	} {
		tt.e.Attr.SamplePeriod = 4000
		tt.e.Count(tt.c)
		if a := &tt.e.Attr; a.Flags != tt.flags || a.ReadFormat != tt.read || a.SamplePeriod != 0 {
			t.Errorf("%+v: flags %#x, read format %#x, period %d; want %#x, %#x, 0", tt.c, a.Flags, a.ReadFormat, a.SamplePeriod, tt.flags, tt.read)
		}
	}
}

// TestLiveGroup counts two tracepoints together, whose hits are known.
func TestLiveGroup(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var counters []*Counter
	for i, name := range []string{"sys_enter_getppid", "sys_enter_getpgid"} {
		e := tracepointEvent(t, tracefs.Event{System: "syscalls", Name: name})
		e.Count(Counting{Leader: i == 0, Member: i > 0})
		var leader *Counter
		if i > 0 {
			leader = counters[0]
		}
		c, err := OpenInGroup(&e, Where{CPU: AnyCPU}, leader)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if c.FD() < 0 || c.Where() != (Where{CPU: AnyCPU}) {
			t.Errorf("descriptor %d, %v", c.FD(), c.Where())
		}
		counters = append(counters, c)
	}
	if err := counters[0].Enable(); err != nil {
		t.Fatal(err)
	}
	for range hits {
		unix.Getppid()
		_, _ = unix.Getpgid(0)
		_, _ = unix.Getpgid(0)
	}
	for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
		// An emulator's clock may go on with the kernel's ticks alone, 10 ms apart.
	}
	if err := counters[0].Disable(); err != nil {
		t.Fatal(err)
	}
	got, err := counters[0].ReadGroup(1)
	if err != nil || got[0].Value != hits || got[1].Value != 2*hits {
		t.Fatalf("%+v, %v", got, err)
	}
	if got[0].Enabled == 0 || got[0].Enabled != got[0].Running || got[1].Enabled != got[0].Enabled {
		t.Errorf("times of a group: %+v", got)
	}
	for _, others := range []int{0, 2} {
		if got, err := counters[0].ReadGroup(others); err == nil {
			t.Errorf("of %d others: %+v", others, got)
		}
	}
	c := counters[1]
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	for what, err := range map[string]error{"enable": c.Enable(), "disable": c.Disable(), "redirect": c.SetOutput(counters[0]), "filter": c.SetFilter("pid > 0")} {
		if !errors.Is(err, unix.EBADF) || !strings.HasPrefix(err.Error(), what+" event syscalls:sys_enter_getpgid on the calling thread: ") {
			t.Errorf("%s a counter that is closed: %v", what, err)
		}
	}
	if _, err := c.Read(); !errors.Is(err, unix.EBADF) {
		t.Errorf("read a counter that is closed: %v", err)
	}
}

// TestLiveFilter: what does not match is not counted, and a bad filter is EINVAL.
func TestLiveFilter(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e := tracepointEvent(t, tracefs.Event{System: "syscalls", Name: "sys_enter_getpgid"})
	e.Configure(Sampling{})
	c, err := Open(&e, Where{CPU: AnyCPU})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, bad := range []string{"nosuch > 1", "(pid > 1", "pid > 1)", `pid == "a`, "pid\x00"} {
		if err := c.SetFilter(bad); !errors.Is(err, unix.EINVAL) {
			t.Errorf("filter %q: %v", bad, err)
		}
	}
	if err := c.SetFilter("pid == 1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Enable(); err != nil {
		t.Fatal(err)
	}
	for range hits {
		_, _ = unix.Getpgid(0)
		_, _ = unix.Getpgid(1)
		_, _ = unix.Getpgid(2)
	}
	if n, err := c.Read(); err != nil || n.Value != hits {
		t.Errorf("%+v, %v; want %d", n, err, hits)
	}
}
