package samples

import (
	"context"
	"errors"

	"kprof/convert/timeline"
	"kprof/convert/timeorder"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// Ordered takes the samples of a recording in the order of their times, over all CPUs.
// Of recordings without times it is the order of their records. Only Emit must be there.
// An error of a function ends the walk.
type Ordered struct {
	// Emit is called with each sample, which is valid until it returns.
	Emit func(*Sample) error
	// Lost is called where the kernel said that records were lost, among the samples.
	Lost func(Loss) error
	// Settle is called when a round has been emitted: of what arrives once before the
	// Timeline changes, so that until then it is as the samples since the last call need
	// it.
	Settle func() error

	// Memory is how many bytes of records wait in memory before they go to a temporary
	// file; 0 is the default of package timeorder.
	Memory int
	// WithoutDeferred emits samples at once of which the kernel writes the user part of
	// the callchain later, without it.
	WithoutDeferred bool
}

// Loss is what the kernel said that it could not write, since it last wrote to that ring.
type Loss struct {
	Time  uint64 // ns, of the record that says so; 0 where it has none
	CPU   int32  // -1 where the record does not say
	Count uint64
	// AtLeast says that Count is the least that it may be.
	AtLeast bool
	// Event is whose samples were lost, nil where it was records of any kind.
	Event *perfdata.Event
}

// ordering puts what makes samples into the order of time.
type ordering struct {
	to      Ordered
	events  *perfdata.EventSet
	sampler *sampler
	sorter  *timeorder.Sorter
	head    []byte
	last    uint64 // key of the record before, for those without a time
	err     error  // of Emit

	passing bool   // records arrive in the order of time
	late    uint64 // those that did not, though
	passed  uint64 // the time up to which they have
	known   int    // events, when alike was found out
	alike   bool   // the times of samples of all events lie at one place
}

func newOrdering(events *perfdata.EventSet, x *sampler, to Ordered) *ordering {
	o := &ordering{to: to, events: events, sampler: x}
	x.emit = o.emit
	x.withoutDeferred = to.WithoutDeferred
	o.sorter = timeorder.New(timeorder.Options{Memory: to.Memory, Emit: o.pass})
	return o
}

// add takes a record at its time, if samples are made of it or it tells of lost ones.
func (o *ordering) add(h abi.Header, payload []byte, place uint64) error {
	key := o.last
	switch h.Type {
	case abi.RecordSample:
		if at := o.timeOffset(payload); at >= 0 && len(payload) >= at+8 {
			key = o.events.Order.Uint64(payload[at:])
		}
	case abi.RecordCallchainDeferred, abi.RecordLost, abi.RecordLostSamples:
		if e := o.events.OfOther(payload); e != nil {
			if f, ok := e.Layout.DecodeTrailer(payload); ok && f.Time != 0 {
				key = f.Time
			}
		}
	case perfdata.RecordJoinedChain:
		if j, ok := perfdata.DecodeJoinedChain(payload, o.events.Order); ok {
			key = j.Time
		}
	default:
		return nil
	}
	if o.sampler.byPlace {
		key = place
	}
	if key >= sumTime {
		key = timeorder.Last
	} else {
		o.last = key
	}
	if o.passing {
		if key < o.passed {
			o.late++
		}
		if key != timeorder.Last {
			o.passed = max(o.passed, key)
		}
		return o.take(h, payload, place)
	}
	o.head = h.AppendTo(o.head[:0], o.events.Order)
	return o.sorter.Add(key, place, o.head, payload)
}

// timeOffset is where in the payload of a sample its time lies, -1 where it has none.
func (o *ordering) timeOffset(payload []byte) int {
	if events := o.events.Events; len(events) != o.known {
		o.known, o.alike = len(events), true
		for _, e := range events {
			o.alike = o.alike && e.Layout.TimeOffset() == events[0].Layout.TimeOffset()
		}
	}
	if o.alike && o.known > 0 {
		return o.events.Events[0].Layout.TimeOffset()
	}
	if e := o.events.OfSample(payload); e != nil {
		return e.Layout.TimeOffset()
	}
	return -1
}

// pass makes what it is of a record whose turn has come.
func (o *ordering) pass(r timeorder.Record) error {
	return o.take(abi.DecodeHeader(r.Bytes, o.events.Order), r.Bytes[abi.HeaderSize:], r.Place)
}

func (o *ordering) take(h abi.Header, payload []byte, place uint64) error {
	if h.Type == abi.RecordLost || h.Type == abi.RecordLostSamples {
		return o.lost(h, payload)
	}
	o.sampler.take(h, payload, place)
	return o.err
}

func (o *ordering) emit(s *Sample) {
	if o.err == nil {
		o.err = o.to.Emit(s)
	}
}

func (o *ordering) lost(h abi.Header, payload []byte) error {
	e := o.events.OfOther(payload)
	if o.to.Lost == nil || e == nil {
		return nil
	}
	l, err := e.Layout.DecodeLost(h, payload)
	if err != nil || l.Count == 0 {
		return nil // it has been counted as bad
	}
	loss := Loss{CPU: -1, Count: l.Count, AtLeast: l.AtLeast}
	if f, ok := e.Layout.DecodeTrailer(payload); ok {
		loss.Time = f.Time
		if e.Attr.SampleType&abi.SampleCPU != 0 {
			loss.CPU = f.CPU
		}
	}
	if h.Type == abi.RecordLostSamples {
		loss.Event = e
	}
	return o.to.Lost(loss)
}

func (o *ordering) stats() timeorder.Stats {
	st := o.sorter.Stats()
	st.Late += o.late
	return st
}

func (o *ordering) settle() error {
	if o.to.Settle == nil || o.err != nil {
		return o.err
	}
	return o.to.Settle()
}

// finish emits what is left.
func (o *ordering) finish() error {
	err := o.sorter.Finish()
	if err == nil {
		o.sampler.releaseAll()
		err = o.settle()
	}
	return err
}

// EachOrdered calls Emit with each sample, in the order of their times. It is to be
// called once, and not beside Each.
func (f *File) EachOrdered(ctx context.Context, to Ordered) (st timeorder.Stats, err error) {
	o := newOrdering(f.reader.Events, f.sampler, to)
	o.passing = f.reader.Ordered()
	defer func() { err = errors.Join(err, o.sorter.Close()) }()
	var place uint64
	for rec, err := range f.reader.Records() {
		if err != nil {
			if t := (*perfdata.TruncatedError)(nil); errors.As(err, &t) {
				break // Scan has told
			}
			return o.stats(), err
		}
		if rec.Type == abi.RecordFinishedRound {
			if _, err = o.sorter.FinishRound(); err == nil {
				err = o.settle()
			}
		} else {
			err = o.add(rec.Header, rec.Payload, place)
		}
		if place++; err == nil && place%cancelEvery == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return o.stats(), err
		}
	}
	err = o.finish()
	return o.stats(), err
}

