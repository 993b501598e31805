package replay

import (
	"kprof/convert/samples"
	"kprof/convert/span"
	"kprof/convert/stacks"
	"kprof/perfevent/spanrule"
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

// memory makes a point of a call that allocates or frees: its Task is the thread, its key
// is of the process.
func (o *ruleSpans) memory(b *side, p *batchPoint, s *samples.Sample) {
	p.Key.Task = s.PID
	switch b.memory {
	case spanrule.Allocates:
		p.Kind = span.Allocate
		if b.slot != nil {
			addr, _ := b.slot.Uint(s.Raw)
			if o.slots == nil {
				o.slots = map[int32]slot{}
			}
			if len(o.slots) >= maxSlots {
				clear(o.slots)
			}
			o.slots[s.TID] = slot{p.Place, addr}
		}
	case spanrule.Frees:
		p.Kind = span.Free
	case spanrule.Allocated:
		if p.Kind = span.Allocated; len(b.stack) == 0 {
			return
		}
		// What it returns is an error, the address is in a variable of the caller's.
		ok := p.Key.Values[0] == 0
		p.Key.Values[0] = 0
		if !ok {
			return
		}
		p.Key.Values[0], p.Check = ^uint64(0), span.UnknownAddress
		at, known := o.slots[s.TID]
		size := uint64(b.stack[0].Size)
		if !known || at.place != p.Place && at.place+size != p.Place || at.addr < p.Place {
			return
		}
		if i := (at.addr - p.Place) / size; i < uint64(len(b.stack)) {
			if addr, ok := b.stack[i].Uint(s.Raw); ok && addr != 0 {
				p.Key.Values[0], p.Check = addr, span.Unchecked
			}
		}
	}
}

// maxSlots bounds the calls that put an address somewhere and have not returned.
const maxSlots = 1 << 16
