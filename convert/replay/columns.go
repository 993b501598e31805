package replay

import (
	"slices"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// grow makes room for the events up to index.
func (r *rows) grow(index int) {
	for len(r.columns) <= index {
		r.columns = append(r.columns, -1)
		r.stats.samples = append(r.stats.samples, 0)
		r.stats.taken = append(r.stats.taken, 0)
		r.stats.period = append(r.stats.period, 0)
	}
}

// column returns the Set's event of an event of the recording.
func (r *rows) column(e *perfdata.Event) int {
	if r.columns[e.Index] < 0 {
		r.columns[e.Index] = r.set.AddEvent(setEvent(e))
	}
	return r.columns[e.Index]
}

// takenEvents are the events that Options.Events take and that may have samples.
func (r *rows) takenEvents() []*perfdata.Event {
	var taken []*perfdata.Event
	for _, e := range r.events.Events {
		if !isDummy(&e.Attr) && (len(r.opts.Events) == 0 || r.naming.takes(r.events.Events, r.opts.Events, e.Index)) {
			taken = append(taken, e)
		}
	}
	return taken
}

// order gives the Set a column for each event that has samples, those that are
// missing in the order of the recording.
func (r *rows) order(samples []uint64) {
	for i, n := range samples {
		r.grow(i)
		if e := r.events.Events[i]; n > 0 && r.naming.takes(r.events.Events, r.opts.Events, i) {
			r.column(e)
		}
	}
}

// reorder brings the Set's events into the order of the recording, where they
// came in another one. That needs a copy of the Set.
func (r *rows) reorder() {
	var to []int // by index of the Set's event
	set := stacks.New()
	for i, c := range r.columns {
		if c >= 0 {
			to = slices.Grow(to, len(r.set.Events))[:len(r.set.Events)]
			to[c] = set.AddEvent(r.set.Events[c])
			r.columns[i] = to[c]
		}
	}
	if slices.IsSorted(to) {
		return
	}
	set.CopyLocations(r.set)
	for i := range r.set.NumStacks() {
		set.Intern(r.set.Stack(stacks.StackID(i)))
	}
	for i := range r.set.NumLabels() {
		set.InternLabels(r.set.Labels(stacks.LabelsID(i)))
	}
	for i := range r.set.NumSamples() {
		s := r.set.Sample(i)
		set.Add(to[s.Event], s.Stack, s.Labels, s.Values...)
	}
	set.TimedSamples, set.Wakes = r.set.TimedSamples, r.set.Wakes // the rows have kept their numbers
	set.BlockSums = r.set.BlockSums
	set.SetBlockShift(r.set.BlockShift())
	r.set = set
}

// setEvent describes an event in a Set: samples and the sum of periods.
func setEvent(e *perfdata.Event) stacks.Event {
	return stacks.Event{
		Name:     e.Name,
		Values:   []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: e.Name, Unit: "count"}},
		Instants: isInstant(&e.Attr),
	}
}

// isInstant reports whether each sample of an event is something that happened: a
// tracepoint that was passed, or what was counted one by one, as page faults and probes
// may be. Clocks stand for the time between samples.
func isInstant(a *abi.Attr) bool {
	return a.Type == abi.TypeTracepoint || !isClock(a) && a.Flags&abi.FlagFreq == 0 && a.SamplePeriod == 1
}
