package record

import (
	"errors"
	"slices"

	"kprof/perfevent"
	"kprof/perfevent/event"
)

// userOnly leaves the kernel out of events of tasks where that is all that this
// user may record, as perf does; what names the kernel explicitly stays, and is
// refused.
func (s *Session) userOnly() {
	if !s.opts.Target.tasks() || !perfevent.KernelDenied() {
		return
	}
	left := false
	for _, e := range s.events {
		before := e.Name
		if e.UserOnly() && e.Name != before {
			left = true
		}
	}
	if left {
		s.kernelLeftOut = true
		s.note("only user code is recorded: kernel stacks need kernel.perf_event_paranoid at most 1 (sysctl kernel.perf_event_paranoid=1, as root), or CAP_PERFMON")
	}
}

// explainDenied makes of a refusal of one event, which may be one that nobody asked
// for by name, one that says what the whole recording needs.
func (s *Session) explainDenied(err error) error {
	var denied *perfevent.PermissionError
	if !errors.As(err, &denied) {
		return err
	}
	return denied.For(event.Requests(s.opts.Specs), perfevent.Target{
		Machine: !s.opts.Target.tasks(), Foreign: s.opts.Target.foreign(), UserOnly: s.kernelLeftOut,
	})
}

// foreign reports whether any of the tasks is another user's.
func (t *Target) foreign() bool {
	return slices.ContainsFunc(slices.Concat(t.PIDs, t.TIDs), perfevent.ForeignTask)
}
