package replay

import (
	"kprof/convert/span"
	"kprof/convert/stacks"
)

// heldValues are the columns of a rule of what is held, as those of pprof's heap profiles:
// all that was taken, and what was not given back by the end of the recording. What may have
// been given back among lost records is in the first two only.
var heldValues = []stacks.ValueType{
	{Type: "alloc_objects", Unit: "count"},
	{Type: "alloc_space", Unit: "bytes"},
	{Type: "inuse_objects", Unit: "count"},
	{Type: "inuse_space", Unit: "bytes"},
}

// countHeld adds to the Set what a start has taken. Options.SlowerThan is then for how long
// it was held at least.
func (o *ruleSpans) countHeld(s *span.Span) {
	if s.Row == noRow || o.x.leavesOut(s.Time) {
		return
	}
	values := [4]int64{1, s.Value, 0, 0}
	if s.Outcome == span.StillOpen {
		values[2], values[3] = 1, s.Value
	}
	n := o.x.r.set.Add(o.events[s.Rule], stacks.StackID(s.Row), stacks.LabelsID(s.Owner), values[:]...)
	if o.x.r.opts.Times {
		o.x.r.set.AddTimedSample(stacks.TimedSample{Time: s.Start, Sample: uint32(n), Value: values[3]})
	}
}