// OrderedStream gives samples of records that arrive only once, live or through a pipe, in
// the order of their times: those up to the latest time of a round when the next one ends.
// What tells of their processes has arrived by then too.
type OrderedStream struct {
	Timeline *timeline.Timeline // as of the sample that is being emitted

	intake
	order   *ordering
	joined  []byte // records that lie in two pieces
	place   uint64 // ordinal number of the next record
	arrived int    // bytes of records of this round
	changed bool   // the Timeline, since Apply, perhaps
}

// NewOrderedStream returns an OrderedStream of a recording with the given events. Close it.
func NewOrderedStream(events *perfdata.EventSet, to Ordered) *OrderedStream {
	tl := timeline.New(timeline.Options{Forget: true})
	s := &OrderedStream{Timeline: tl, intake: newIntake(tl, events)}
	s.order = newOrdering(events, s.sampler, to)
	return s
}

// Write takes whole records of one ring, in their order; b continues a, and a record may
// begin in one and end in the other.
func (s *OrderedStream) Write(a, b []byte) error {
	if len(b) == 0 {
		return s.takeRecords(a)
	}
	s.joined = append(append(s.joined[:0], a...), b...)
	return s.takeRecords(s.joined)
}

func (s *OrderedStream) takeRecords(b []byte) error {
	return eachRecord(b, s.events.Order, s.sideband, s.takeRecord)
}

func (s *OrderedStream) takeRecord(h abi.Header, payload []byte) error {
	if h.Type == abi.RecordSample {
		s.sideband.counts[abi.RecordSample]++
	} else {
		s.sideband.take(h, payload, s.place)
		s.changed = true
	}
	if s.order.passing && s.changed {
		s.Timeline.Apply()
		s.changed = false
	}
	err := s.order.add(h, payload, s.place)
	s.place++
	s.arrived += abi.HeaderSize + len(payload)
	return err
}

// FinishRound says that every ring has been drained once since the last call. Rounds may
// be put together, as Stream does.
func (s *OrderedStream) FinishRound() error {
	if work := s.Timeline.Work(); work > freeWork && s.arrived < min(maxHeld, workWorth*work) {
		return nil
	}
	s.arrived = 0
	s.Timeline.Apply()
	settled, err := s.order.sorter.FinishRound()
	if err == nil {
		err = s.order.settle()
	}
	s.Timeline.Settle(settled)
	return err
}

// Finish emits all samples that are held back.
func (s *OrderedStream) Finish() error {
	s.Timeline.Apply()
	return s.order.finish()
}

// Close removes what was written to sort the records.
func (s *OrderedStream) Close() error { return s.order.sorter.Close() }

// Stats is what was seen; complete after Finish.
func (s *OrderedStream) Stats() (Stats, timeorder.Stats) {
	return statsOf(s.sideband, s.sampler), s.order.stats()
}

// Read takes all records of a recording that can be read only once, and finishes. Where
// it ends early, or with garbage, truncated says so.
func (s *OrderedStream) Read(ctx context.Context, r *perfdata.Reader) (truncated, err error) {
	s.order.passing = r.Ordered()
	truncated, err = readOnce(ctx, r, s.setOrder, func(rec *perfdata.Record) error {
		if s.arrived > maxHeld { // without the end of a round
			s.Timeline.Apply()
			s.arrived = 0
		}
		switch {
		case rec.Type == abi.RecordFinishedRound:
			return s.FinishRound()
		case rec.Type >= abi.RecordHeaderAttr && rec.Type != perfdata.RecordJoinedChain:
			s.sideband.take(rec.Header, rec.Payload, 0)
			return nil
		}
		return s.takeRecord(rec.Header, rec.Payload)
	})
	if err == nil {
		err = s.Finish()
	}
	return truncated, err
}
