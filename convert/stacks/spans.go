package stacks

import "strings"

// IsSpans reports whether an event counts times between two events, of a rule or off the CPU,
// by its columns (convert/replay makes them): what a TimedSample's Value is long.
func (e *Event) IsSpans() bool {
	last := len(e.Values) - 1
	if last < 3 || e.Values[last].Unit != "nanoseconds" || e.Values[0].Unit != "count" {
		return false
	}
	return e.HasColumn(0, "spans") && e.HasColumn(1, "open") || e.HasColumn(1, "blocked") && e.HasColumn(last, "off-cpu")
}

// IsCalls reports whether a sample of an event is a call of a function, at the time of its end and with its own
// time: of function_graph, and what programs of Android mark (convert/trace makes them, with the name of an
// instance behind "@").
func (e *Event) IsCalls() bool {
	name, _, _ := strings.Cut(e.Name, "@")
	return (name == "ftrace:function_graph" || name == "atrace:slice") && len(e.Values) > 1 && e.Values[len(e.Values)-1].Unit == "nanoseconds"
}

// HasColumn tells a column by its type, before which pprof has the name of the event where
// there are several.
func (e *Event) HasColumn(i int, name string) bool {
	t := e.Values[i].Type
	return t == name || t == e.Name+"."+name
}
