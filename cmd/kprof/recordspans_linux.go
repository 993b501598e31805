//go:build !portable

package main

import (
	"fmt"
	"slices"
	"strings"

	"kprof/convert"
	"kprof/convert/live"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/spanrule"
	"kprof/record"
)

// offCPU returns which of both events that stand for times off the CPU is recorded, empty
// for none. The profile is made of them unless it is left to whoever reads the recording.
func (f *recordFlags) offCPU() string {
	switch {
	case slices.Contains(f.events, event.WallClock):
		f.sel.shape.wallClock = true
		return event.WallClock
	case slices.Contains(f.events, event.OffCPU):
		f.sel.shape.offCPU = true
		return event.OffCPU
	}
	return ""
}

// rules are those that a recording is to be read by.
func (f *recordFlags) rules() (rules []string) {
	for _, e := range f.events {
		if off := e == event.OffCPU || e == event.WallClock; off && f.sel.shape.wakers {
			rules = append(rules, e+convert.WakersSuffix)
		} else if off || strings.HasPrefix(e, spanrule.Prefix) {
			rules = append(rules, e)
		}
	}
	return rules
}

// rulesAsFlags are the flags that stand for rules.
func rulesAsFlags(rules []string) string {
	var flags []string
	for _, r := range rules {
		switch rule, wakers := strings.CutSuffix(r, convert.WakersSuffix); {
		case (rule == event.OffCPU || rule == event.WallClock) && wakers:
			flags = append(flags, "--"+rule, "--wakers")
		case rule == event.OffCPU, rule == event.WallClock:
			flags = append(flags, "--"+rule)
		default:
			flags = append(flags, "--span '"+strings.TrimPrefix(r, spanrule.Prefix)+"'")
		}
	}
	return strings.Join(flags, " ")
}

// addSpans adds the events of rules of spans. Their profile is made of them, beside the
// other events, unless it is left to whoever reads the recording.
func (f *recordFlags) addSpans(o *record.Options, texts []string) error {
	rules, err := parseSpans(texts)
	if err != nil || len(rules) == 0 {
		return err
	}
	if f.frequencySet || f.csSet {
		return usagef("spans take each of their events: without -F and -c")
	}
	res := event.Resolver{MountTracefs: true, Tasks: slices.Concat(o.Target.PIDs, o.Target.TIDs)}
	f.sel.shape.beside = true
	for _, r := range rules {
		specs, err := res.SpanSpecs(r)
		if err != nil {
			return err
		}
		for _, s := range specs {
			if !slices.ContainsFunc(o.Specs, func(have event.Spec) bool { return have.Text == s.Text && have.Filter == s.Filter }) {
				o.Specs = append(o.Specs, s)
			}
		}
		o.Self = o.Self || r.Between
		if !slices.Contains(f.sel.shape.spans, r.Text) {
			f.sel.shape.spans = append(f.sel.shape.spans, r.Text)
		}
	}
	return nil
}

// checkSpans returns an error where the times of the rules of a perf.data can not be made of its
// events: nobody wants to learn that when it has been recorded.
func (f *recordFlags) checkSpans(events []abi.Event) error {
	var o convert.Options
	var err error
	if o.Spans, err = parseSpans(f.sel.shape.spans); err != nil || len(o.Spans) == 0 {
		return err
	}
	return worded(live.Check(events, o))
}

// askSpans adds to an error of opening events which rules of spans may have been meant.
func (f *recordFlags) askSpans(err error) error {
	for _, e := range f.events {
		if q := meantSpan(e); q != "" {
			return fmt.Errorf("%w%s", err, q)
		}
	}
	return err
}
