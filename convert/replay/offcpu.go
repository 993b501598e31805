package replay

import (
	"errors"

	"kprof/convert/payload"
	"kprof/convert/samples"
	"kprof/convert/span"
	"kprof/convert/stacks"
	"kprof/convert/timeorder"
	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/perfdata"
)

// OffCPUEvent is the name of the Set's only event with Options.OffCPU.
const OffCPUEvent = "off-cpu"

// OffCPUState is the label that says in which state a task left the CPU.
const OffCPUState = "state"

// offCPUValues are its columns. The last is the sum of blocked and runnable; unended are
// the times of tasks that had not come back by the end.
var offCPUValues = []stacks.ValueType{
	{Type: "samples", Unit: "count"},
	{Type: "blocked", Unit: nanoseconds},
	{Type: "runnable", Unit: nanoseconds},
	{Type: "unended", Unit: nanoseconds},
	{Type: OffCPUEvent, Unit: nanoseconds},
}

// ErrNoSwitches says that a recording is not of sched:sched_switch with its fields, which
// times off the CPU are made of.
var ErrNoSwitches = errors.New("it is no recording of sched:sched_switch, of which times off the CPU are made")

// ErrSomeSwitches says that a recording has a part of the switches only.
var ErrSomeSwitches = errors.New("its samples of sched:sched_switch are not all switches, but each so many: times off the CPU cannot be told")

// offCPU makes rows of the times that tasks were off the CPU, with the stacks at which
// they left it: its samples become points, which go through the batches, as the stacks
// do, and are sorted and paired behind them.
//
//	take ─► batch.points ─► add ─► timeorder ─► span.OffCPU ─► Set
type offCPU struct {
	r       *rows
	formats func() (*payload.Formats, error)
	events  []switchFields   // by index of event
	seen    map[int32]uint64 // times of the last switch, by CPU
	tasks   map[int32]int32  // by their number in samples, that in fields
	failed  error

	// Behind the batches.
	event  int // of the Set
	sorter *timeorder.Sorter
	pairs  *span.OffCPU
	point  span.Point
	bytes  []byte
	labels map[stateLabels]stacks.LabelsID
	err    error
}

// switchFields are the fields of an event that are needed.
type switchFields struct {
	known           bool
	kind            span.Kind
	task, state, to *format.Field // of a wake-up only task
}

type stateLabels struct {
	labels stacks.LabelsID
	state  span.State
}

// batchPoint is a point on its way, whose Row is the index of a stack of its batch, or
// the end of a round.
type batchPoint struct {
	span.Point
	task  labelKey
	round bool
}

// noRow is the Row of a point to which no row of the Set belongs: it is not selected.
const noRow = ^uint32(0)

func newOffCPU(r *rows, formats func() (*payload.Formats, error)) *offCPU {
	x := &offCPU{r: r, formats: formats, seen: map[int32]uint64{}, tasks: map[int32]int32{}, labels: map[stateLabels]stacks.LabelsID{}}
	x.event = r.set.AddEvent(stacks.Event{Name: OffCPUEvent, Values: offCPUValues})
	x.sorter = timeorder.New(timeorder.Options{Emit: x.emit})
	x.pairs = span.NewOffCPU(x.count)
	return x
}

// fields returns what of an event is needed, nil where it is not.
func (x *offCPU) fields(e *perfdata.Event) *switchFields {
	for len(x.events) <= e.Index {
		x.events = append(x.events, switchFields{})
	}
	f := &x.events[e.Index]
	if !f.known {
		f.known = true
		x.find(f, e)
	}
	if f.task == nil {
		return nil
	}
	return f
}

// find looks at the format of an event.
func (x *offCPU) find(f *switchFields, e *perfdata.Event) {
	formats, err := x.formats()
	if err != nil || formats == nil {
		return
	}
	of, err := formats.Of(&e.Attr)
	if err != nil && x.failed == nil {
		x.failed = err
	}
	if of == nil || of.System != "sched" {
		return
	}
	switch of.Name {
	case "sched_switch":
		if e.Attr.Flags&abi.FlagFreq != 0 || e.Attr.SamplePeriod > 1 {
			x.failed = ErrSomeSwitches
			return
		}
		f.kind, f.state, f.to = span.Switch, of.Field("prev_state"), of.Field("next_pid")
		if f.state != nil && f.to != nil {
			f.task = of.Field("prev_pid")
		}
	case "sched_wakeup", "sched_wakeup_new", "sched_waking":
		f.kind, f.task = span.Wake, of.Field("pid")
	}
}

// take makes a point of a sample, if it is one of a switch or a wake-up.
func (x *offCPU) take(s *samples.Sample) {
	r := x.r
	for _, c := range s.Counts {
		r.grow(c.Event.Index)
		r.stats.samples[c.Event.Index]++
	}
	f := x.fields(s.Event)
	if f == nil {
		return
	}
	task, ok := f.task.Uint(s.Raw)
	if !ok {
		return
	}
	p := batchPoint{Point: span.Point{Time: s.Time, Kind: f.kind, CPU: s.CPU, Task: int32(task), Row: noRow}}
	if f.kind == span.Switch {
		next, _ := f.to.Uint(s.Raw)
		state, _ := f.state.Uint(s.Raw)
		p.Next, p.State = int32(next), span.StateOf(state)
		x.seen[s.CPU] = s.Time
		if s.TID > 0 {
			x.tasks[s.TID] = p.Task
		}
		x.locate(&p, s)
	}
	x.add(p)
}

