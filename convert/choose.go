package convert

import (
	"fmt"
	"slices"
	"strings"
)

// Choice is what is shown of a profile where only one event can be.
type Choice struct {
	Event, Column int // indexes into Set.Events and the Values of the event
	Samples       int64

	// Weightless tells that all values in the WeightColumn of the event are 0, so that
	// Column is another one.
	Weightless bool

	// Others are the names of the events that are not shown, with their samples.
	Others []string
	Counts []int64
}

// Choose returns the event with the most samples, of those that have any of these
// labels if there are any, and its ShownColumn.
func (p *Profile) Choose(labels []string) (c Choice) {
	if len(p.Set.Events) == 0 {
		return c
	}
	counts := p.Set.SampleCounts()
	if len(counts) > 1 {
		c.Event = p.Set.Most()
	}
	if with := p.labelled(labels); len(counts) > 1 && with[c.Event] == 0 {
		for i, n := range with {
			if n > with[c.Event] {
				c.Event = i
			}
		}
	}
	for i, e := range p.Set.Events {
		if i != c.Event {
			c.Others, c.Counts = append(c.Others, e.Name), append(c.Counts, counts[i])
		}
	}
	c.Samples = counts[c.Event]
	c.Column, c.Weightless = p.ShownColumn(c.Event)
	return c
}

// labelled counts the samples of each event that have any of the labels.
func (p *Profile) labelled(keys []string) []int64 {
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

// Origin is a line that says what was recorded where: the command, the host and its
// kernel, as far as they are known.
func (p *Profile) Origin() string {
	var parts []string
	for _, what := range []string{"command", "host", "kernel"} {
		for _, c := range p.Set.Comments {
			if value, ok := strings.CutPrefix(c, what+": "); ok {
				parts = append(parts, value)
				break
			}
		}
	}
	return strings.Join(parts, " · ")
}

// LabelValues are the values of a label, with the number of samples of each.
func (p *Profile) LabelValues(key string) map[string]float64 {
	found := map[string]float64{}
	for i := range p.Set.NumSamples() {
		row := p.Set.Sample(i)
		if label, ok := p.Set.Label(row.Labels, key); ok {
			value := label.Str
			if value == "" {
				value = fmt.Sprint(label.Num)
			}
			found[value] += float64(row.Values[0])
		}
	}
	return found
}
