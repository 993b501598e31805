package record

import (
	"errors"

	"kprof/perfevent"
	"kprof/perfevent/event"
)

// userOnly leaves the kernel out of events of tasks where that is all that this
// user may record, as perf does; what names the kernel explicitly stays, and is
// refused.
func (s *Session) userOnly() {
	if !s.opts.Target.OfTasks() || !perfevent.KernelDenied() {
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
	return denied.For(event.Requests(s.opts.Specs), perfevent.Extent{
		Machine: !s.opts.Target.OfTasks(), Foreign: s.opts.Target.Foreign(), UserOnly: s.kernelLeftOut,
	})
}