// locate gives a switch the stack and the labels of the task that leaves.
func (x *offCPU) locate(p *batchPoint, s *samples.Sample) {
	r := x.r
	switch {
	case p.Task == 0 || p.State == span.Dead:
		return
	case r.opts.selects() && !r.selected(s), r.fields.matches(r, s) != expr.Yes:
		r.census.add(r, s)
		return
	}
	r.countTask(s)
	for _, c := range s.Counts {
		r.count(s, c)
	}
	p.Row = uint32(r.stack(s))
	p.task = labelKey{name: s.State.Name, pid: s.PID, tid: s.TID, cpu: s.CPU, fields: r.fields.labelsOf(r, s, s.Counts[0])}
}

// lost is samples.Order.Lost.
func (x *offCPU) lost(cpu int32, t uint64) {
	from := x.seen[cpu]
	if t == 0 {
		t = from
	}
	x.add(batchPoint{Point: span.Point{Time: from, Kind: span.LostFrom, CPU: cpu, Row: noRow}})
	x.add(batchPoint{Point: span.Point{Time: t, Kind: span.LostTo, CPU: cpu, Row: noRow}})
}

// order is what is to be told of.
func (x *offCPU) order() samples.Order {
	return samples.Order{Round: x.round, Lost: x.lost, Came: x.came}
}

// came is samples.Order.Came. The thread is known by the number of its samples, which in
// a namespace of processes is not the kernel's.
func (x *offCPU) came(tid, cpu int32, t uint64) {
	if task, ok := x.tasks[tid]; ok {
		x.add(batchPoint{Point: span.Point{Time: t, Kind: span.Come, CPU: cpu, Task: task, Row: noRow}})
	}
}

// round is samples.Order.Round.
func (x *offCPU) round() { x.add(batchPoint{round: true}) }

func (x *offCPU) add(p batchPoint) {
	b := x.r.batch
	b.points = append(b.points, p)
	if len(b.points) >= batchRows || len(b.locs) >= batchLocs {
		x.r.complete()
	}
}

// addPoints sorts the points of a batch, whose stacks have their ids.
func (x *offCPU) addPoints(b *batch) {
	for i := range b.points {
		p := &b.points[i]
		if p.round {
			_, err := x.sorter.FinishRound()
			x.fail(err)
			continue
		}
		if p.Row != noRow {
			p.Row, p.Owner = uint32(b.ids[p.Row]), uint32(x.r.labels.of(p.task))
		}
		x.bytes, _ = p.AppendBinary(x.bytes[:0])
		x.fail(x.sorter.Add(p.Time, 0, x.bytes, nil))
	}
	b.points = b.points[:0]
}

func (x *offCPU) fail(err error) {
	if x.err == nil {
		x.err = err
	}
}

// emit takes the points in the order of time.
func (x *offCPU) emit(rec timeorder.Record) error {
	x.point.Time = rec.Time
	x.point.Decode(rec.Bytes)
	x.pairs.Take(&x.point)
	return nil
}

// count adds a time off the CPU to the Set.
func (x *offCPU) count(s *span.OffSpan) {
	if s.Row == noRow {
		return
	}
	key := stateLabels{stacks.LabelsID(s.Owner), s.State}
	id, ok := x.labels[key]
	if !ok {
		list := append([]stacks.Label{}, x.r.set.Labels(key.labels)...)
		id = x.r.set.InternLabels(append(list, stacks.Label{Key: OffCPUState, Str: s.State.String()}))
		x.labels[key] = id
	}
	blocked, runnable, unended := int64(s.Blocked), int64(s.Runnable), int64(0)
	if s.Open {
		blocked, runnable, unended = 0, 0, blocked+runnable
	}
	n := x.r.set.Add(x.event, stacks.StackID(s.Row), id, 1, blocked, runnable, unended, blocked+runnable)
	if x.r.opts.Times && !s.Open {
		x.r.set.AddTimedSample(stacks.TimedSample{Time: s.Start, Sample: uint32(n), Value: blocked + runnable})
	}
}

// finish pairs what is left.
func (x *offCPU) finish(st *Stats) error {
	x.fail(x.sorter.Finish())
	x.pairs.Finish()
	late := x.sorter.Stats().Late
	x.fail(x.sorter.Close())
	switch switches := x.hasSwitches(); {
	case x.err != nil:
		return x.err
	case !switches && x.failed != nil:
		return x.failed
	case !switches:
		return ErrNoSwitches
	}
	st.OffCPU, st.OffCPULate = x.pairs.Stats, late
	set := x.r.set
	set.DefaultType = OffCPUEvent
	if st.LastTime > st.FirstTime {
		set.DurationNanos = int64(st.LastTime - st.FirstTime)
	}
	set.SortTimedSamples()
	return nil
}

// close removes what was written to sort, of rows that are given up.
func (r *rows) close() error {
	if r.offCPU == nil {
		return nil
	}
	return r.offCPU.sorter.Close()
}

// hasSwitches reports whether there is an event to make times of.
func (x *offCPU) hasSwitches() bool {
	for _, e := range x.r.events.Events {
		if f := x.fields(e); f != nil && f.kind == span.Switch {
			return true
		}
	}
	return false
}
