package replay

import (
	"slices"

	"kprof/convert/locate"
	"kprof/convert/payload"
	"kprof/convert/samples"
	"kprof/convert/span"
	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/syscalls"
)

// rows makes rows of a Set of samples: events, locations, labels and values. Samples go
// in one by one (take); batches of rows come out, to be added to the Set (addTo), by
// another goroutine too.
type rows struct {
	tl     *timeline.Timeline
	events *perfdata.EventSet
	opts   *Options
	flush  func(*batch) *batch // takes a batch, and returns an empty one

	set     *stacks.Set
	locator *locate.Locator
	batch   *batch
	columns []int // of the Set's events by index of the recording's, -1 before the first sample
	labels  labels
	naming  eventNaming
	fields  fields
	census  census
	tracer  bool     // the kernel's tracer made the recording
	pairing *pairing // nil where rows are of samples alone
	calls   map[callKey]*span.Histogram
	code    kernelCode
	bound   bound
	stats   rowStats

	measuresTime func(*perfdata.Event) bool // see samples.File.MeasuresTime
}

// rowStats are the parts of Stats that rows say, by index of event.
type rowStats struct {
	samples, taken, period []uint64
	unnamed, exited        uint64
	unknownTask            uint64
	guest, hypervisor      uint64
	unended                uint64
	first, last            uint64
}

func newRows(tl *timeline.Timeline, events *perfdata.EventSet, opts *Options, exact bool) *rows {
	set := stacks.New()
	set.CallersExact = exact
	r := &rows{
		tl: tl, events: events, opts: opts,
		set: set, locator: locate.New(tl, set, locate.Options{CallersExact: exact, Unwind: opts.Unwind}),
		batch:  &batch{},
		labels: newLabels(tl, set, opts.Labels),
		naming: eventNaming{host: &perfdata.Host{}},
		fields: fields{opts: opts, labels: newFieldLabels(opts.labelKeys()), open: func() (*payload.Formats, error) { return opts.Formats, nil }},

		measuresTime: samples.MeasuresOffCPU,
	}
	r.labels.lists = r.fields.labels.first()
	r.bound.Bound = NewBound(opts.MaxMemory)
	r.labels.most = r.bound.mostLabels()
	r.code = kernelCode{tl: tl, ask: opts.KernelCode}
	r.fields.labels.code, r.fields.labels.syscalls = r.code.find, r.syscalls
	r.fields.arch = func() string { return r.naming.host.Arch }
	r.flush = func(b *batch) *batch {
		b.addTo(r)
		return b
	}
	return r
}

// syscalls are the system calls of the recorded machine, nil where it is not known.
func (r *rows) syscalls() *syscalls.Table { return syscalls.Of(r.naming.host.Arch) }

// row is what a sample counts of an event, as the Set takes it.
type row struct {
	stack  int // index into batch.ends
	event  int
	task   labelKey
	values [2]int64 // 1, and the period or Options.Value
	time   uint64   // 0 where it is not kept
	weight int64    // of values, the one of the weight column
}

// batch is rows on their way into the Set.
type batch struct {
	rows   []row
	points []batchPoint
	calls  []batchCall
	ends   []int // of each stack's locations in locs
	locs   []uint32
	ids    []stacks.StackID

	lists [][]stacks.Label // new ones, see fieldLabels
}

const (
	batchRows = 1 << 10
	batchLocs = 1 << 15
)

// addTo adds the rows to the Set, and empties the batch.
func (b *batch) addTo(r *rows) {
	if r.bound.full {
		b.keepKnown(r)
	}
	b.ids = r.set.InternAll(b.ids[:0], b.locs, b.ends)
	r.set.Fetch(b.ids)
	r.labels.lists = append(r.labels.lists, b.lists...)
	for i := range b.rows {
		x := &b.rows[i]
		n := r.set.Add(x.event, b.ids[x.stack], r.labels.of(x.task), x.values[:]...)
		if x.time == 0 {
			continue
		}
		if r.opts.Times && !r.bound.timeless {
			r.set.AddTimedSample(stacks.TimedSample{Time: x.time, Sample: uint32(n), Value: x.weight})
		}
		if r.opts.Blocks {
			r.set.AddBlockSum(stacks.BlockSum{Time: x.time, Sample: uint32(n), Count: 1, Value: x.weight})
		}
	}
	b.addCalls(r)
	if r.pairing != nil {
		r.pairing.addPoints(b)
	}
	b.rows, b.ends, b.locs, b.lists = b.rows[:0], b.ends[:0], b.locs[:0], b.lists[:0]
	r.keepWithin()
}

