package replay

import (
	"errors"
	"slices"

	"kprof/convert/samples"
	"kprof/convert/span"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/perfdata"
)

// WallClockEvent is the name of the Set's event with Options.WallClock.
const WallClockEvent = "wall-clock"

// wallClockValues are its columns. The last is the sum of the three before: of a thread all
// of its life, from when it was first seen leaving a CPU or on one, to the end of the
// recording if it has not come back.
var wallClockValues = timeColumns("running", "runnable", "blocked", WallClockEvent)

// RunningState is what OffCPUState says of time on the CPU.
const RunningState = "running"

// ErrNoClock says that a recording has no samples that tell how long tasks are on the CPU.
var ErrNoClock = errors.New("it is no recording of cpu-clock or task-clock, of which times on the CPU are made")

// isClock reports whether an event's periods are times on the CPU.
func isClock(a *abi.Attr) bool {
	return a.Type == abi.TypeSoftware && (a.Config == abi.SWCPUClock || a.Config == abi.SWTaskClock)
}

// takeClock makes a point of a sample of a clock. It is false of others.
func (o *offCPU) takeClock(s *samples.Sample) bool {
	r := o.x.r
	if !r.opts.WallClock {
		return o.takePlace(s)
	}
	for _, c := range s.Counts {
		if !isClock(&c.Event.Attr) {
			continue
		}
		switch {
		case s.TID == 0: // idle
		case r.opts.selects() && !r.selected(s), r.fields.matches(r, s) != expr.Yes:
			r.census.add(r, s)
		default:
			p := batchPoint{Point: span.Point{Time: s.When(), Kind: span.Nothing, Value: int64(c.Period)}, running: true}
			o.x.locate(&p, s)
			o.sampled(&p, s)
			o.x.add(p)
		}
		return true
	}
	return false
}

// running adds a time on the CPU to the Set.
func (o *offCPU) running(p *batchPoint) {
	key := stateLabels{labels: stacks.LabelsID(p.Owner), running: true}
	id, ok := o.labels[key]
	if !ok {
		list := append([]stacks.Label{}, o.x.r.set.Labels(key.labels)...)
		id = o.x.r.set.InternLabels(append(list, stacks.Label{Key: OffCPUState, Str: RunningState}))
		o.labels[key] = id
	}
	o.add(p.Time, stacks.StackID(p.Row), id, wallTimes{running: p.Value})
}

// wallTimes are the columns of a row of WallClockEvent, ns.
type wallTimes struct{ running, runnable, blocked int64 }

// add adds a row of WallClockEvent to the Set.
func (o *offCPU) add(at uint64, stack stacks.StackID, labels stacks.LabelsID, t wallTimes) {
	set, all := o.x.r.set, t.running+t.runnable+t.blocked
	n := set.Add(o.event, stack, labels, 1, t.running, t.runnable, t.blocked, all)
	if o.x.r.opts.Times && at != 0 {
		set.AddTimedSample(stacks.TimedSample{Time: at, Sample: uint32(n), Value: all})
	}
}

// checkClock returns an error where a clock is wanted and there is none.
func (o *offCPU) checkClock() error {
	if o.x.r.opts.WallClock && !slices.ContainsFunc(o.x.r.events.Events, func(e *perfdata.Event) bool { return isClock(&e.Attr) }) {
		return ErrNoClock
	}
	return nil
}
