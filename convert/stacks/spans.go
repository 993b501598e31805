package stacks

// IsSpans reports whether an event counts times between two events, of a rule or off the CPU,
// by its columns (convert/replay makes them): what a TimedSample's Value is long.
func (e *Event) IsSpans() bool {
	last := len(e.Values) - 1
	if last < 3 || e.Values[last].Unit != "nanoseconds" || e.Values[0].Unit != "count" {
		return false
	}
	return e.HasColumn(0, "spans") && e.HasColumn(1, "open") || e.HasColumn(1, "blocked") && e.HasColumn(last, "off-cpu")
}

// HasColumn tells a column by its type, before which pprof has the name of the event where
// there are several.
func (e *Event) HasColumn(i int, name string) bool {
	t := e.Values[i].Type
	return t == name || t == e.Name+"."+name
}
