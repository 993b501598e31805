package replay

import (
	"cmp"
	"maps"
	"slices"

	"kprof/convert/payload"
	"kprof/convert/samples"
	"kprof/convert/span"
	"kprof/convert/stacks"
	"kprof/convert/timeorder"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// pairing makes rows of times between events, with the stacks at which they began:
// samples become points, which go through the batches, as the stacks do, and are sorted
// and paired behind them.
//
//	take ─► batch.points ─► add ─► timeorder ─┬► offCPU ─► Set
//	                                          └► ruleSpans
type pairing struct {
	r        *rows
	formats  func() (*payload.Formats, error)
	off      *offCPU    // nil without Options.OffCPU and WallClock
	rules    *ruleSpans // nil without Options.Spans
	seen     map[int32]uint64
	late     *perfdata.LateRings // nil for none
	buffered bool                // losses tell of which buffer of the tracer they are
	looked   int                 // events, when buffers was made
	buffers  map[string]bool     // of the tracer, of whose events times are made
	failed   error               // of a format

	// Behind the batches.
	sorter    *timeorder.Sorter
	point     span.Point
	bytes     []byte
	durations map[durationKey]*span.Histogram
	faster    Faster
	err       error
}

// durationKey is what one distribution of times is of.
type durationKey struct {
	event  int
	labels stacks.LabelsID
}

// Durations is the distribution of the times of one event's spans with certain labels.
type Durations struct {
	Event  int // of the Set
	Labels stacks.LabelsID
	*span.Histogram
}

// batchPoint is a point on its way, whose Row is the index of a stack of its batch, or
// the end of a round.
type batchPoint struct {
	span.Point
	task    labelKey
	round   bool
	running bool // Value ns on the CPU, as of Time
}

// noRow is the Row of a point to which no row of the Set belongs: it is not selected.
const noRow = span.NoRow

// newPairing returns the pairing that the options of r ask for, nil for none.
func newPairing(r *rows, formats func() (*payload.Formats, error)) *pairing {
	if !r.opts.pairs() {
		return nil
	}
	x := &pairing{r: r, formats: formats, seen: map[int32]uint64{}, durations: map[durationKey]*span.Histogram{}}
	x.sorter = timeorder.New(timeorder.Options{Emit: x.emit})
	if r.opts.OffCPU || r.opts.WallClock {
		x.off = newOffCPU(x)
	}
	if len(r.opts.Spans) > 0 {
		x.rules = newRuleSpans(x)
	}
	return x
}

// take makes points of a sample. It is false where others are to take it too.
func (x *pairing) take(s *samples.Sample) bool {
	taken := false
	if x.off != nil {
		taken = x.off.take(s)
	}
	if x.rules != nil {
		taken = x.rules.take(s) || taken
	}
	if taken {
		x.seen[s.CPU] = s.Time
	} else if x.r.opts.Beside {
		return false
	}
	for _, c := range s.Counts {
		x.r.grow(c.Event.Index)
		x.r.stats.samples[c.Event.Index]++
	}
	return true
}

// locate gives a point the stack and the labels of the sample that it is made of.
func (x *pairing) locate(p *batchPoint, s *samples.Sample) {
	r := x.r
	r.countTask(s)
	for _, c := range s.Counts {
		r.grow(c.Event.Index)
		r.count(s, c)
	}
	x.place(p, s)
	p.task.fields = r.fields.labelsOf(r, s, s.Counts[0])
}

// place is locate for what is not counted.
func (x *pairing) place(p *batchPoint, s *samples.Sample) {
	p.Row = uint32(x.r.stack(s))
	p.task = labelKey{name: s.State.Name, pid: s.PID, tid: s.TID, cpu: s.CPU, cgroup: s.Cgroup}
}

// begin says which rings begin late. To be called before the first sample.
func (x *pairing) begin(late []*perfdata.LateRings) {
	for _, l := range late {
		switch {
		case !l.Any && !x.pairs(l.Buffer):
		case x.late == nil:
			x.late = l
		default: // who was on which CPUs is told by buffer
			both := &perfdata.LateRings{From: maps.Clone(x.late.From)}
			for cpu, t := range l.From {
				both.From[cpu] = max(both.From[cpu], t)
			}
			x.late = both
		}
	}
	if x.late == nil {
		return
	}
	l := span.Late{Tasks: x.late.Tasks}
	_, l.All = x.late.Last()
	if x.off != nil {
		x.off.pairs.Begin(l)
	}
	if x.rules != nil {
		x.rules.pairs.Begin(l)
	}
}

// pairs reports whether times are made of events of a buffer.
func (x *pairing) pairs(buffer string) bool {
	events := x.r.events.Events
	if x.looked != len(events) {
		x.looked, x.buffers = len(events), map[string]bool{}
		formats, err := x.formats()
		if err != nil || formats == nil {
			return true
		}
		if x.rules != nil {
			x.rules.bind()
		}
		for _, e := range events {
			taken := x.rules != nil && len(x.rules.sides[e.Index]) > 0
			if x.off != nil {
				f := x.off.fields(e)
				taken = taken || f != nil && !f.other
			}
			if of, err := formats.Of(&e.Attr); taken && err == nil && of != nil {
				x.buffers[bufferOf(e, of)] = true
			}
		}
	}
	return len(x.buffers) == 0 || x.buffers[buffer]
}

// elsewhere reports whether a loss is of a buffer of the tracer that no times are made of.
func (x *pairing) elsewhere(e *perfdata.Event) bool {
	if e == nil || !x.buffered {
		return false
	}
	formats, err := x.formats()
	if err != nil || formats == nil {
		return false
	}
	of, err := formats.Of(&e.Attr)
	return err == nil && of != nil && !x.pairs(bufferOf(e, of))
}

// ofCPU reports whether the ring of an event has what happened on one CPU: those of the tracer have,
// and those of events that are inherited, of which the kernel lets no other be mapped (kernel/events/
// core.c, perf_mmap). A ring of a thread goes with that from CPU to CPU.
func (x *pairing) ofCPU(e *perfdata.Event) bool {
	return x.r.tracer || e != nil && e.Attr.Flags&abi.FlagInherit != 0
}

// lost is samples.Order.Lost.
func (x *pairing) lost(e *perfdata.Event, cpu int32, t uint64) {
	if x.late != nil && t <= x.late.From[cpu] || x.elsewhere(e) {
		return // begin has told, or nothing that was lost is paired
	}
	from := x.seen[cpu]
	if t == 0 {
		t = from
	}
	from = min(from, t) // rings of threads are one after another in the file
	if !x.ofCPU(e) {
		cpu = -1
	}
	x.add(batchPoint{Point: span.Point{Time: from, Kind: span.LostFrom, CPU: cpu, Row: noRow}})
	x.add(batchPoint{Point: span.Point{Time: t, Kind: span.LostTo, CPU: cpu, Row: noRow}})
}

// round is samples.Order.Round.
func (x *pairing) round() {
	if x.off != nil {
		x.off.round()
	}
	x.add(batchPoint{round: true})
}

// order is what is to be told of.
func (x *pairing) order() samples.Order {
	o := samples.Order{Round: x.round, Lost: x.lost}
	if x.off != nil {
		o.Came, o.Left, o.Ended, o.Began = x.off.came, x.off.left, x.off.ended, x.off.began
	}
	return o
}

func (x *pairing) add(p batchPoint) {
	b := x.r.batch
	b.points = append(b.points, p)
	if len(b.points) >= batchRows || len(b.locs) >= batchLocs {
		x.r.complete()
	}
}

// addPoints sorts the points of a batch, whose stacks have their ids.
func (x *pairing) addPoints(b *batch) {
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
		if p.running {
			x.off.running(p)
		}
		if p.Kind == span.Nothing {
			continue
		}
		x.bytes, _ = p.AppendBinary(x.bytes[:0])
		x.fail(x.sorter.Add(p.Time, 0, x.bytes, nil))
	}
	b.points = b.points[:0]
}

