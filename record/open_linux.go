package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
)

// checkTargets finds out early, and in plain words, that a target is not there.
func (s *Session) checkTargets() error {
	t := &s.opts.Target
	for _, pid := range t.PIDs {
		if _, err := threads(pid); err != nil {
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

// openRings maps a ring for each CPU. When the default size is more than the
// user may lock, smaller ones are tried.
func (s *Session) openRings() error {
	s.anchors = startThread()
	size, given := perfevent.RingBytes(s.opts.RingSize), s.opts.RingSize != 0
	if !given {
		size = defaultRing
	}
	for {
		err := s.mapRings(size)
		if err == nil {
			return nil
		}
		for _, r := range s.rings {
			err = errors.Join(err, r.close())
		}
		s.rings = nil
		if given || !errors.Is(err, os.ErrPermission) || size <= smallestRing {
			return err
		}
		size /= 2
	}
}

func (s *Session) mapRings(size int) error {
	anchor := perfevent.Anchor(s.features, uint32(size/4))
	for _, cpu := range s.cpus {
		r := &cpuRing{cpu: cpu}
		s.rings = append(s.rings, r)
		err := s.anchors.run(func() (err error) {
			r.anchor, err = s.openOne(&anchor, perfevent.Where{CPU: cpu})
			return err
		})
		if err != nil {
			return err
		}
		if r.ring, err = perfevent.MapRing(r.anchor, size); err != nil {
			return err
		}
	}
	return nil
}

// openOne opens a counter, raising the limit of open files when it is reached.
func (s *Session) openOne(e *perfevent.Event, w perfevent.Where) (*perfevent.Counter, error) {
	for {
		c, err := perfevent.Open(e, w)
		if err == nil || !errors.Is(err, unix.EMFILE) || !perfevent.RaiseFileLimit() {
			return c, err
		}
	}
}

func (s *Session) openCounters(ctx context.Context) error {
	t := &s.opts.Target
	if !t.tasks() {
		for _, r := range s.rings {
			all := perfevent.Where{PID: perfevent.AllTasks, CPU: r.cpu}
			// The side-band of a cgroup is everybody's: tasks move in.
			if _, err := s.open(s.sideband, all, r); err != nil {
				return err
			}
			for _, e := range s.events {
				w := all
				w.Cgroup = t.Cgroup
				if _, err := s.open(e, w, r); err != nil {
					return err
				}
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	}
	o := taskOpener{s: s, tasks: map[int]*task{}, scanned: make([]int, len(s.rings))}
	err := o.openAll(ctx, func() ([]int, error) {
		all := slices.Clone(t.TIDs)
		for _, pid := range t.PIDs {
			tids, err := threads(pid)
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
	return nil
}

// open opens e in one place, into ring r.
func (s *Session) open(e *event, w perfevent.Where, r *cpuRing) (*perfevent.Counter, error) {
	c, err := s.openOne(&e.Event, w)
	if err != nil {
		return nil, err
	}
	e.counters = append(e.counters, c) // Close closes it
	if err := c.SetOutput(r.anchor); err != nil {
		return nil, err
	}
	return c, s.setFilter(e, c)
}
