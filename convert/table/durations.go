package table

import (
	"fmt"
	"slices"
	"strings"

	"kprof/convert/calltree"
	"kprof/convert/printable"
	"kprof/convert/span"
	"kprof/convert/stacks"
)

// Durations is the distribution of the times that samples of an event with these labels
// have, in ns; or that of other values, see ValuesOf.
type Durations struct {
	Event  int
	Labels stacks.LabelsID
	*span.Histogram
	Negative uint64 // values below 0, which times are not: they are not in the Histogram
}

// histograms are distributions by name, nil of none.
type histograms map[string]*span.Histogram

// add adds to the one of a name.
func (m *histograms) add(name string, h *span.Histogram) {
	if *m == nil {
		*m = histograms{}
	}
	if (*m)[name] == nil {
		(*m)[name] = &span.Histogram{}
	}
	(*m)[name].Merge(h)
}

// distributions are the histograms of the groups that o asks for, by their names; nil where
// the event has none, or where groups are not of labels. The one without a name is of all.
func (o *TopOptions) distributions(s *stacks.Set) map[string]*span.Histogram {
	of, _ := o.signedDistributions(s)
	return of
}

// signedDistributions are distributions, and beside them how many values are below 0.
func (o *TopOptions) signedDistributions(s *stacks.Set) (of map[string]*span.Histogram, negative map[string]uint64) {
	keys := strings.Split(o.By, ",")
	if o.By == "" {
		keys = nil
	}
	if slices.Contains(keys, byEvent) || slices.Contains(keys, byMapping) {
		return nil, nil
	}
	var all histograms
	negative = map[string]uint64{}
	for _, d := range o.Durations {
		if d.Event != o.Event {
			continue
		}
		var parts []string
		for _, key := range keys {
			parts = append(parts, groupName(s, stacks.Sample{Event: d.Event, Labels: d.Labels}, key))
		}
		name := strings.Join(parts, ", ")
		all.add(name, d.Histogram)
		negative[name] += d.Negative
	}
	return all, negative
}

// quantiles are those that a table shows.
var quantiles = []struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}}

// numbers are what a table shows of a distribution, with their names.
func numbers(h *span.Histogram) (names, values []string) {
	add := func(name string, v uint64) {
		names, values = append(names, name), append(values, printable.Value(int64(v), "nanoseconds"))
	}
	names, values = append(names, "count"), append(values, fmt.Sprint(h.Count))
	add("mean", h.Mean())
	for _, x := range quantiles {
		add(x.name, h.Quantile(x.q))
	}
	add("max", h.Max)
	return names, values
}

// durationRows writes a line for each group, with its distribution.
func (t *topTable) durationRows(costs []calltree.Cost, of map[string]*span.Histogram) {
	line := func(total, share string, values []string, name string, shares ...shareCell) {
		l := strings.TrimSuffix(t.numbers(total, share), " ")
		for _, v := range values {
			l += fmt.Sprintf(" %9s", v)
		}
		t.line(l+"  "+name, shares...)
	}
	t.fitCosts(costs)
	names, none := numbers(&span.Histogram{})
	for i := range none {
		none[i] = "-"
	}
	line("total", "total%", names, t.o.By)
	for _, c := range costs {
		values := none
		if h := of[c.Name]; h != nil {
			_, values = numbers(h)
		}
		line(t.value(c.Self), t.share(c.Self), values, c.Name, t.selfShare(c.Self))
	}
}

// durationNote is a line on the distribution of all times of an event.
func durationNote(h *span.Histogram) string {
	names, values := numbers(h)
	var parts []string
	for i := range names {
		parts = append(parts, names[i]+" "+values[i])
	}
	return strings.Join(parts, ", ")
}

// jsonDurations is a distribution in JSON, in ns.
type jsonDurations struct {
	Count   uint64        `json:"count"`
	Sum     uint64        `json:"sum"`
	Min     uint64        `json:"min"`
	Mean    uint64        `json:"mean"`
	P50     uint64        `json:"p50"`
	P90     uint64        `json:"p90"`
	P99     uint64        `json:"p99"`
	P999    uint64        `json:"p99.9"`
	Max     uint64        `json:"max"`
	Buckets []span.Bucket `json:"buckets"` // from, to, both included, and how many
}

// toJSON is a distribution as JSON writes it, nil of none.
func toJSON(h *span.Histogram) *jsonDurations {
	if h == nil {
		return nil
	}
	q := func(i int) uint64 { return h.Quantile(quantiles[i].q) }
	return &jsonDurations{h.Count, h.Sum, h.Min, h.Mean(), q(0), q(1), q(2), q(3), h.Max, h.Buckets()}
}
