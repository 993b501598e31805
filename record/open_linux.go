package record

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
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
			if err := s.open(s.sideband, all, r); err != nil {
				return err
			}
			for _, e := range s.events {
				w := all
				w.Cgroup = t.Cgroup
				if err := s.open(e, w, r); err != nil {
					return err
				}
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	}
	opened := map[int]bool{}
	for _, tid := range t.TIDs {
		if err := s.openTask(tid, opened); err != nil {
			return err
		}
	}
	for _, pid := range t.PIDs {
		if err := s.openProcess(ctx, pid, opened); err != nil {
			return err
		}
	}
	if len(s.hangups) == 0 {
		return fmt.Errorf("the targets exited before they could be recorded: %w", unix.ESRCH)
	}
	return nil
}

// open opens e in one place, into ring r.
func (s *Session) open(e *event, w perfevent.Where, r *cpuRing) error {
	c, err := s.openOne(&e.Event, w)
	if err != nil {
		return err
	}
	e.counters = append(e.counters, c)
	if err := c.SetOutput(r.anchor); err != nil {
		return err
	}
	return s.setFilter(e, c)
}

// openTask opens everything on a thread: the sampling events first, the
// side-band last and enabled. So a FORK in a ring means that the new thread
// inherited all counters. A thread that exits meanwhile is left out.
func (s *Session) openTask(tid int, opened map[int]bool) error {
	if opened[tid] {
		return nil
	}
	opened[tid] = true
	var last *perfevent.Counter
	for _, r := range s.rings {
		w := perfevent.Where{PID: tid, CPU: r.cpu}
		for _, e := range s.events {
			if err := s.open(e, w, r); err != nil {
				return unlessGone(err)
			}
		}
	}
	for _, r := range s.rings {
		if err := s.open(s.sideband, perfevent.Where{PID: tid, CPU: r.cpu}, r); err != nil {
			return unlessGone(err)
		}
		last = s.sideband.counters[len(s.sideband.counters)-1]
		if err := last.Enable(); err != nil {
			return err
		}
	}
	// All counters of a task hang up together.
	s.hangups = append(s.hangups, last)
	return nil
}

func unlessGone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// openProcess opens everything on all threads of a process. Threads that start
// meanwhile either inherit the counters, which a FORK record in a ring tells,
// or are found by the next pass.
func (s *Session) openProcess(ctx context.Context, pid int, opened map[int]bool) error {
	for {
		tids, err := threads(pid)
		if errors.Is(err, unix.ESRCH) {
			return nil
		}
		if err != nil {
			return err
		}
		fresh := false
		for _, tid := range tids {
			if opened[tid] || len(opened) > 0 && s.inherited(tid) {
				continue
			}
			fresh = true
			if err := s.openTask(tid, opened); err != nil {
				return err
			}
		}
		if !fresh {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// inherited reports whether a FORK record says that thread tid was started by
// one that was complete.
func (s *Session) inherited(tid int) bool {
	found := false
	for _, r := range s.rings {
		a, b := r.ring.Peek()
		eachRecord(a, b, func(rec []byte, _ int) {
			// pid, ppid, tid, ptid (struct perf_task_event)
			if len(rec) >= head && abi.RecordType(abi.LittleEndian.Uint32(rec)) == abi.RecordFork &&
				int(abi.LittleEndian.Uint32(rec[16:])) == tid {
				found = true
			}
		})
	}
	return found
}
