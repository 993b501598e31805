package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/replay"
	"kprof/convert/transform"
	"kprof/perfevent/spanrule"
)

// shaping is the flags that say what of an event's fields a profile is made of. All
// commands that read have them, and those that make a profile while they record.
type shaping struct {
	where       string
	value, unit string
	labels      []string
	offCPU      bool
	wallClock   bool
	wakers      bool
	spans       []string
	beside      bool // the other events are shown too
	slower      time.Duration

	tagRoot, tagLeaf []string

	transforms []transform.Transform // in the order of their flags
}

func (s *shaping) flags(c *cobra.Command) {
	f := c.Flags()
	defer under(f, headingStacks)()
	s.whereFlag(c)
	s.valueFlags(c)
	s.transformFlags(c)
	f.StringSliceVar(&s.labels, "label", nil, "label samples with tid, cpu or `fields` of their event too, besides comm and pid")
	f.StringSliceVar(&s.tagRoot, "tagroot", nil, "frames above the root of each stack with what these `labels` say: comm, pid, tid, cpu or a field")
	f.StringSliceVar(&s.tagLeaf, "tagleaf", nil, "frames below the leaf of each stack with what these `labels` say")
}

// valueFlags are the flags that say what is added up.
func (s *shaping) valueFlags(c *cobra.Command) {
	f := c.Flags()
	defer under(f, headingValues)()
	s.spanFlags(c)
	f.StringVar(&s.value, "value", "", "add up this `expression` on an event's fields beside the number of samples, such as bytes_alloc, or nr_sector*512")
	f.StringVar(&s.unit, "unit", "", "`unit` of --value: bytes, nanoseconds, sectors, pages or any word (default that of the field, where it is known)")
	f.BoolVar(&s.wallClock, "wall-clock", false, "show where the time of threads went, on the CPU and off it; of recordings of -e wall-clock, or with sched:sched_switch and cpu-clock")
}

// spanFlags are the flags that make times of pairs of events.
func (s *shaping) spanFlags(c *cobra.Command) {
	f := c.Flags()
	defer under(f, headingValues)()
	f.BoolVar(&s.offCPU, "off-cpu", false, "show how long tasks were off the CPU, by the stacks at which they left it; of recordings of -e off-cpu, or with sched:sched_switch")
	f.BoolVar(&s.wakers, "wakers", false, "as --off-cpu, or with --wall-clock: with the stacks of who woke tasks above those at which they left the CPU")
	f.StringArrayVar(&s.spans, "span", nil, "show the times between events by a `rule`, and the stacks at which they began: syscalls, block, lock and others, the name of a function, or 'EVENT..EVENT by KEY'; see kprof help spans")
	f.Var((*duration)(&s.slower), "slower-than", "of --span and --off-cpu take only `times` from this one on: 10ms, 1.5s")
}

// whereFlag is the flag that says which samples to take.
func (s *shaping) whereFlag(c *cobra.Command) {
	defer under(c.Flags(), headingSamples)()
	c.Flags().StringVar(&s.where, "where", "", "take only samples that match this `expression` on the fields of their event, and on comm, pid, tid, cpu, time and event; see kprof help fields")
}

// shapingFlags are the names of the flags.
var shapingFlags = []string{"where", "value", "unit", "label", "tagroot", "tagleaf", "focus", "ignore", "show-from", "show-to", "hide", "show", "collapse-recursion", "collapse", "off-cpu", "wall-clock", "wakers", "span", "slower-than"}

// units are other words for the units that outputs know.
var units = map[string]string{
	"b": "bytes", "byte": "bytes", "kb": "kilobytes", "kib": "kilobytes", "ns": "nanoseconds", "us": "microseconds",
	"ms": "milliseconds", "s": "seconds", "sector": "sectors", "page": "pages", "khz": "kilohertz",
}

