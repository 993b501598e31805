package replay

import (
	"slices"

	"kprof/convert/samples"
	"kprof/convert/span"
	"kprof/perfevent/abi"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/perfdata"
)

// StackLabel is the label of times off the CPU whose stack is not the one at which the
// thread left.
const (
	StackLabel = "stack"
	lastSample = "of the last sample"
)

// onlySwitches is for recordings without sched:sched_switch, in which SWITCH records tell
// when threads leave and come, as a plain user may record them. Nothing tells where they
// were then: what stands for it is the thread's last sample before.
type onlySwitches struct {
	events int  // that were looked at
	on     bool // there is no sched_switch among them
	any    bool // SWITCH records

	// Behind the batches, in the order of time.
	ending map[int32]bool
	last   map[int32]seen
	placed bool // any thread that left got the stack of its last sample
}

// seen is the row of a thread's last sample.
type seen struct{ row, owner uint32 }

// bySwitches reports whether only SWITCH records tell when threads leave.
func (o *offCPU) bySwitches() bool {
	if events := o.x.r.events.Events; len(events) != o.only.events {
		if f, _ := o.x.formats(); f == nil && slices.ContainsFunc(events, func(e *perfdata.Event) bool { return e.Attr.Type == abi.TypeTracepoint }) {
			return false // they are still to come
		}
		o.only.events = len(events)
		o.only.on = !slices.ContainsFunc(events, func(e *perfdata.Event) bool {
			f := o.fields(e)
			return f != nil && f.kind == span.Switch
		})
	}
	return o.only.on
}

// takePlace makes a point of a sample for nothing but its stack. It is false where that is
// not needed.
func (o *offCPU) takePlace(s *samples.Sample) bool {
	if !o.bySwitches() {
		return false
	}
	if s.TID > 0 {
		p := batchPoint{Point: span.Point{Time: s.When()}}
		o.x.place(&p, s)
		o.sampled(&p, s)
		o.x.add(p)
	}
	return true
}

// sampled makes a point, which has the stack of a sample, one by which left can be placed.
func (o *offCPU) sampled(p *batchPoint, s *samples.Sample) {
	if o.bySwitches() && s.TID > 0 {
		p.Kind, p.Task, p.CPU = span.Sampled, s.TID, s.CPU
	}
}

// left is samples.Order.Left.
func (o *offCPU) left(l samples.Leaving) {
	if !o.bySwitches() || l.TID <= 0 {
		return
	}
	o.only.any = true
	state := span.Blocked
	if l.Preempted {
		state = span.Preempted
	}
	r := o.x.r
	p := batchPoint{Point: span.Point{Time: l.Time, Kind: span.Away, State: state, CPU: l.CPU, Task: l.TID, Row: noRow}}
	s := samples.Sample{State: l.State, Event: r.events.Events[0]}
	s.PID, s.TID, s.CPU, s.Time = l.PID, l.TID, l.CPU, l.Time
	if (!r.opts.selects() || r.selected(&s)) && r.fields.matches(r, &s) == expr.Yes {
		b := r.batch // without a stack, until its last sample is known
		b.ends = append(b.ends, len(b.locs))
		p.Row, p.task = uint32(len(b.ends)-1), labelKey{name: l.State.Name, pid: l.PID, tid: l.TID, cpu: l.CPU}
	}
	o.x.add(p)
}

// ended is samples.Order.Ended, began is samples.Order.Began: in the file they may come before what
// was before, of another CPU.
func (o *offCPU) ended(tid int32, t uint64) { o.life(span.Ending, tid, t) }
func (o *offCPU) began(tid int32, t uint64) { o.life(span.Starting, tid, t) }

func (o *offCPU) life(kind span.Kind, tid int32, t uint64) {
	if o.bySwitches() {
		o.x.add(batchPoint{Point: span.Point{Time: t, Kind: kind, CPU: -1, Task: tid, Row: noRow}})
	}
}

// place gives a thread that leaves the stack of its last sample, unless it does not come back. Points
// come in the order of time.
func (x *onlySwitches) place(p *span.Point) *span.Point {
	switch {
	case p.Kind == span.Starting:
		delete(x.ending, p.Task)
		delete(x.last, p.Task)
	case p.Kind == span.Ending:
		x.ending[p.Task] = true
	case p.Kind == span.Away && x.ending[p.Task]:
		p.State, p.Row = span.Dead, noRow
	case p.Kind == span.Sampled:
		x.last[p.Task] = seen{p.Row, p.Owner}
	case p.Kind == span.Away && p.Row != noRow:
		if s, ok := x.last[p.Task]; ok {
			p.Row, p.Owner, x.placed = s.row, s.owner, true
		}
	}
	return p
}