// take makes rows of a sample: one, or one for each counter that it read.
func (r *rows) take(s *samples.Sample) {
	if r.pairing != nil && r.pairing.take(s) {
		return
	}
	selected := !r.opts.selects() || r.selected(s)
	matches := expr.No
	if selected {
		matches = r.fields.matches(r, s)
		selected = matches == expr.Yes
	}
	if selected {
		r.countTask(s)
		if s.Unended {
			r.stats.unended++
		}
	}
	stack := -1
	for _, c := range s.Counts {
		i := c.Event.Index
		r.grow(i)
		r.stats.samples[i]++
		switch {
		case len(r.opts.Events) > 0 && !r.naming.takes(r.events.Events, r.opts.Events, i):
			continue
		case !selected:
			if matches == expr.Unknown {
				r.fields.of(c.Event).unmatched++
			}
			r.census.add(r, s)
			continue
		}
		value := int64(c.Period)
		if r.opts.Value != nil {
			var ok bool
			if value, ok = r.fields.valueOf(r, s, c); !ok {
				continue
			}
		}
		if stack < 0 {
			stack = r.stack(s)
		}
		r.count(s, c)
		x := row{
			stack: stack, event: r.column(c.Event),
			task:   labelKey{name: s.State.Name, pid: s.PID, tid: s.TID, cpu: s.CPU, cgroup: s.Cgroup, fields: r.fields.labelsOf(r, s, c)},
			values: [2]int64{1, value},
		}
		if r.opts.Times || r.opts.Blocks {
			x.time, x.weight = s.When(), x.values[r.weightColumn(c.Event)]
		}
		r.noteCall(s, c)
		r.batch.rows = append(r.batch.rows, x)
	}
	if len(r.batch.rows) >= batchRows || len(r.batch.locs) >= batchLocs {
		r.complete()
	}
}

// stack appends the locations of a sample to the batch, and returns the stack's index.
func (r *rows) stack(s *samples.Sample) int {
	b := r.batch
	b.locs = r.locator.Append(b.locs, s)
	b.ends = append(b.ends, len(b.locs))
	return len(b.ends) - 1
}

// complete passes on the rows that were made. It is to be called before the Timeline
// changes, and at the end.
func (r *rows) complete() {
	r.locator.Complete(r.batch.locs)
	r.batch = r.flush(r.batch)
}

// countTask counts a sample whose task or mode says what is not known of it.
func (r *rows) countTask(s *samples.Sample) {
	switch {
	case s.Event != nil && s.Event.Attr.SampleType&abi.SampleTID == 0: // it was not asked for
	case s.TID == -1 && r.tracer: // it writes the numbers of tasks while they are there
		r.stats.unknownTask++
	case s.State.Name >= 0 || s.TID == 0 && s.State.Name == timeline.NoName:
	case s.TID == -1:
		r.stats.exited++
	default:
		r.stats.unnamed++
	}
	switch timeline.ModeOf(s.Misc) {
	case timeline.GuestUser:
		r.stats.guest++
	case timeline.Hypervisor:
		r.stats.hypervisor++
	}
}

// count sums up a sample of an event.
func (r *rows) count(s *samples.Sample, c samples.Count) {
	st := &r.stats
	st.taken[c.Event.Index]++
	r.census.over = true
	st.period[c.Event.Index] += c.Period
	if t := s.When(); t != 0 {
		if st.first == 0 || t < st.first {
			st.first = t
		}
		st.last = max(st.last, t)
	}
}

// selects reports whether o leaves any sample out, whatever its event.
func (o *Options) selects() bool {
	return o.To != 0 || o.From != 0 ||
		len(o.PIDs)+len(o.TIDs)+len(o.CPUs)+len(o.Comms) > 0
}

// selected reports whether a sample is to be taken, if its event is.
func (r *rows) selected(s *samples.Sample) bool {
	o := r.opts
	in := func(list []int32, x int32) bool { return len(list) == 0 || slices.Contains(list, x) }
	return in(o.PIDs, s.PID) && in(o.TIDs, s.TID) && in(o.CPUs, s.CPU) &&
		s.Time >= o.From && (o.To == 0 || s.Time <= o.To) &&
		(len(o.Comms) == 0 || slices.Contains(o.Comms, r.tl.Comm(s.State.Name, s.TID)))
}

// weightColumn is weightColumn, where periods may be times off the CPU, or values in
// their place.
func (r *rows) weightColumn(e *perfdata.Event) int {
	if r.opts.Value != nil || r.measuresTime(e) {
		return 1
	}
	return weightColumn(&e.Attr)
}
