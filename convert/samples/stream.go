package samples

import (
	"context"
	"errors"

	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// Stream gives samples of records that arrive only once: live, or through a pipe.
//
// A record that tells of a process may arrive after a sample that it concerns,
// from the ring of another CPU, but not after the end of the next round: by then
// every ring has been drained once more. So samples are held back until the end
// of the round after their own.
type Stream struct {
	Timeline *timeline.Timeline // as of the sample that is being emitted

	intake
	begin   func(first uint64) // nil once it has been called
	settled func()

	held    []byte // records of the round before this one
	round   []byte // records of this round
	place   uint64 // ordinal number of the first record in held
	arrived uint64 // ordinal number of the first record in round

	earliest [3]uint64 // times in the rounds released last, in held and in round; 0 if there are none
}

// Consumer is who takes the samples of a Stream. Only Emit must be there.
type Consumer struct {
	// Emit is called with each sample, which is valid until it returns.
	Emit func(*Sample)
	// Begin is called before the first sample, with the earliest time of those that are
	// there by then, 0 where they have none.
	Begin func(first uint64)
	// Settle is called before Timeline changes. Until then it is as the samples that were
	// emitted since the last call need it.
	Settle func()
	Order
}

// Bounds, in bytes, of the records that are held back while no end of a round comes: of a live
// recording, of one that has rounds, and of one where none has come yet.
const (
	maxHeld      = 32 << 20
	maxRound     = 256 << 20 // of a recording that says where its rounds end: the rings of 512 CPUs, once
	maxRoundless = 4 << 20
)

// NewStream returns a Stream of a recording with the given events.
func NewStream(events *perfdata.EventSet, to Consumer) *Stream {
	return NewStreamOn(timeline.New(timeline.Options{Forget: true}), events, to)
}

// NewStreamOn is NewStream with a new Timeline that Forgets.
func NewStreamOn(tl *timeline.Timeline, events *perfdata.EventSet, to Consumer) *Stream {
	tl.AssumeGuest()
	s := &Stream{Timeline: tl, intake: newIntake(tl, events), begin: to.Begin, settled: to.Settle}
	s.sampler.emit, s.sampler.order = to.Emit, to.Order
	if s.settled == nil {
		s.settled = func() {}
	}
	return s
}

// Write takes whole records of one ring, in their order; b continues a, and a
// record may begin in one and end in the other.
func (s *Stream) Write(a, b []byte) error {
	s.round = append(s.round, a...)
	s.round = append(s.round, b...)
	return nil
}

// FinishRound says that every ring has been drained once since the last call.
//
// Rounds may be put together. A short one is not worth what it costs to bring the
// state of all processes up to date, which depends on the state.
func (s *Stream) FinishRound() {
	if work := s.Timeline.Work(); work > freeWork && len(s.round) < min(maxHeld, workWorth*work) {
		return
	}
	s.EndRound()
}

// workWorth is how many bytes of records a unit of Timeline.Work is worth, but for
// the first units.
const (
	workWorth = 16
	freeWork  = 64
)

// EndRound is FinishRound, but does not put rounds together.
func (s *Stream) EndRound() {
	n := s.takeSideband()
	settled := s.release()
	if s.sampler.order.Round != nil {
		s.sampler.order.Round()
	}
	s.held, s.round = s.round, s.held[:0]
	s.place = s.arrived
	s.arrived += n
	s.settled()
	s.Timeline.Settle(settled)
}

// Finish emits all samples that are held back.
func (s *Stream) Finish() {
	for range 2 {
		s.EndRound()
	}
	s.sampler.releaseAll()
	s.settled()
}

// Stats is what was seen; complete after Finish.
func (s *Stream) Stats() Stats { return statsOf(s.sideband, s.sampler) }

// takeSideband counts the records of this round and applies those that are not
// samples. It returns their number.
func (s *Stream) takeSideband() uint64 {
	place := s.arrived
	s.each(s.round, func(h abi.Header, payload []byte) {
		if h.Type == abi.RecordSample {
			s.sideband.counts[abi.RecordSample]++
		} else if t := s.sideband.take(h, payload, place); t != 0 {
			s.earliest[2] = earlier(s.earliest[2], t)
		}
		place++
	})
	s.Timeline.Apply()
	return place - s.arrived
}

// release emits the samples held back, those of round n, and returns a time
// before all that are still to come. Those are of round n+1 or later, so they
// were written after a drain in round n, and that was after all of round n-1: the
// earliest of that round is safe, whatever small disorder there is.
func (s *Stream) release() (settled uint64) {
	s.beginOnce()
	place := s.place
	s.each(s.held, func(h abi.Header, payload []byte) {
		s.sampler.take(h, payload, place)
		if h.Type == abi.RecordSample {
			s.earliest[1] = earlier(s.earliest[1], s.sampler.sample.Time)
		}
		place++
	})
	settled = s.earliest[0]
	if s.earliest[1] == 0 { // nothing new to hold on to
		s.earliest[1] = s.earliest[0]
	}
	s.earliest = [3]uint64{s.earliest[1], s.earliest[2], 0}
	if s.sampler.byPlace {
		return s.place
	}
	return settled
}

// beginOnce calls Consumer.Begin with the time of the first sample, which is in the first
// round with samples or in the one after it.
func (s *Stream) beginOnce() {
	if s.begin == nil {
		return
	}
	var first uint64
	var sample abi.Sample
	held := false
	for _, b := range [][]byte{s.held, s.round} {
		s.each(b, func(h abi.Header, payload []byte) {
			if h.Type != abi.RecordSample {
				return
			}
			if e := s.events.OfSample(payload); e != nil && e.Layout.DecodeSample(&sample, h.Misc, payload) == nil {
				first = earlier(first, timeOf(&sample))
				held = true
			}
		})
		if !held {
			return // nothing is to be released
		}
	}
	s.begin(first)
	s.begin = nil
}

// each calls f with the records in b.
func (s *Stream) each(b []byte, f func(abi.Header, []byte)) {
	_ = eachRecord(b, s.events.Order, s.sideband, func(h abi.Header, payload []byte) error {
		f(h, payload)
		return nil
	})
}

// eachRecord calls f with the records in b, until it fails. What is no record, and so not
// from a kernel, ends it, and is counted.
func eachRecord(b []byte, order abi.Order, counted *sideband, f func(abi.Header, []byte) error) error {
	for len(b) >= abi.HeaderSize {
		h := abi.DecodeHeader(b, order)
		n := int(h.Size)
		if n < abi.HeaderSize || n > len(b) {
			counted.bad++
			return nil
		}
		if err := f(h, b[abi.HeaderSize:n:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// readOnce calls take with all records of a recording that can be read only once, until it
// fails, and moreEvents before the first record and when there are more events than
// before. Where the recording ends early, or with garbage, truncated says so.
func readOnce(ctx context.Context, r *perfdata.Reader, moreEvents func(), take func(*perfdata.Record) error) (truncated, err error) {
	known, n := 0, 0
	for rec, err := range r.Records() {
		if err != nil {
			var t *perfdata.TruncatedError
			if !errors.As(err, &t) {
				return nil, err
			}
			return err, nil
		}
		if n++; n%cancelEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(r.Events.Events) != known {
			known = len(r.Events.Events)
			moreEvents()
		}
		if err := take(rec); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// Read takes all records of a recording that can be read only once, and finishes. Where
// it ends early, or with garbage, truncated says so.
func (s *Stream) Read(ctx context.Context, r *perfdata.Reader) (truncated, err error) {
	limit := maxRoundless
	truncated, err = readOnce(ctx, r, s.setOrder, func(rec *perfdata.Record) error {
		if rec.Type >= abi.RecordHeaderAttr {
			s.sideband.take(rec.Header, rec.Payload, 0)
		} else {
			s.round = rec.Header.AppendTo(s.round, r.Order())
			s.round = append(s.round, rec.Payload...)
		}
		if rec.Type == abi.RecordFinishedRound {
			limit = maxRound
		}
		if rec.Type == abi.RecordFinishedRound || len(s.round) > limit {
			s.FinishRound()
		}
		return nil
	})
	if err == nil {
		s.Finish()
	}
	return truncated, err
}
