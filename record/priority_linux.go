package record

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
)

// drainNice is the nice value of the thread that drains, where it may not be real-time.
const drainNice = -10

// drainPriority is its real-time priority: the lowest, which is before all threads that
// have none.
const drainPriority = 1

// unhurried reports whether the rings cannot fill within seconds: all events sample at a low
// frequency, and the caller lets them be drained rarely. Such a recording goes on for days, and a
// goroutine that is tied to a thread is half of what it costs: each time the kernel wakes it, Go's
// scheduler takes it for one that has run for too long, and hands all over to another thread and
// back.
func (s *Session) unhurried() bool {
	for _, e := range s.events {
		if e.Attr.Flags&abi.FlagFreq == 0 {
			return false
		}
	}
	return s.rate() <= 100*sampleSize && s.opts.DrainInterval >= 200*time.Millisecond
}

// raisePriority ties the caller to its thread and raises the thread's priority as far as
// that is permitted: a ring of 8 MiB can fill in a tenth of a second, and on a busy
// machine a thread like any other may have to wait for longer. Real-time it runs as soon as
// a ring wakes it; the kernel sees to it that others get a twentieth of the CPU's time
// (kernel.sched_rt_runtime_us). What it starts, threads included, is not real-time
// (SCHED_FLAG_RESET_ON_FORK). The function that it returns undoes all.
func raisePriority() (restore func()) {
	runtime.LockOSThread()
	was, err := unix.SchedGetAttr(0, 0)
	if err != nil || was.Policy != unix.SCHED_NORMAL {
		return runtime.UnlockOSThread // somebody chose how we run
	}
	realTime := unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: drainPriority,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK,
	}
	nice := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: drainNice, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if unix.SchedSetAttr(0, &realTime, 0) != nil && unix.SchedSetAttr(0, &nice, 0) != nil {
		return runtime.UnlockOSThread
	}
	return func() {
		was.Flags |= unix.SCHED_FLAG_RESET_ON_FORK // to take that off wants a right that we gave up
		if unix.SchedSetAttr(0, was, 0) == nil {
			runtime.UnlockOSThread()
		}
		// Else the thread ends with the goroutine.
	}
}
