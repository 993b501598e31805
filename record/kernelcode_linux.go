package record

import (
	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
)

// followKernel sees to it that code which comes to the kernel is known of, whichever task loads
// it. The side-band of CPUs tells; that of tasks knows only of what these load themselves, so
// that, if Options.KernelCode wants it and the user may, each CPU has a counter for it.
func (s *Session) followKernel() {
	t := &s.opts.Target
	if s.features.Sideband&abi.FlagKsymbol == 0 || len(t.CPUs) > 0 || t.OfTasks() && (!s.opts.KernelCode || !s.openKernelCode()) {
		return
	}
	s.follows.Store(true)
}

func (s *Session) openKernelCode() bool {
	code := event.Event{Event: perfevent.KernelCode(s.features)}
	for _, r := range s.rings {
		c, err := s.openOne(&code, perfevent.Where{PID: perfevent.AllTasks, CPU: r.cpu})
		if err != nil {
			return false
		}
		s.sideband.counters = append(s.sideband.counters, c) // Close closes it
		if c.SetOutput(r.into()) != nil {
			return false
		}
	}
	return true
}

// FollowsKernel reports whether all code that has come to the kernel since the session was
// opened, but for modules, is in KSYMBOL records, as far as no LOST record says that some are
// missing. It may be called by any goroutine.
func (s *Session) FollowsKernel() bool { return s.follows.Load() }
