package convert

import (
	"slices"
	"strconv"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// worker turns samples into rows of a Set: locations, labels and values. It does
// not add them: see row.
type worker struct {
	tl     *timeline
	events *perfdata.EventSet
	opts   *Options
	clock  clock

	set     *stacks.Set
	locator *locator
	stats   workerStats

	columns []int // of the Set's events by index of the recording's, -1 before the first sample
	sample  abi.Sample
	locs    []uint32 // of the row
	tasks   []task   // direct-mapped cache by tid
	labels  map[labelKey]stacks.LabelsID

	forgotten uint32 // tl.forgotten when tasks were cached
}

// workerStats are the parts of Stats that samples tell, by index of event.
type workerStats struct {
	samples, taken, period []uint64
	unknownEvent, bad      uint64
	unnamed, exited        uint64
	first, last            uint64
}

type task struct {
	pid, tid int32
	process  *process
	thread   *thread
}

type labelKey struct {
	name          nameID
	pid, tid, cpu int32
}

// clock says what orders the records of a recording: their times, or their
// places where they have none.
type clock struct{ byPlace bool }

func newWorker(tl *timeline, events *perfdata.EventSet, opts *Options) *worker {
	set := stacks.New()
	return &worker{
		tl: tl, events: events, opts: opts,
		set: set, locator: newLocator(tl, set),
		tasks:  make([]task, 1<<10),
		labels: map[labelKey]stacks.LabelsID{},
	}
}

// row is a sample as the Set takes it, but for its locations.
type row struct {
	event  int
	labels stacks.LabelsID
	values [2]int64 // 1, and the period
	time   uint64   // 0 where it is not kept
	weight int64    // of values, the one of the weight column
}

// row makes a sample a row, whose locations are in w.locs until the next call.
// It returns false for a sample that is left out. place is its ordinal number
// among all records.
func (w *worker) row(misc abi.Misc, payload []byte, place uint64) (r row, ok bool) {
	e := w.events.OfSample(payload)
	if e == nil {
		w.stats.unknownEvent++
		return r, false
	}
	w.grow(e.Index)
	w.stats.samples[e.Index]++
	s := &w.sample
	if err := e.Layout.DecodeSample(s, misc, payload); err != nil {
		w.stats.bad++
		return r, false
	}
	t := s.Time
	if w.clock.byPlace {
		t = place
	}
	tk := w.task(s.PID, s.TID)
	name := noName
	if tk.thread != nil {
		name = tk.thread.nameAt(t)
	}
	if w.opts.selects() && !w.selected(e, s, name) {
		return r, false
	}
	switch {
	case name != noName || s.TID == 0:
	case s.TID == -1:
		w.stats.exited++
	default:
		w.stats.unnamed++
	}
	w.locs = w.stack(w.locs[:0], s, tk, t)
	r = row{event: w.column(e), labels: w.labelsOf(s, name), values: [2]int64{1, w.count(e, s)}}
	if w.opts.Times {
		r.time, r.weight = s.Time, r.values[weightColumn(&e.Attr)]
	}
	return r, true
}

// add puts a row into the Set.
func (w *worker) add(r *row, locs []uint32) {
	i := w.set.Add(r.event, w.set.Intern(locs), r.labels, r.values[:]...)
	if r.time != 0 {
		w.set.AddMoment(stacks.Moment{Time: r.time, Sample: uint32(i), Value: r.weight})
	}
}

// stack appends the locations of a sample, leaf first: its callchain, or its ip
// where it has none.
func (w *worker) stack(dst []uint32, s *abi.Sample, tk *task, t uint64) []uint32 {
	var user, before *space
	var beforeTime uint64
	if tk.process != nil {
		user = tk.process.spaceAt(t)
		before, beforeTime = tk.process.spaceBefore(t)
	}
	l := w.locator
	views := [numViews]view{
		viewUser:        l.view(user, t, stacks.KindUnknown),
		viewKernel:      l.view(&w.tl.kernel, t, stacks.KindKernel),
		viewHypervisor:  l.view(nil, t, stacks.KindHypervisor),
		viewGuestKernel: l.view(&w.tl.guest, t, stacks.KindGuest),
		viewGuestUser:   l.view(nil, t, stacks.KindGuest),
		viewBeforeExec:  l.view(before, beforeTime, stacks.KindUnknown),
	}
	if s.HasChain {
		dst = l.chain(dst, s, &views)
	}
	if len(dst) == 0 {
		dst = append(dst, l.at(&views[viewOf(s.Misc)], s.IP))
	}
	return dst
}

// count sums up a sample and returns its period.
func (w *worker) count(e *perfdata.Event, s *abi.Sample) int64 {
	period := s.Period
	if e.Attr.SampleType&abi.SamplePeriod == 0 {
		period = 1
		if e.Attr.Flags&abi.FlagFreq == 0 && e.Attr.SamplePeriod > 0 {
			period = e.Attr.SamplePeriod
		}
	}
	st := &w.stats
	st.taken[e.Index]++
	st.period[e.Index] += period
	if s.Time != 0 {
		if st.first == 0 || s.Time < st.first {
			st.first = s.Time
		}
		st.last = max(st.last, s.Time)
	}
	return int64(period)
}

// task returns the process and the thread of a sample, as far as they are known.
func (w *worker) task(pid, tid int32) *task {
	if w.forgotten != w.tl.forgotten {
		w.forgotten = w.tl.forgotten
		clear(w.tasks)
	}
	c := &w.tasks[uint32(tid)%uint32(len(w.tasks))]
	if c.process == nil || c.thread == nil || c.pid != pid || c.tid != tid {
		*c = task{pid, tid, w.tl.processes[pid], w.tl.threads[tid]}
	}
	return c
}

// labelsOf returns the labels of a sample: comm and pid, and what was asked for.
func (w *worker) labelsOf(s *abi.Sample, name nameID) stacks.LabelsID {
	key := labelKey{name: name, pid: s.PID}
	if w.opts.Labels&LabelTID != 0 || name == noName {
		key.tid = s.TID
	}
	if w.opts.Labels&LabelCPU != 0 {
		key.cpu = s.CPU
	}
	id, ok := w.labels[key]
	if !ok {
		l := []stacks.Label{
			{Key: "comm", Str: w.comm(name, s.TID)},
			{Key: "pid", Num: int64(s.PID)},
		}
		if w.opts.Labels&LabelTID != 0 {
			l = append(l, stacks.Label{Key: "tid", Num: int64(s.TID)})
		}
		if w.opts.Labels&LabelCPU != 0 {
			l = append(l, stacks.Label{Key: "cpu", Num: int64(s.CPU)})
		}
		id = w.set.InternLabels(l)
		w.labels[key] = id
	}
	return id
}

// comm is the name of a thread; perf calls one without a name by its number, and
// the idle threads "swapper".
func (w *worker) comm(name nameID, tid int32) string {
	switch {
	case name != noName:
		return w.tl.names[name]
	case tid == 0:
		return "swapper"
	}
	return ":" + strconv.Itoa(int(tid))
}

// selects reports whether o leaves any sample out.
func (o *Options) selects() bool {
	return o.Event != "" || o.To != 0 || o.From != 0 ||
		len(o.PIDs)+len(o.TIDs)+len(o.CPUs)+len(o.Comms) > 0
}

func (w *worker) selected(e *perfdata.Event, s *abi.Sample, name nameID) bool {
	o := w.opts
	in := func(list []int32, x int32) bool { return len(list) == 0 || slices.Contains(list, x) }
	return (o.Event == "" || o.Event == e.Name) &&
		in(o.PIDs, s.PID) && in(o.TIDs, s.TID) && in(o.CPUs, s.CPU) &&
		s.Time >= o.From && (o.To == 0 || s.Time <= o.To) &&
		(len(o.Comms) == 0 || slices.Contains(o.Comms, w.comm(name, s.TID)))
}

// grow makes room for the events up to index.
func (w *worker) grow(index int) {
	for len(w.columns) <= index {
		w.columns = append(w.columns, -1)
		w.stats.samples = append(w.stats.samples, 0)
		w.stats.taken = append(w.stats.taken, 0)
		w.stats.period = append(w.stats.period, 0)
	}
}

// column returns the Set's event of an event of the recording.
func (w *worker) column(e *perfdata.Event) int {
	if w.columns[e.Index] < 0 {
		w.columns[e.Index] = w.set.AddEvent(setEvent(e))
	}
	return w.columns[e.Index]
}

// order gives the Set a column for each event that has samples, those that are
// missing in the order of the recording.
func (w *worker) order(samples []uint64) {
	for i, n := range samples {
		w.grow(i)
		if e := w.events.Events[i]; n > 0 && (w.opts.Event == "" || w.opts.Event == e.Name) {
			w.column(e)
		}
	}
}

// reorder brings the Set's events into the order of the recording, where they
// came in another one. That needs a copy of the Set.
func (w *worker) reorder() {
	var to []int // by index of the Set's event
	set := stacks.New()
	for i, c := range w.columns {
		if c >= 0 {
			to = slices.Grow(to, len(w.set.Events))[:len(w.set.Events)]
			to[c] = set.AddEvent(w.set.Events[c])
			w.columns[i] = to[c]
		}
	}
	if slices.IsSorted(to) {
		return
	}
	for _, m := range w.set.Mappings {
		set.AddMapping(m)
	}
	for _, l := range w.set.Locations {
		set.AddLocation(l.Mapping, l.Addr, l.Kind)
	}
	for i := range w.set.NumStacks() {
		set.Intern(w.set.Stack(stacks.StackID(i)))
	}
	for i := range w.set.NumLabels() {
		set.InternLabels(w.set.Labels(stacks.LabelsID(i)))
	}
	for i := range w.set.NumSamples() {
		s := w.set.Sample(i)
		set.Add(to[s.Event], s.Stack, s.Labels, s.Values...)
	}
	set.Moments = w.set.Moments // the rows have kept their numbers
	w.set = set
}

// setEvent describes an event in a Set: samples and the sum of periods.
func setEvent(e *perfdata.Event) stacks.Event {
	return stacks.Event{Name: e.Name, Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: e.Name, Unit: "count"}}}
}
