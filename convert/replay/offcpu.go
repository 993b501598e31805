package replay

import (
	"errors"
	"slices"

	"kprof/convert/samples"
	"kprof/convert/span"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/perfdata"
)

// OffCPUEvent is the name of the Set's event with Options.OffCPU.
const OffCPUEvent = "off-cpu"

// OffCPUState is the label that says in which state a task left the CPU.
const OffCPUState = "state"

// offCPUValues are its columns. The last is the sum of blocked and runnable; unended are
// the times of tasks that had not come back by the end.
var offCPUValues = timeColumns("blocked", "runnable", "unended", OffCPUEvent)

// timeColumns are the number of samples, and times.
func timeColumns(times ...string) []stacks.ValueType {
	columns := []stacks.ValueType{{Type: "samples", Unit: "count"}}
	for _, name := range times {
		columns = append(columns, stacks.ValueType{Type: name, Unit: nanoseconds})
	}
	return columns
}

// ErrNoSwitches says that a recording is not of sched:sched_switch with its fields, which
// times off the CPU are made of.
var ErrNoSwitches = errors.New("it is no recording of sched:sched_switch, of which times off the CPU are made")

// ErrNoSwitchFields says that a recording of sched:sched_switch does not have its fields.
var ErrNoSwitchFields = errors.New("nothing in it says what the fields of its sched:sched_switch are, of which times off the CPU are made")

// ErrSomeSwitches says that a recording has a part of the switches only.
var ErrSomeSwitches = errors.New("its samples of sched:sched_switch are not all switches, but each so many: times off the CPU cannot be told")

// offCPU makes rows of the times that tasks were off the CPU, with the stacks at which
// they left it.
type offCPU struct {
	x      *pairing
	events []switchFields  // by index of event
	tasks  map[int32]int32 // by their number in samples, that in fields
	// By number in samples, when threads came to a CPU of which no switch has been seen yet, in
	// this round and in the one before: a thread that was on another CPU comes here first in the
	// file where this CPU's records lie before those of the other one.
	early [2]map[int32][]arrival
	kept  int // in this round

	buffers buffers
	others  uint64 // Stats.OtherBuffers

	// Behind the batches.
	event  int // of the Set
	pairs  *span.OffCPU
	labels map[stateLabels]stacks.LabelsID
	wakers wakers
	only   onlySwitches
	delays map[int32]*Delays
}

// arrival is a thread's coming to a CPU.
type arrival struct {
	time uint64
	cpu  int32
}

// maxEarly bounds how many arrivals are kept in a round, of threads of which no switch was seen.
const maxEarly = 1 << 16

// switchFields are the fields of an event that are needed.
type switchFields struct {
	known    bool
	kind     span.Kind
	waking   bool          // in the place where the waker is
	task, to *format.Field // of a wake-up only task
	states   *taskStates   // of a switch
	other    bool          // of another buffer than that whose switches are paired
}

type stateLabels struct {
	labels stacks.LabelsID
	state  span.State
	waker  uint32 // WakerOwner
	nearby bool   // see onlySwitches
	took   took

	running bool
}

func newOffCPU(x *pairing) *offCPU {
	o := &offCPU{x: x, tasks: map[int32]int32{}, delays: map[int32]*Delays{}, labels: map[stateLabels]stacks.LabelsID{}}
	e := stacks.Event{Name: OffCPUEvent, Values: offCPUValues}
	if x.r.opts.WallClock {
		e = stacks.Event{Name: WallClockEvent, Values: wallClockValues}
	}
	o.event = x.r.set.AddEvent(e)
	o.pairs = span.NewOffCPU(o.count)
	o.wakers = newWakers(x.r)
	o.early = [2]map[int32][]arrival{{}, {}}
	o.only = onlySwitches{ending: map[int32]bool{}, last: map[int32]seen{}}
	return o
}

// fields returns what of an event is needed, nil where it is not.
func (o *offCPU) fields(e *perfdata.Event) *switchFields {
	for len(o.events) <= e.Index {
		o.events = append(o.events, switchFields{})
	}
	f := &o.events[e.Index]
	if !f.known {
		f.known = true
		o.find(f, e)
	}
	if f.task == nil {
		return nil
	}
	return f
}

// find looks at the format of an event.
func (o *offCPU) find(f *switchFields, e *perfdata.Event) {
	formats, err := o.x.formats()
	if err != nil || formats == nil {
		return
	}
	of, err := formats.Of(&e.Attr)
	if err != nil && o.x.failed == nil {
		o.x.failed = err
	}
	if of == nil || of.System != "sched" {
		return
	}
	o.buffers.scan(o.x.r.events.Events, formats)
	f.other = o.buffers.leaves(bufferOf(e, of))
	switch of.Name {
	case "sched_switch":
		if e.Attr.Flags&abi.FlagFreq != 0 || e.Attr.SamplePeriod > 1 {
			o.x.failed = ErrSomeSwitches
			return
		}
		f.kind, f.to = span.Switch, of.Field("next_pid")
		if state := of.Field("prev_state"); state != nil && f.to != nil {
			f.states, f.task = newTaskStates(state, of, formats), of.Field("prev_pid")
		}
	case "sched_wakeup", "sched_wakeup_new", "sched_waking":
		f.kind, f.task, f.waking = span.Wake, of.Field("pid"), of.Name == "sched_waking"
	}
}

