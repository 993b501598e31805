package record

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"

	"kprof/perfevent/event"
	"kprof/perfevent/tracefs"
)

// probeVia chooses how probes are made when the options leave it open. Each
// counter of the PMU is one more probe at the place, and every hit runs them
// all: with a counter for each CPU, as tasks have them too, and make them anew
// with each fork, one probe in tracefs is better. So it is where their order
// matters, see returnsFirst, since counters are made CPU by CPU.
func (s *Session) probeVia() event.ProbeVia {
	if s.opts.ProbeVia != event.ProbeAuto || len(s.cpus) <= pmuProbeCPUs && !ordered(s.opts.Specs) {
		return s.opts.ProbeVia
	}
	fs, err := s.resolver.Tracefs()
	if err != nil {
		return s.opts.ProbeVia
	}
	for _, spec := range s.opts.Specs {
		// The PMU takes CAP_PERFMON alone.
		if spec.Kind == event.KindProbe && errors.Is(fs.MayProbe(spec.Probe.User), os.ErrPermission) {
			return s.opts.ProbeVia
		}
	}
	return event.ProbeTracefs
}

// ordered reports whether there are probes on entries and on returns, and an
// architecture where that matters.
func ordered(specs []event.Spec) bool {
	is := func(ret bool) func(event.Spec) bool {
		return func(s event.Spec) bool { return s.Kind == event.KindProbe && s.Probe.Return == ret }
	}
	return runtime.GOARCH == "arm64" && slices.ContainsFunc(specs, is(true)) && slices.ContainsFunc(specs, is(false))
}

// returnsFirst is the order in which probes are made: those on returns, then what
// else there is. Of the probes at one place the youngest runs first, and one on
// the return replaces the return address, which on arm64 is the caller to those
// that run after it.
func returnsFirst(specs []event.Spec) []int {
	var returns, others []int
	for i, s := range specs {
		if s.Probe.Return {
			returns = append(returns, i)
		} else {
			others = append(others, i)
		}
	}
	return append(returns, others...)
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
