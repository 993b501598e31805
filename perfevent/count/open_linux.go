package count

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

// maxPasses bounds how often a process that starts threads all the time is opened
// again.
const maxPasses = 20

// openAll opens all groups in all places. A thread that is started while those of its
// process are being opened may have inherited some counters, or none: so it starts
// again until none was started in between.
func (s *Session) openAll(ctx context.Context) error {
	t := &s.opts.Target
	if !t.OfTasks() {
		return s.openOn(ctx, []int{perfevent.AllTasks})
	}
	tasks, err := threads(t)
	if err != nil {
		return err
	}
	kept := map[int]bool{}
	for pass := 1; ; pass++ {
		for _, tid := range tasks {
			if kept[tid] {
				continue
			}
			if err := s.resolver.KeepHits(tid); err != nil && !procfs.IsGone(err) {
				return err
			}
			kept[tid] = true
		}
		if err := s.openOn(ctx, tasks); err != nil {
			return err
		}
		if t.EnableOnExec {
			return nil // what waits for its exec starts nothing that outlives that
		}
		now, err := threads(t)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(now, func(tid int) bool { return !slices.Contains(tasks, tid) }) {
			break
		}
		if pass == maxPasses {
			s.notes = append(s.notes, "the target starts threads too fast: some of them may be missed")
			break
		}
		if err := s.closePlaces(); err != nil {
			return err
		}
		tasks = now
	}
	s.exits, err = watchExits(t)
	return err
}

// openOn opens all groups on tasks, or on all of them, and on CPUs or in cgroups.
func (s *Session) openOn(ctx context.Context, tasks []int) error {
	opened := false
	for group := 0; group < len(s.groups); group++ { // openGroup may add some
		for _, tid := range tasks {
			ok, err := s.openGroup(group, tid)
			if procfs.IsGone(err) {
				continue
			}
			if err != nil {
				return err
			}
			opened = opened || ok
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	refused := !slices.ContainsFunc(s.events, func(e Event) bool { return e.Refused == nil })
	if !opened && !refused {
		return fmt.Errorf("the targets exited before they could be counted: %w", unix.ESRCH)
	}
	return nil
}

// openGroup opens a group on a task, or on all: on each CPU, for each cgroup. The
// members that the machine refuses are left out of it, or a weak group divided; ok says that some are left.
func (s *Session) openGroup(group, tid int) (ok bool, err error) {
	if len(s.groups[group]) == 0 { // all of it has been refused
		return false, nil
	}
	cpus := s.cpusOf(&s.events[s.groups[group][0]].Event, tid)
	cgroups := s.opts.Target.Cgroups
	if len(cgroups) == 0 {
		cgroups = []*os.File{nil}
	}
	first := len(s.places)
	for i, cgroup := range cgroups {
		for _, cpu := range cpus {
			at := Place{CPU: cpu, Task: tid, Cgroup: i}
			if cgroup == nil {
				at.Cgroup = -1
			}
			members := s.groups[group]
			c, err := openCounter(s.counted(members), perfevent.Where{PID: tid, CPU: cpu, Cgroup: cgroup})
			var refused *memberError
			switch {
			case err == nil:
				s.places = append(s.places, place{c, group, at})
				if err := s.present(where{tid, cpu}); err != nil {
					return false, err
				}
			case errors.As(err, &refused) && isRefusal(err) && len(s.places) == first && !s.events[members[refused.member]].mustOpen():
				if len(members) > 1 && s.events[members[refused.member]].weak {
					s.divide(group, refused)
				} else {
					s.refuse(group, refused)
				}
				return s.openGroup(group, tid)
			case errors.Is(err, unix.ENODEV) && s.offline(cpu):
				s.notes = append(s.notes, fmt.Sprintf("cpu %d went offline before it was counted", cpu))
			default:
				return false, err
			}
		}
	}
	return len(s.places) > first, nil
}

// mustOpen: a probe that is refused is one that was asked for wrongly.
func (e *Event) mustOpen() bool { return e.Source.Kind == event.KindProbe }

// refuse takes a member out of its group, and with a leader all that it leads.
func (s *Session) refuse(group int, refused *memberError) {
	members := s.groups[group]
	out := members[refused.member : refused.member+1]
	if refused.member == 0 {
		out = members
	}
	for _, member := range out {
		s.events[member].Refused = errors.Unwrap(refused.err) // without what was opened where
	}
	s.dropRefused(group)
}

// divide makes a group of each member of a weak one, those behind the first to be opened later.
func (s *Session) divide(group int, refused *memberError) {
	members := s.groups[group]
	s.notes = append(s.notes, fmt.Sprintf("a group is counted event by event: %s: %v", s.events[members[refused.member]].Name, errors.Unwrap(refused.err)))
	s.groups[group] = members[:1]
	for _, member := range members[1:] {
		s.events[member].Group = len(s.groups)
		s.groups = append(s.groups, []int{member})
	}
}

// dropRefused leaves in a group what can be counted.
func (s *Session) dropRefused(group int) {
	s.groups[group] = slices.DeleteFunc(slices.Clone(s.groups[group]), func(e int) bool { return s.events[e].Refused != nil })
}

// counted are the members of a group with attributes that count.
func (s *Session) counted(members []int) []event.Event {
	t := &s.opts.Target
	events := make([]event.Event, len(members))
	for i, member := range members {
		events[i] = s.events[member].Event
		if e := &events[i]; e.Source.Modifiers.MostPrecise {
			e.Attr.Flags = e.Attr.Flags.WithPrecise(0) // which concerns samples alone
		}
		events[i].Count(perfevent.Counting{
			Inherit:      t.Inherits(),
			EnableOnExec: t.EnableOnExec,
			Leader:       i == 0 && len(members) > 1,
			Member:       i > 0,
		})
	}
	return events
}

// threads lists the threads to be counted, sorted.
func threads(t *Target) ([]int, error) {
	all := slices.Clone(t.TIDs)
	for _, tid := range t.TIDs {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", tid)); err != nil && len(t.TIDs) == 1 {
			return nil, fmt.Errorf("thread %d: %w", tid, unix.ESRCH)
		}
	}
	for _, pid := range t.PIDs {
		tids, err := procfs.ThreadsOf(os.DirFS("/proc"), pid)
		if err != nil {
			return nil, err
		}
		all = append(all, tids...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