func (x *pairing) fail(err error) {
	if x.err == nil {
		x.err = err
	}
}

// emit takes the points in the order of time.
func (x *pairing) emit(rec timeorder.Record) error {
	x.point.Time = rec.Time
	x.point.Decode(rec.Bytes)
	if x.off != nil {
		x.off.pairs.Take(x.off.only.place(&x.point))
	}
	if x.rules != nil {
		x.rules.pairs.Take(&x.point)
	}
	return nil
}

// measure adds a time to the distribution of an event's spans with some labels.
func (x *pairing) measure(event int, labels stacks.LabelsID, t uint64) {
	key := durationKey{event, labels}
	h := x.durations[key]
	if h == nil {
		h = &span.Histogram{}
		x.durations[key] = h
	}
	h.Add(t)
}

// Faster counts the times that Options.SlowerThan leaves out.
type Faster struct {
	Count   uint64
	Longest uint64 // of them, ns
}

// leavesOut reports whether a time is too short.
func (x *pairing) leavesOut(t uint64) bool {
	if t >= x.r.opts.SlowerThan {
		return false
	}
	x.faster.Count++
	x.faster.Longest = max(x.faster.Longest, t)
	return true
}

// finish pairs what is left.
func (x *pairing) finish(st *Stats) error {
	x.fail(x.sorter.Finish())
	st.LatePoints = x.sorter.Stats().Late
	if x.off != nil {
		x.off.pairs.Finish()
	}
	if x.rules != nil {
		x.rules.pairs.Finish()
	}
	x.fail(x.sorter.Close())
	if x.err != nil {
		return x.err
	}
	if x.off != nil {
		if err := x.off.check(); err != nil {
			return err
		}
		if st.OffCPU = x.off.pairs.Stats; x.r.opts.WallClock {
			st.OffCPU.Open = 0 // what they were away is in their rows as far as it goes, as all else
		}
		st.OtherBuffers = x.off.others
		st.Delays = x.off.allDelays()
		x.off.wakers.name()
	}
	if x.rules != nil {
		if err := x.rules.check(); err != nil {
			return err
		}
		st.Spans = x.rules.stats()
	}
	st.countEarly(x.late)
	st.Faster = x.faster
	for key, h := range x.durations {
		st.Durations = append(st.Durations, Durations{key.event, key.labels, h})
	}
	slices.SortFunc(st.Durations, func(a, b Durations) int {
		return cmp.Or(cmp.Compare(a.Event, b.Event), cmp.Compare(a.Labels, b.Labels))
	})
	return nil
}

// close removes what was written to sort, of rows that are given up.
func (r *rows) close() error {
	if r.pairing == nil {
		return nil
	}
	return r.pairing.sorter.Close()
}