// addTo checks the flags, and adds them to the options of a conversion.
func (s *shaping) addTo(o *convert.Options) (err error) {
	if o.Where, err = parseExpr("--where", s.where); err != nil {
		return err
	}
	if o.Value, err = parseExpr("--value", s.value); err != nil {
		return err
	}
	if o.Unit = s.unit; s.unit != "" && o.Value == nil {
		return usagef("--unit is for --value")
	}
	if known, ok := units[strings.ToLower(s.unit)]; ok {
		o.Unit = known
	}
	o.Wakers = s.wakers
	o.WallClock, o.OffCPU = s.wallClock, s.switches() && !s.wallClock
	if s.wallClock && (s.offCPU || s.slower > 0) {
		return usagef("--wall-clock has times off the CPU too, short ones as well: without --off-cpu and --slower-than")
	}
	if s.switches() && o.Value != nil {
		return usagef("--off-cpu, --wakers, --wall-clock and --value exclude each other: times are what is added up")
	}
	spans := s.spans
	if len(spans) > 0 && s.value != "" { // bytes that starts take
		if s.unit != "" && o.Unit != "bytes" {
			return usagef("--unit %s: what --span holds is in bytes", s.unit)
		}
		spans, o.Value, o.Unit = nil, nil, ""
		for _, text := range s.spans {
			if !strings.Contains(text, "..") {
				return usagef("--value is for --span EVENT..EVENT: how many bytes a start takes, which its end gives back")
			}
			spans = append(spans, spanrule.Holding(text, s.value))
		}
	}
	if o.Spans, err = parseSpans(spans); err != nil {
		return err
	}
	o.Beside, o.SlowerThan = s.beside, uint64(s.slower)
	for flag, keys := range map[string][]string{"--label": s.labels, "--tagroot": s.tagRoot, "--tagleaf": s.tagLeaf} {
		if slices.ContainsFunc(keys, func(k string) bool { return strings.TrimSpace(k) == "" }) {
			return usagef("%s wants comm, pid, tid, cpu or the name of a field", flag)
		}
	}
	addLabels(o, slices.Concat(s.labels, s.tagRoot, s.tagLeaf))
	o.TagRoot, o.TagLeaf, o.Transforms = s.tagRoot, s.tagLeaf, s.transforms
	return nil
}

// switches reports whether times are made of switches of tasks.
func (s *shaping) switches() bool { return s.offCPU || s.wakers || s.wallClock }

// parseSpans reads rules of spans, whose prefix may be left out.
func parseSpans(texts []string) (rules []*spanrule.Rule, err error) {
	for _, text := range texts {
		if !strings.HasPrefix(text, spanrule.Prefix) {
			text = spanrule.Prefix + text
		}
		r, err := spanrule.Parse(text)
		if err != nil {
			return nil, usageError{err}
		}
		switch i := slices.IndexFunc(rules, func(have *spanrule.Rule) bool { return have.Name == r.Name }); {
		case i < 0:
			rules = append(rules, r)
		case rules[i].Text != r.Text:
			return nil, usagef("--span %q: another rule is called %s", text, r.Name)
		}
	}
	return rules, nil
}

// addLabels adds labels to the options of a conversion, by their keys.
func addLabels(o *convert.Options, keys []string) {
	for _, key := range keys {
		switch {
		case key == "tid":
			o.Labels |= replay.LabelTID
		case key == "cpu":
			o.Labels |= replay.LabelCPU
		case key == replay.TookLabel:
			o.Labels |= replay.LabelTook
		case key == replay.CgroupLabel || key == replay.ContainerLabel: // where samples have them
		case key != "comm" && key != "pid" && !slices.Contains(o.FieldLabels, key):
			o.FieldLabels = append(o.FieldLabels, key)
		}
	}
}

// forData refuses the flags for a perf.data: it holds all that was recorded.
func (s *shaping) forData() error {
	switch {
	case s.where != "":
		return usagef("--where is for profiles; a perf.data holds every sample: give it when the recording is read (kprof report --where …), or have the kernel leave samples out with --filter")
	case s.value != "", s.unit != "":
		return usagef("--value is for profiles; a perf.data holds the fields of every sample: give it when the recording is read (kprof report --value …)")
	case slices.ContainsFunc(s.labels, func(l string) bool {
		return !slices.Contains([]string{"comm", "pid", "tid", "cpu", replay.CgroupLabel, replay.ContainerLabel}, l)
	}):
		return usagef("--label of fields is for profiles; a perf.data holds all fields: give it when the recording is read (kprof convert --label …)")
	case len(s.tagRoot)+len(s.tagLeaf) > 0:
		return usagef("--tagroot and --tagleaf are for profiles: give them when the recording is read (kprof convert --tagroot …)")
	case len(s.transforms) > 0:
		return usagef("--%v is for profiles: give it when the recording is read (kprof report --%[1]v …)", s.transforms[0].Op)
	}
	return nil
}
