package event

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"kprof/perfevent"
	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/spanrule"
	"kprof/perfevent/syscalls"
)

// SpanSpecs are the events of a rule of spans on this machine: those of the first family
// that it has.
func (r *Resolver) SpanSpecs(rule *spanrule.Rule) ([]Spec, error) {
	filter, err := rule.Filter(syscalls.Of(runtime.GOARCH))
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, f := range rule.Families {
		var specs []Spec
		lacks := ""
		for i, sides := range [][]spanrule.Side{f.Starts, f.Ends} {
			n := 0
			for _, side := range sides {
				s, err := ParseSpec(side.Spec)
				if err != nil {
					return nil, err
				}
				switch has, err := r.hasTracepoint(&s); {
				case err != nil:
					return nil, fmt.Errorf("event %q: %w", side.Spec, perfevent.DeniedTracefs(err, s.Class()))
				case !has && side.Optional:
					continue
				case !has:
					lacks = side.Event
					continue
				}
				n++
				s.Filter = filter
				if i == 1 && s.Kind == KindProbe && !s.Probe.User {
					s.Probe.MaxActive = rule.MaxActive()
				}
				specs = append(specs, s)
			}
			if n == 0 && lacks == "" {
				lacks = sides[0].Event
			}
		}
		if lacks == "" {
			return specs, nil
		}
		missing = append(missing, lacks)
	}
	return nil, errkind.Errorf(os.ErrNotExist, "%s: this kernel has no event %s", rule.Text, strings.Join(missing, ", nor "))
}

// hasTracepoint reports whether a tracepoint is there. What is no tracepoint says so itself
// when it is opened.
func (r *Resolver) hasTracepoint(s *Spec) (bool, error) {
	if s.Kind != KindTracepoint {
		return true, nil
	}
	fs, err := r.Tracefs()
	if err != nil {
		return false, err
	}
	if _, err = fs.Events(s.System, s.Name); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
