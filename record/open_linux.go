package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/event"
	"kprof/perfevent/procfs"
)

// checkTargets finds out early, and in plain words, that a target is not there.
func (s *Session) checkTargets() error {
	t := &s.opts.Target
	for _, pid := range t.PIDs {
		if _, err := procfs.ThreadsOf(os.DirFS("/proc"), pid); err != nil {
			return err
		}
	}
	for _, tid := range t.TIDs {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", tid)); err != nil {
			return fmt.Errorf("thread %d: %w", tid, unix.ESRCH)
		}
	}
	return nil
}

// openOne opens a counter, raising the limit of open files when it is reached.
func (s *Session) openOne(e *event.Event, w perfevent.Where) (*perfevent.Counter, error) {
	for {
		c, err := e.Open(w)
		if err == nil || !errors.Is(err, unix.EMFILE) || !perfevent.RaiseFileLimit() {
			return c, err
		}
	}
}

func (s *Session) openCounters(ctx context.Context) error {
	t := &s.opts.Target
	if !t.OfTasks() {
		for _, r := range s.rings {
			if err := s.openOn(r); wentOffline(err, r.cpu) {
				// Run opens it again when it is back.
				s.cpus = slices.DeleteFunc(s.cpus, func(cpu int) bool { return cpu == r.cpu })
				s.note("cpu %d went offline before it was recorded", r.cpu)
			} else if err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if len(s.sideband.counters) == 0 || slices.ContainsFunc(s.events, func(e *recordedEvent) bool { return len(e.counters) == 0 }) {
			return fmt.Errorf("no cpu is online any more that could be recorded: %w", unix.ENODEV)
		}
		return nil
	}
	o := taskOpener{s: s, tasks: map[int]*task{}, scanned: make([]int, len(s.rings))}
	err := o.openAll(ctx, func() ([]int, error) {
		all := slices.Clone(t.TIDs)
		for _, pid := range t.PIDs {
			tids, err := procfs.ThreadsOf(os.DirFS("/proc"), pid)
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return nil, err
			}
			all = append(all, tids...)
		}
		return all, nil
	})
	if err != nil {
		return err
	}
	if len(s.hangups) == 0 {
		return fmt.Errorf("the targets exited before they could be recorded: %w", unix.ESRCH)
	}
	return s.openWakeups(&o)
}

// openOn opens all events on the CPU of a ring, for all tasks or those of cgroups.
func (s *Session) openOn(r *cpuRing) error {
	for _, e := range append([]*recordedEvent{s.sideband}, s.events...) {
		for _, w := range s.places(e, r.cpu) {
			if _, err := s.open(e, w, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// places are where an event is opened on a CPU, if its PMU is of that. The side-band of cgroups
// is everybody's: tasks move in.
func (s *Session) places(e *recordedEvent, cpu int) (all []perfevent.Where) {
	if !e.IsOn(cpu) {
		return nil
	}
	w := perfevent.Where{PID: perfevent.AllTasks, CPU: cpu}
	if e == s.sideband || len(s.opts.Target.Cgroups) == 0 {
		return []perfevent.Where{w}
	}
	for _, w.Cgroup = range s.opts.Target.Cgroups {
		all = append(all, w)
	}
	return all
}

// open opens e in one place, into ring r.
func (s *Session) open(e *recordedEvent, w perfevent.Where, r *cpuRing) (*perfevent.Counter, error) {
	c, err := s.openOne(&e.Event, w)
	if err != nil {
		return nil, err
	}
	e.counters = append(e.counters, c) // Close closes it
	if err := c.SetOutput(r.into()); err != nil {
		return nil, err
	}
	return c, s.setFilter(e, c)
}
