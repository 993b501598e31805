package count

import (
	"errors"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
)

// The counter of a task on one CPU is enabled wherever the task runs, and on the PMU only
// while that is there: its own times do not say for how much of the task's time on that CPU
// it had its turn. An event that always has its turn does.

// where is a task on one CPU.
type where struct{ task, cpu int }

// present opens the event that says how long a task was on a CPU, once for all groups.
func (s *Session) present(at where) error {
	if at.task == perfevent.AllTasks || at.cpu == perfevent.AnyCPU || s.presence[at] != nil {
		return nil
	}
	e := event.Event{Event: perfevent.Event{Name: "dummy", Attr: abi.Attr{
		Type: abi.TypeSoftware, Config: abi.SWDummy, Flags: event.UserOnly,
	}}}
	e.Count(perfevent.Counting{Inherit: true, EnableOnExec: s.opts.Target.EnableOnExec})
	c, err := openCounter([]event.Event{e}, perfevent.Where{PID: at.task, CPU: at.cpu})
	if errors.Is(err, unix.ENODEV) && s.offline(at.cpu) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.presence == nil {
		s.presence = map[where]counter{}
	}
	s.presence[at] = c
	return nil
}

// eachPresence calls f for all counters of presence. They are enabled last, read first and
// disabled first, so that what was counted all the time is not taken for less.
func (s *Session) eachPresence(f func(where, counter) error) error {
	for at, c := range s.presence {
		if err := f(at, c); err != nil {
			return err
		}
	}
	return nil
}

// presentTimes reads how long tasks were on CPUs.
func (s *Session) presentTimes() (map[where]perfevent.Count, error) {
	times := map[where]perfevent.Count{}
	err := s.eachPresence(func(at where, c counter) error {
		counts, err := c.read()
		if err == nil && len(counts) > 0 {
			times[at] = counts[0]
		} else if s.offline(at.cpu) {
			err = nil
		}
		return err
	})
	return times, err
}
