package count

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"kprof/perfevent/procfs"
)

// exits waits for the end of tasks: of processes by their pidfds, of threads by a
// look at /proc, since pidfds of threads are younger than most kernels. (Counters
// without a ring always poll as if their task had gone, kernel/events/core.c,
// perf_poll.)
type exits struct {
	pids   []*os.File // pidfds
	tids   []int
	wake   int // eventfd that ends the wait
	gone   chan struct{}
	ending sync.WaitGroup
}

// lookInterval is how often threads are looked at, in milliseconds.
const lookInterval = 50

func watchExits(t *Target) (_ *exits, err error) {
	x := &exits{tids: t.TIDs, gone: make(chan struct{})}
	if x.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("wait for tasks: %w", err)
	}
	for _, id := range t.PIDs {
		pid, err := procfs.ProcessOf(os.DirFS("/proc"), id) // of a thread too, which has no pidfd
		fd := -1
		if err == nil {
			fd, err = unix.PidfdOpen(pid, 0)
		}
		switch {
		case err == nil:
			x.pids = append(x.pids, os.NewFile(uintptr(fd), "pidfd"))
		case errors.Is(err, unix.ENOSYS): // before Linux 5.3
			x.tids = append(x.tids[:len(x.tids):len(x.tids)], pid)
		case !errors.Is(err, unix.ESRCH):
			x.close()
			return nil, fmt.Errorf("wait for process %d: %w", id, err)
		}
	}
	x.ending.Go(x.watch)
	return x, nil
}

// watch closes gone when no task is left.
func (x *exits) watch() {
	left := make([]unix.PollFd, 1, 1+len(x.pids))
	left[0] = unix.PollFd{Fd: int32(x.wake), Events: unix.POLLIN}
	for _, f := range x.pids {
		left = append(left, unix.PollFd{Fd: int32(f.Fd()), Events: unix.POLLIN})
	}
	tids := x.tids
	for {
		var running []int
		for _, tid := range tids {
			if runs(tid) {
				running = append(running, tid)
			}
		}
		tids = running
		if len(left) == 1 && len(tids) == 0 {
			close(x.gone)
			return
		}
		timeout := -1
		if len(tids) > 0 {
			timeout = lookInterval
		}
		if _, err := unix.Poll(left, timeout); err != nil && !errors.Is(err, unix.EINTR) {
			return // what is left ends with the session
		}
		if left[0].Revents != 0 {
			return
		}
		for i := len(left) - 1; i > 0; i-- {
			if left[i].Revents != 0 {
				left = append(left[:i], left[i+1:]...)
			}
		}
	}
}

// runs reports whether a thread is there and has not exited.
func runs(tid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tid)) // PID (COMM) STATE …
	if err != nil {
		return false
	}
	i := bytes.LastIndexByte(b, ')')
	return i < 0 || i+2 >= len(b) || b[i+2] != 'Z' && b[i+2] != 'X'
}

func (x *exits) close() {
	one := [8]byte{1}
	_, _ = unix.Write(x.wake, one[:]) // fails only when it is written to already
	x.ending.Wait()
	_ = unix.Close(x.wake)
	for _, f := range x.pids {
		f.Close()
	}
}

// Exited is closed when none of the target's processes and threads is left; it is nil,
// which blocks, for other targets and for commands that wait for their exec.
func (s *Session) Exited() <-chan struct{} {
	if s.exits == nil {
		return nil
	}
	return s.exits.gone
}
