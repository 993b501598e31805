package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// waiter waits for any of the rings, for the end of the context, and for
// targets that hang up.
type waiter struct {
	epoll  int
	wakefd int           // written to when the context is done
	stop   func() bool   // of the function that writes there
	wrote  chan struct{} // closed when it has run
	left   int           // targets that have not hung up
	events [64]unix.EpollEvent
}

// Tags in the data of epoll events.
const (
	tagRing = -1
	tagWake = -2
)

func newWaiter(ctx context.Context, s *Session) (_ *waiter, err error) {
	w := &waiter{epoll: -1, wakefd: -1, left: len(s.hangups)}
	defer func() {
		if err != nil {
			err = fmt.Errorf("wait for rings: %w", errors.Join(err, w.close()))
		}
	}()
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if w.wakefd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, err
	}
	if err := w.add(w.wakefd, tagWake); err != nil {
		return nil, err
	}
	for _, r := range s.rings {
		if err := w.add(r.owner.FD(), tagRing); err != nil {
			return nil, err
		}
	}
	// A counter that writes into a ring polls as the ring does, and whoever
	// polls first takes the ring's readiness away (kernel/events/core.c,
	// perf_poll): so these must ask for EPOLLIN too.
	for _, c := range s.hangups {
		if err := w.add(c.FD(), c.FD()); err != nil {
			return nil, err
		}
	}
	w.wrote = make(chan struct{})
	w.stop = context.AfterFunc(ctx, func() {
		defer close(w.wrote)
		one := [8]byte{1}
		// The only way to fail is that the counter is at its end: it is
		// readable then.
		_, _ = unix.Write(w.wakefd, one[:])
	})
	return w, nil
}

func (w *waiter) add(fd, tag int) error {
	return unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(tag)})
}

// wait returns when a ring has reached its watermark, timeout has passed, or it
// is over: the context is done, or no target is left.
func (w *waiter) wait(timeout time.Duration) (over bool, err error) {
	n, err := unix.EpollWait(w.epoll, w.events[:], int(timeout.Milliseconds()))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return true, fmt.Errorf("wait for rings: %w", err)
	}
	for i := range max(n, 0) {
		ev := &w.events[i]
		if ev.Fd == tagWake {
			over = true
		}
		if ev.Fd >= 0 && ev.Events&unix.EPOLLHUP != 0 {
			if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_DEL, int(ev.Fd), nil); err != nil {
				return true, fmt.Errorf("wait for rings: %w", err)
			}
			w.left--
			over = over || w.left == 0
		}
	}
	return over, nil
}

func (w *waiter) close() error {
	if w.stop != nil && !w.stop() {
		<-w.wrote // it must not write to a file that is somebody else's by then
	}
	var errs []error
	for _, fd := range []int{w.epoll, w.wakefd} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}
