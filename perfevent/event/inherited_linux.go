package event

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/tracefs"
)

// Linux has a breakpoint of a user probe in the processes in whose memory one of its counters
// began (kernel/trace/trace_uprobe.c, __uprobe_perf_filter: event->hw.target->mm). But when the
// scheduler goes from one task to another whose counters are copies of the same ones, it
// exchanges these rather than to stop and start them (kernel/events/core.c,
// perf_event_context_sched_out). A task that ends then takes with it the counter that began in
// another's memory, at whose next hit the kernel finds none, and removes the breakpoint there:
// what that process does from then on is no hit, and not counted as missed either.
//
// Counters are no copies where something was not inherited with them. So a counter that only
// threads inherit keeps those of a task, and those of each process that it starts, where they
// are. Those of processes that these start are exchanged among them nevertheless.

// KeepHits opens a counter, which counts nothing and is closed by Close, such that user probes in
// tracefs go on to have their hits in the thread tid, and in processes that it starts,
// when other tasks end that inherited their counters. It is to be called before these probes are
// opened on the thread, and does nothing where there are none.
func (r *Resolver) KeepHits(tid int) error {
	if len(r.inherited) == 0 {
		return nil
	}
	e := perfevent.Event{Name: "dummy", Attr: abi.Attr{
		Type: abi.TypeSoftware, Config: abi.SWDummy,
		Flags: abi.FlagDisabled | abi.FlagExcludeKernel | abi.FlagExcludeHV | abi.FlagInherit | abi.FlagInheritThread,
	}}
	for {
		c, err := perfevent.Open(&e, perfevent.Where{PID: tid, CPU: perfevent.AnyCPU})
		switch {
		case err == nil:
			r.keepers = append(r.keepers, c)
			return nil
		case errors.Is(err, unix.EMFILE) && perfevent.RaiseFileLimit():
		case errors.Is(err, unix.EINVAL) && e.Attr.Flags&abi.FlagInherit != 0: // inherit_thread is of Linux 5.13
			e.Attr.Flags &^= abi.FlagInherit | abi.FlagInheritThread
		default:
			return err
		}
	}
}

// Inherited are the names of the events that are user probes in tracefs which tasks inherit.
func (r *Resolver) Inherited() []string { return slices.Clone(r.inherited) }

// noteInherited notes that e is such an event, if it is.
func (r *Resolver) noteInherited(e *Event, user bool) {
	if r.Inherit && user {
		r.inherited = append(r.inherited, e.Name)
	}
}

// userProbes are the user probes that are in tracefs, where that matters. If they cannot be
// read, there are none that this user could open.
func (r *Resolver) userProbes(fs *tracefs.FS) map[tracefs.Event]bool {
	if !r.Inherit {
		return nil
	}
	probes, err := fs.Probes()
	if err != nil {
		return nil
	}
	user := map[tracefs.Event]bool{}
	for _, p := range probes {
		if p.User {
			user[p.Event()] = true
		}
	}
	return user
}
