package table

import (
	"fmt"
	"strings"

	"kprof/convert/calltree"
	"kprof/convert/printable"
	"kprof/convert/span"
	"kprof/convert/stacks"
)

// Calls is the distribution of the times that calls of a function took, in ns, with what it
// called. Location is one of the Set, of the function.
type Calls struct {
	Event    int
	Location uint32
	*span.Histogram
}

// calls are the distributions by the names of functions, nil where the event has none, or
// what is shown is not functions and their times.
func (o *TopOptions) calls(s *stacks.Set) map[string]*span.Histogram {
	if o.By != "" || o.Lines || s.Events[o.Event].Values[o.Column].Unit != "nanoseconds" {
		return nil
	}
	var all histograms
	n := s.Names()
	for _, c := range o.Calls {
		if c.Event != o.Event || int(c.Location) >= len(s.Locations) {
			continue
		}
		name := n.Names[n.Of(c.Location)[0]]
		all.add(name, c.Histogram)
	}
	return all
}

// callNumbers are what a table shows of the calls of a function, with their names.
func callNumbers(h *span.Histogram) (names, values []string) {
	value := func(v uint64) string { return printable.Value(int64(v), "nanoseconds") }
	return []string{"calls", "mean", "p50", "p99", "max"},
		[]string{fmt.Sprint(h.Count), value(h.Mean()), value(h.Quantile(0.5)), value(h.Quantile(0.99)), value(h.Max)}
}

// callRows writes a line for each function, with its calls.
func (t *topTable) callRows(costs []calltree.Cost, of map[string]*span.Histogram) {
	mappings := 0
	for _, c := range costs {
		if c.Mapping != "[unknown]" {
			mappings = max(mappings, min(printable.Width(printable.Text(c.Mapping)), 24))
		}
	}
	if mappings > 0 {
		mappings = max(mappings, len("mapping"))
	}
	line := func(self, selfShare, cum, cumShare string, values []string, mapping, name string, shares ...shareCell) {
		l := strings.TrimSuffix(t.numbers(self, selfShare, cum, cumShare), " ")
		for _, v := range values {
			l += fmt.Sprintf(" %9s", v)
		}
		if mappings > 0 {
			l += "  " + printable.Column(printable.Text(mapping), mappings)
		}
		t.line(l+"  "+name, shares...)
	}
	t.fitCosts(costs)
	names, none := callNumbers(&span.Histogram{})
	for i := range none {
		none[i] = "-"
	}
	line("self", "self%", "cum", "cum%", names, "mapping", "function")
	for _, c := range costs {
		values := none
		if h := of[c.Name]; h != nil {
			_, values = callNumbers(h)
		}
		line(t.value(c.Self), t.share(c.Self), t.value(c.Cum), t.share(c.Cum), values, c.Mapping, c.Name, t.selfShare(c.Self), t.cumShare(c.Cum))
	}
}
