package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"kprof/convert"
	"kprof/symbolize"
)

// profile is what commands show.
type profile struct{ *convert.Profile }

// oneEvent returns the event to show where only one can be: of those asked for, the
// one with the most samples. It tells about the others.
func (p *profile) oneEvent() int { return p.oneEventWith(nil) }

// oneEventWith is oneEvent of those that have some of the labels, if there are any.
func (p *profile) oneEventWith(keys []string) int {
	if len(p.Set.Events) < 2 {
		return 0
	}
	most, counts := p.Set.Most(), p.Set.SampleCounts()
	if with := p.labelled(keys); with[most] == 0 {
		for i, n := range with {
			if n > with[most] {
				most = i
			}
		}
	}
	var names []string
	var others []int64
	for i, e := range p.Set.Events {
		if i != most {
			names, others = append(names, e.Name), append(others, counts[i])
		}
	}
	notef("showing event %s (%d samples) only; choose another with --event: %s",
		p.Set.Events[most].Name, counts[most], convert.CountedList(names, others))
	return most
}

// labelled counts the samples of each event that have any of the labels.
func (p *profile) labelled(keys []string) []int64 {
	counts := make([]int64, len(p.Set.Events))
	if len(keys) == 0 {
		return counts
	}
	for i := range p.Set.NumSamples() {
		x := p.Set.Sample(i)
		if slices.ContainsFunc(keys, func(k string) bool { _, ok := p.Set.Label(x.Labels, k); return ok }) {
			counts[x.Event] += x.Values[0]
		}
	}
	return counts
}

// shownColumn is the column that weights are taken from, or the number of samples
// where these have no weight.
func (p *profile) shownColumn(event int) int {
	column, weightless := p.ShownColumn(event)
	if weightless {
		notef("the values of event %s are all 0: its samples are counted instead", p.Set.Events[event].Name)
	}
	return column
}

// losses are sentences about what the recording does not hold.
func (p *profile) losses() []string {
	var words []string
	for _, w := range convert.Losses(&p.Stats) {
		words = append(words, wording(&w))
	}
	return words
}

// symbolOptions are the flags that say where names come from.
type symbolOptions struct {
	symbolize.Options
	debuginfod string   // servers, separated by blanks
	none       bool     // nothing is to be named
	signals    *signals // nil where none are watched for
}

// addTo adds the flags to the options of a conversion, and how naming ends.
func (s *symbolOptions) addTo(o *convert.Options) {
	o.Symbols, o.Unnamed, o.Wording = s.Options, s.none, wording
	o.Symbols.BuildIDCache = buildIDCache()
	o.Symbols.DebuginfodURLs = strings.Fields(s.debuginfod)
	o.Naming = func(ctx context.Context) (context.Context, func()) { return s.signals.whileNaming(ctx) }
}

// buildIDCache is where perf keeps files by build id.
func buildIDCache() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return home + "/.debug"
}
