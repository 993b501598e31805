package record

import (
	"errors"
	"os"
	"strings"

	"kprof/perfevent"
	"kprof/perfevent/tracefs"
)

// probeVia chooses how probes are made when the options leave it open. Each
// counter of the PMU is one more probe at the place, and every hit runs them
// all: with a counter for each CPU, one probe in tracefs is better.
func (s *Session) probeVia() perfevent.ProbeVia {
	if s.opts.ProbeVia != perfevent.ProbeAuto || s.opts.Target.tasks() || len(s.cpus) <= pmuProbeCPUs {
		return s.opts.ProbeVia
	}
	if _, err := s.resolver.Tracefs(); err != nil {
		return s.opts.ProbeVia
	}
	return perfevent.ProbeTracefs
}

// removeLeftovers removes the probes of kprofs that were killed. That it may not
// be possible is no reason not to record.
func (s *Session) removeLeftovers() {
	fs, err := tracefs.Find(tracefs.Options{})
	if err != nil {
		return
	}
	removed, err := fs.Cleanup()
	if err != nil && !errors.Is(err, os.ErrPermission) {
		s.note("probes of a kprof that was killed could not be removed: %v", err)
	}
	if len(removed) > 0 {
		var names []string
		for _, p := range removed {
			names = append(names, p.Event().String())
		}
		s.note("removed what a kprof that was killed left behind: %s", strings.Join(names, ", "))
	}
}
