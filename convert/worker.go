package convert

import (
	"slices"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// worker turns samples into rows of a Set: locations, labels and values. It does
// not add them: see take.
type worker struct {
	tl     *timeline
	events *perfdata.EventSet
	opts   *Options
	clock  clock

	set     *stacks.Set
	locator *locator
	stats   workerStats

	emit func(row) // see take

	columns []int // of the Set's events by index of the recording's, -1 before the first sample
	sample  abi.Sample
	views   views
	locs    []uint32     // of the row
	tasks   []cachedTask // direct-mapped cache by tid
	labels  labels
	read    map[readingKey]reading
	joining joining
	unwind  *unwinder // nil for none

	forgotten uint32 // tl.forgotten when tasks were cached
}

// workerStats are the parts of Stats that samples tell, by index of event.
type workerStats struct {
	samples, taken, period []uint64
	unknownEvent, bad      uint64
	badRecords             uint64
	unnamed, exited        uint64
	halfChains             uint64
	unwalked, cut          uint64 // copies of stacks: with nobody to walk them, not walked to the end
	guest, hypervisor      uint64
	first, last            uint64
}

type cachedTask struct {
	pid, tid        int32
	process, thread *task
}

// clock says what orders the records of a recording: their times, or their
// places where they have none.
type clock struct{ byPlace bool }

func newWorker(tl *timeline, events *perfdata.EventSet, opts *Options) *worker {
	set := stacks.New()
	w := &worker{
		tl: tl, events: events, opts: opts,
		set: set, locator: newLocator(tl, set),
		tasks:  make([]cachedTask, 1<<10),
		labels: newLabels(tl, set, opts.Labels),
	}
	if opts.Unwind != nil {
		w.unwind = newUnwinder(opts.Unwind, w.locator)
	}
	return w
}

// row is a sample as the Set takes it, but for its locations.
type row struct {
	event  int
	task   labelKey
	values [2]int64 // 1, and the period
	time   uint64   // 0 where it is not kept
	weight int64    // of values, the one of the weight column
}

// take passes the rows that a record makes to w.emit, with their locations in
// w.locs until it returns, but for those still to be found (w.locator.missed).
// place is the record's ordinal number among all.
func (w *worker) take(h abi.Header, payload []byte, place uint64) {
	switch h.Type {
	case abi.RecordSample:
		w.takeSample(h.Misc, payload, place)
	case abi.RecordCallchainDeferred:
		w.takeDeferred(payload, place)
	}
}

func (w *worker) takeSample(misc abi.Misc, payload []byte, place uint64) {
	w.sample.Time = 0
	e := w.events.OfSample(payload)
	if e == nil {
		w.stats.unknownEvent++
		return
	}
	s := &w.sample
	if err := e.Layout.DecodeSample(s, misc, payload); err != nil {
		w.grow(e.Index)
		w.stats.samples[e.Index]++
		w.stats.bad++
		return
	}
	if isOffCPU(e) && !unpackOffCPU(s, w.events.Order) {
		w.grow(e.Index)
		w.stats.samples[e.Index]++
		w.stats.bad++
		return
	}
	t := s.Time
	if w.clock.byPlace {
		t = place
	}
	st := w.stateOf(s, t)
	if cookie, ok := deferredCookie(s); ok && !w.join(s, &st, payload, cookie) {
		return // until its user part comes
	}
	w.rows(e, s, &st)
}

// state is what is known of a sample's task at its time.
type state struct {
	time    uint64
	name    nameID
	process *task // or nil
	user    *space
	asOf    uint64 // the time to look at it
}

func (w *worker) stateOf(s *abi.Sample, t uint64) state {
	st := state{time: t, name: noName}
	tk := w.task(s.PID, s.TID)
	if tk.thread != nil {
		st.name = tk.thread.nameAt(t)
	}
	if st.process = tk.process; tk.process != nil {
		st.user, st.asOf = tk.process.spaceAt(t)
	}
	return st
}

// rows emits the rows of a sample: one, or one for each counter that it read.
func (w *worker) rows(e *perfdata.Event, s *abi.Sample, st *state) {
	selected := !w.opts.selects() || w.selected(s, st.name)
	if selected {
		switch {
		case st.name != noName || s.TID == 0:
		case s.TID == -1:
			w.stats.exited++
		default:
			w.stats.unnamed++
		}
		switch viewOf(s.Misc) {
		case viewGuestKernel, viewGuestUser:
			w.stats.guest++
		case viewHypervisor:
			w.stats.hypervisor++
		}
		w.locs = w.stack(w.locs[:0], e, s, st)
	}
	if e.Attr.SampleType&abi.SampleRead == 0 {
		w.row(e, s, st, periodOf(e, s), selected)
		return
	}
	w.readings(e, s, func(e *perfdata.Event, period uint64) {
		w.row(e, s, st, period, selected)
	})
}

// row counts a sample for an event, and emits it if it is selected.
func (w *worker) row(e *perfdata.Event, s *abi.Sample, st *state, period uint64, selected bool) {
	w.grow(e.Index)
	w.stats.samples[e.Index]++
	if !selected || w.opts.Event != "" && w.opts.Event != e.Name {
		return
	}
	w.count(e, s, period)
	r := row{
		event:  w.column(e),
		task:   labelKey{name: st.name, pid: s.PID, tid: s.TID, cpu: s.CPU},
		values: [2]int64{1, int64(period)},
	}
	if w.opts.Times {
		r.time, r.weight = timeOf(s), r.values[weightColumn(&e.Attr)]
	}
	w.emit(r)
}

// addNow puts a row into the Set as it is emitted.
func (w *worker) addNow(r row) {
	w.locator.locate(w.locs, w.locator.missed)
	w.add(&r, w.set.Intern(w.locs))
}

// add puts a row into the Set.
func (w *worker) add(r *row, stack stacks.StackID) {
	i := w.set.Add(r.event, stack, w.labels.of(r.task), r.values[:]...)
	if r.time != 0 {
		w.set.AddMoment(stacks.Moment{Time: r.time, Sample: uint32(i), Value: r.weight})
	}
}

// stack appends the locations of a sample, leaf first: its callchain, or its ip
// where it has none.
func (w *worker) stack(dst []uint32, e *perfdata.Event, s *abi.Sample, st *state) []uint32 {
	l, views := w.locator, &w.views
	views.of(w.tl, st)
	l.missed = l.missed[:0]
	if s.HasChain {
		if n := branchesFrom(e, s); n >= 0 {
			dst = l.chain(dst, s.Misc, s.Callchain[:n], views)
			dst = l.branches(dst, s.Callchain[n+1:], s.Branches, views)
		} else {
			dst = l.chain(dst, s.Misc, s.Callchain, views)
		}
	}
	if copiesStack(e, s) {
		dst = w.copied(dst, e, s)
	}
	if len(dst) == 0 {
		dst = append(dst, l.at(views.at(l, viewOf(s.Misc)), s.IP))
	}
	return dst
}

// copied appends the locations of a user stack of which there is a copy.
func (w *worker) copied(dst []uint32, e *perfdata.Event, s *abi.Sample) []uint32 {
	if w.unwind == nil {
		w.stats.unwalked++
		return dst
	}
	dst, whole := w.unwind.append(dst, e, s, &w.views)
	if !whole {
		w.stats.cut++
	}
	return dst
}

// periodOf returns the period of a sample. Where it was not recorded it is what was
// asked for, for perf too: of an event that was sampled at a frequency, that number.
func periodOf(e *perfdata.Event, s *abi.Sample) uint64 {
	if e.Attr.SampleType&abi.SamplePeriod != 0 {
		return s.Period
	}
	return max(e.Attr.SamplePeriod, 1)
}

// count sums up a sample of an event.
func (w *worker) count(e *perfdata.Event, s *abi.Sample, period uint64) {
	st := &w.stats
	st.taken[e.Index]++
	st.period[e.Index] += period
	if t := timeOf(s); t != 0 {
		if st.first == 0 || t < st.first {
			st.first = t
		}
		st.last = max(st.last, t)
	}
}

// task returns the process and the thread of a sample, as far as they are known.
func (w *worker) task(pid, tid int32) *cachedTask {
	if w.forgotten != w.tl.forgotten {
		w.forgotten = w.tl.forgotten
		clear(w.tasks)
	}
	c := &w.tasks[uint32(tid)%uint32(len(w.tasks))]
	if c.process == nil || c.thread == nil || c.pid != pid || c.tid != tid {
		*c = cachedTask{pid, tid, w.tl.tasks[pid], w.tl.tasks[tid]}
	}
	return c
}

// selects reports whether o leaves any sample out, whatever its event.
func (o *Options) selects() bool {
	return o.To != 0 || o.From != 0 ||
		len(o.PIDs)+len(o.TIDs)+len(o.CPUs)+len(o.Comms) > 0
}

// selected reports whether a sample is to be taken, if its event is.
func (w *worker) selected(s *abi.Sample, name nameID) bool {
	o := w.opts
	in := func(list []int32, x int32) bool { return len(list) == 0 || slices.Contains(list, x) }
	return in(o.PIDs, s.PID) && in(o.TIDs, s.TID) && in(o.CPUs, s.CPU) &&
		s.Time >= o.From && (o.To == 0 || s.Time <= o.To) &&
		(len(o.Comms) == 0 || slices.Contains(o.Comms, w.tl.commOf(name, s.TID)))
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