// take makes a point of a sample, if it is one of a switch or a wake-up.
func (o *offCPU) take(s *samples.Sample) bool {
	f := o.fields(s.Event)
	if f == nil {
		return o.takeClock(s)
	}
	if f.other {
		o.others++
		return true
	}
	task, ok := f.task.Uint(s.Raw)
	if !ok {
		return true
	}
	p := batchPoint{Point: span.Point{Time: s.Time, Kind: f.kind, CPU: s.CPU, Task: int32(task), Row: noRow}}
	if f.kind == span.Switch {
		next, _ := f.to.Uint(s.Raw)
		p.Next, p.State = int32(next), f.states.of(s.Raw)
		if s.TID > 0 {
			o.know(s.TID, p.Task)
		}
		o.locate(&p, s)
	}
	if f.kind == span.Wake && o.takesWaker(f) {
		o.x.place(&p, s)
	}
	o.x.add(p)
	return true
}

// locate gives a switch the stack and the labels of the task that leaves.
func (o *offCPU) locate(p *batchPoint, s *samples.Sample) {
	r := o.x.r
	switch {
	case p.Task == 0 || p.State == span.Dead:
		return
	case r.opts.selects() && !r.selected(s), r.fields.matches(r, s) != expr.Yes:
		r.census.add(r, s)
		return
	}
	o.x.locate(p, s)
}

// came is samples.Order.Came. The thread is known by the number of its samples, which in
// a namespace of processes is not the kernel's.
func (o *offCPU) came(tid, cpu int32, t uint64) {
	if o.bySwitches() {
		o.x.add(batchPoint{Point: span.Point{Time: t, Kind: span.Come, CPU: cpu, Task: tid, Row: noRow}})
		return
	}
	if task, ok := o.tasks[tid]; ok {
		o.x.add(batchPoint{Point: span.Point{Time: t, Kind: span.Come, CPU: cpu, Task: task, Row: noRow}})
		return
	}
	if o.kept < maxEarly {
		o.kept++
		o.early[0][tid] = append(o.early[0][tid], arrival{t, cpu})
	}
}

// know notes the number that fields have of a thread, and adds where it has been already.
func (o *offCPU) know(tid, task int32) {
	_, known := o.tasks[tid]
	o.tasks[tid] = task
	if known {
		return
	}
	for _, early := range o.early {
		for _, a := range early[tid] {
			o.x.add(batchPoint{Point: span.Point{Time: a.time, Kind: span.Come, CPU: a.cpu, Task: task, Row: noRow}})
		}
		delete(early, tid)
	}
}

// round ends a round: what left before the last one is in the file by now.
func (o *offCPU) round() {
	clear(o.early[1])
	o.early[0], o.early[1], o.kept = o.early[1], o.early[0], 0
}

// count adds a time off the CPU to the Set.
func (o *offCPU) count(s *span.OffSpan) {
	x, total := o.x, s.Blocked+s.Runnable
	if s.Row == noRow || x.leavesOut(total) {
		return
	}
	o.delayed(s)
	stack := stacks.StackID(s.Row)
	key := stateLabels{labels: stacks.LabelsID(s.Owner), state: s.State, nearby: o.only.placed && len(x.r.set.Stack(stack)) > 0, took: noTook}
	if !x.r.opts.WallClock {
		key.took = x.r.took(total)
	}
	if s.Waker != span.NoRow {
		key.waker, stack = s.WakerOwner, o.wakers.join(stack, stacks.StackID(s.Waker))
	}
	id, ok := o.labels[key]
	if !ok {
		list := append([]stacks.Label{}, x.r.set.Labels(key.labels)...)
		list = append(list, stacks.Label{Key: OffCPUState, Str: s.State.String()})
		if key.nearby {
			list = append(list, stacks.Label{Key: StackLabel, Str: lastSample})
		}
		if by, ok := x.r.set.Label(stacks.LabelsID(key.waker), "comm"); ok && s.Waker != span.NoRow {
			list = append(list, stacks.Label{Key: WakerLabel, Str: by.Str})
		}
		id = x.r.set.InternLabels(key.took.appendTo(list))
		o.labels[key] = id
	}
	if x.r.opts.WallClock {
		o.add(s.Start, stack, id, wallTimes{blocked: int64(s.Blocked), runnable: int64(s.Runnable)})
		return
	}
	blocked, runnable, unended := int64(s.Blocked), int64(s.Runnable), int64(0)
	if s.Open {
		blocked, runnable, unended = 0, 0, blocked+runnable
	} else {
		x.measure(o.event, id, total)
	}
	n := x.r.set.Add(o.event, stack, id, 1, blocked, runnable, unended, blocked+runnable)
	if x.r.opts.Times && !s.Open {
		x.r.set.AddTimedSample(stacks.TimedSample{Time: s.Start, Sample: uint32(n), Value: int64(total)})
		if s.Waker != span.NoRow {
			x.r.set.Wakes = append(x.r.set.Wakes, stacks.Wake{Time: s.Start + s.Blocked, By: stacks.LabelsID(s.WakerOwner), Woken: id})
		}
	}
}

// check returns an error where there is no event to make times of.
func (o *offCPU) check() error {
	for _, e := range o.x.r.events.Events {
		if f := o.fields(e); f != nil && f.kind == span.Switch {
			return o.checkClock()
		}
	}
	switch {
	case o.x.failed != nil:
		return o.x.failed
	case o.only.any:
		return o.checkClock()
	case slices.ContainsFunc(o.x.r.events.Events, func(e *perfdata.Event) bool {
		return e.Attr.Type == abi.TypeTracepoint && e.Name == "sched:sched_switch"
	}):
		return ErrNoSwitchFields
	}
	return ErrNoSwitches
}
