package record

import (
	"errors"
	"fmt"
	"strings"

	"kprof/perfevent/lazyregexp"
	"kprof/perfevent/tracefs"
)

// ErrEveryFunction says that each call of each function of the kernel would be a sample,
// which Options.EveryFunction has not permitted.
var ErrEveryFunction = errors.New("each call of each function of the kernel would be a sample, which leaves the machine no time for anything else")

func isFunctionTrace(e *recordedEvent) bool {
	return e.Tracepoint == tracefs.Event{System: "ftrace", Name: "function"}
}

// checkFunctionTrace refuses to trace all functions if that is not what was asked for.
func (s *Session) checkFunctionTrace() error {
	for _, e := range s.events {
		if isFunctionTrace(e) && !s.opts.EveryFunction && !namesFunctions(s.opts.Filter) {
			return fmt.Errorf("event %q: %w", e.Name, ErrEveryFunction)
		}
	}
	return nil
}

var equals = lazyregexp.New(`==\s*["']?([^\s"'|&()]*)`)

// namesFunctions reports whether a filter lets only functions through that it names. What
// the kernel takes there is ip == GLOB, ip != GLOB, and || between them
// (kernel/trace/trace_events_filter.c, ftrace_function_check_pred).
func namesFunctions(filter string) bool {
	globs := equals().FindAllStringSubmatch(filter, -1)
	for _, g := range globs {
		if strings.Trim(g[1], "*?") == "" {
			return false
		}
	}
	return len(globs) > 0 && !strings.Contains(filter, "!=")
}
