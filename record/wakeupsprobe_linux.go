package record

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
)

// closeLater closes a counter of a tracepoint while we go on: where it is the last one, the kernel
// waits for an RCU grace period (tracepoint_synchronize_unregister), some tens of ms.
func (s *Session) closeLater(c *perfevent.Counter) {
	s.closing.Go(func() { _ = c.Close() }) // it was only tried
}

// deliversWakeups finds out whether the kernel samples a hit of sched:sched_waking for a task that
// is woken by another one, as kernels do but the stable ones of 2026 (kernel/events/core.c,
// perf_tp_event, which hands it to counters of that task, and perf_swevent_event, which writes
// nothing for one that is not active): it wakes a thread of ours some times, and compares what is counted with
// what is sampled. Where that cannot be found out it takes the kernel to do so.
func (s *Session) deliversWakeups() bool {
	counted, sampled, err := s.wakeSleeper()
	return err != nil || sampled >= counted
}

// SamplesWakeups reports whether the kernel samples a hit of sched:sched_waking and its like for the task
// that is woken by another one. Where it does not, sessions record each hit on all CPUs instead where they
// may, and with a period or a frequency they say that such hits are missing.
func SamplesWakeups() (bool, error) {
	s := &Session{}
	counted, sampled, err := s.wakeSleeper()
	s.closing.Wait()
	return sampled >= counted, err
}

// wakeSleeper has a thread wake another one that sleeps, and returns how many such hits the other one's
// counter has, and how many samples. (A hit while that is still on its way to sleep is sampled by any
// kernel.) The counter is of one CPU, as ours are and as the kernel looks for them, and so is the thread
// that wakes.
func (s *Session) wakeSleeper() (counted, sampled uint64, err error) {
	const times, most = 3, 10
	specs, err := event.ParseSpecs("sched:sched_waking")
	if err != nil {
		return 0, 0, err
	}
	found, err := s.resolver.Resolve(specs[0])
	if err != nil {
		return 0, 0, err
	}
	e := &found[0]
	e.Attr.SamplePeriod, e.Attr.SampleType, e.Attr.Flags = 1, abi.SampleIdentifier, e.Attr.Flags|abi.FlagDisabled
	sleeper, waker := startThread(), startThread()
	defer sleeper.stop()
	defer waker.stop()
	tid, cpu := 0, 0
	_ = sleeper.run(func() error { tid = unix.Gettid(); return nil })
	if err := waker.run(func() (err error) { cpu, err = stayOnCPU(); return err }); err != nil {
		return 0, 0, err
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, unix.Close(bell)) }()
	c, err := s.openOne(e, perfevent.Where{PID: tid, CPU: cpu})
	if err != nil {
		return 0, 0, err
	}
	defer s.closeLater(c)
	ring, err := perfevent.MapRing(c, os.Getpagesize())
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, ring.Close()) }()
	if err := c.Enable(); err != nil {
		return 0, 0, err
	}
	for asleep, try := 0, 0; asleep < times && try < most; try++ {
		begun, woke := make(chan struct{}), make(chan error, 1)
		sleeper.work <- func() {
			var got [8]byte
			close(begun)
			_, err := unix.Read(bell, got[:])
			woke <- err
		}
		<-begun
		if waitAsleep(tid) {
			asleep++
		}
		one := [8]byte{1}
		if err := waker.run(func() error { _, err := unix.Write(bell, one[:]); return err }); err != nil {
			return 0, 0, err
		}
		if err := <-woke; err != nil {
			return 0, 0, err
		}
	}
	n, err := c.Read()
	if err != nil {
		return 0, 0, err
	}
	var whole []byte
	a, b := ring.Peek()
	eachRecord(a, b, &whole, func(rec []byte, _ int) {
		if abi.RecordType(abi.LittleEndian.Uint32(rec)) == abi.RecordSample {
			sampled++
		}
	})
	return n.Value, sampled, nil
}

// stayOnCPU has the calling thread stay on one of the CPUs that it may run on.
func stayOnCPU() (cpu int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0, err
	}
	for !set.IsSet(cpu) {
		cpu++
	}
	set.Zero()
	set.Set(cpu)
	return cpu, unix.SchedSetaffinity(0, &set)
}

// waitAsleep waits until a thread of ours sleeps, but not for long, and reports whether it does.
func waitAsleep(tid int) bool {
	const wait, most = 50 * time.Microsecond, 10 * time.Millisecond
	for start := time.Now(); time.Since(start) < most; {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", tid))
		time.Sleep(wait) // it says so before it is off its CPU
		if _, after, _ := strings.Cut(string(stat), ") "); err == nil && strings.HasPrefix(after, "S") {
			return true
		}
	}
	return false
}
