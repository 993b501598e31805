// Package convert replays a record stream into a stacks.Set.
//
// A recording that can be read twice is walked twice (File): the first walk
// looks at the headers of all records and collects the state of all processes
// over time; the second takes the samples in any order, in parallel, each seen
// with the state at its own time. What arrives only once, live or through a
// pipe, is held back for a round (Collector).
package convert

import (
	"context"
	"errors"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// File converts a recording to a Set without names: see Name. A recording that
// ends early, or with garbage, gives what it holds, and Stats.Truncated.
func File(ctx context.Context, r *perfdata.Reader, opts Options) (*stacks.Set, Stats, error) {
	if !r.Rewindable() {
		return pipe(ctx, r, opts)
	}
	first, err := firstWalk(ctx, r, &opts)
	if err != nil {
		return nil, Stats{}, err
	}
	w, err := first.secondWalk(ctx, r, &opts)
	if err != nil {
		return nil, Stats{}, err
	}
	st := stats(first.sideband, w)
	st.Truncated = first.truncated
	finish(w, st)
	SetBuildIDs(w.set, r.Features.BuildIDs)
	return w.set, st, nil
}

// walked is what the first walk learns.
type walked struct {
	sideband  *sideband
	samples   []uint64 // by index of event
	sample    abi.Sample
	truncated error
}

// cancelEvery is how many records are read between two looks at the context.
const cancelEvery = 1 << 16

func firstWalk(ctx context.Context, r *perfdata.Reader, opts *Options) (*walked, error) {
	wk := &walked{sideband: &sideband{tl: newTimeline(), events: r.Events, clock: clockOf(r.Events)}}
	known := len(r.Events.Events)
	wk.samples = make([]uint64, known)
	var place uint64
	for rec, err := range r.Records() {
		if err != nil {
			var t *perfdata.TruncatedError
			if !errors.As(err, &t) {
				return nil, err
			}
			wk.truncated = err
			break
		}
		if place%cancelEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if n := len(r.Events.Events); n != known { // pipe mode
			wk.moreEvents(r.Events, known)
			known = n
		}
		switch rec.Type {
		case abi.RecordSample:
			wk.sideband.counts[abi.RecordSample]++
			wk.countSample(r.Events, rec.Misc, rec.Payload)
		default:
			wk.sideband.take(rec.Header, rec.Payload, place)
		}
		place++
	}
	if _, hi, _ := r.DataRange(); wk.truncated == nil && r.Truncated {
		wk.truncated = &perfdata.TruncatedError{Offset: hi, Reason: "the recording was not closed, or the file was cut between two records"}
	}
	if opts.JITCode != nil && monotonic(r.Events) {
		wk.sideband.tl.addJITCode(opts.JITCode)
	}
	wk.sideband.tl.freeze()
	if opts.KernelSymbols {
		wk.sideband.tl.assumeKernel()
	}
	return wk, nil
}

// moreEvents takes up events that the records brought, behind the known ones.
func (wk *walked) moreEvents(events *perfdata.EventSet, known int) {
	wk.sideband.clock = clockOf(events)
	for i := known; i < len(events.Events); i++ {
		var n uint64
		if wk.sideband.counts[abi.RecordSample] > 0 {
			n = 1 // may have some that came before it
		}
		wk.samples = append(wk.samples, n)
	}
}

// countSample counts a sample for its event; one with the values of counters, for
// the events of those.
func (wk *walked) countSample(events *perfdata.EventSet, misc abi.Misc, payload []byte) {
	e := events.OfSample(payload)
	if e == nil {
		return
	}
	wk.samples[e.Index]++
	if e.Attr.SampleType&abi.SampleRead == 0 || e.Layout.DecodeSample(&wk.sample, misc, payload) != nil {
		return
	}
	wk.samples[e.Index]--
	for _, v := range wk.sample.Reads {
		ev := e
		if e.Attr.ReadFormat&abi.ReadID != 0 {
			ev = events.OfID(v.ID)
		}
		if ev != nil && v.Value > 0 {
			wk.samples[ev.Index]++
		}
	}
}

func (wk *walked) newWorker(events *perfdata.EventSet, opts *Options) *worker {
	w := newWorker(wk.sideband.tl, events, opts)
	w.clock = wk.sideband.clock
	return w
}

// secondWalk takes the samples, in two stages that run side by side: one
// goroutine reads them and finds their locations, the caller's adds them to the
// Set, in the same order. Both wait for memory most of the time.
func (wk *walked) secondWalk(ctx context.Context, r *perfdata.Reader, opts *Options) (*worker, error) {
	w := wk.newWorker(r.Events, opts)
	w.order(wk.samples)
	full := make(chan *batch, numBatches)
	free := make(chan *batch, numBatches)
	for range numBatches {
		free <- &batch{}
	}
	var err error
	go func() {
		defer close(full)
		err = readRows(ctx, r, w, full, free)
	}()
	for b := range full {
		b.addTo(w)
		free <- b
	}
	return w, err
}

// batch is rows on their way from one stage to the next.
type batch struct {
	rows []row
	ends []int // of each row's locations in locs
	locs []uint32
	ids  []stacks.StackID

	missed []missed // of locs
}

const (
	numBatches = 4
	batchRows  = 1 << 10
	batchLocs  = 1 << 15
)

// locate completes the locations.
func (b *batch) locate(w *worker) {
	w.locator.locate(b.locs, b.missed)
	b.missed = b.missed[:0]
}

func (b *batch) addTo(w *worker) {
	b.ids = w.set.InternAll(b.ids[:0], b.locs, b.ends)
	w.set.Fetch(b.ids)
	for i := range b.rows {
		w.add(&b.rows[i], b.ids[i])
	}
	b.rows, b.ends, b.locs = b.rows[:0], b.ends[:0], b.locs[:0]
}

// readRows is the first stage.
func readRows(ctx context.Context, r *perfdata.Reader, w *worker, full chan<- *batch, free <-chan *batch) error {
	b := <-free
	defer func() {
		b.locate(w)
		full <- b
	}()
	w.emit = func(r row) {
		for _, m := range w.locator.missed {
			m.at += len(b.locs)
			b.missed = append(b.missed, m)
		}
		b.rows = append(b.rows, r)
		b.locs = append(b.locs, w.locs...)
		b.ends = append(b.ends, len(b.locs))
		if len(b.rows) == batchRows || len(b.locs) >= batchLocs {
			b.locate(w)
			full <- b
			b = <-free
		}
	}
	defer w.releaseAll()
	var place uint64
	for rec, err := range r.Records() {
		var t *perfdata.TruncatedError
		if errors.As(err, &t) {
			return nil // the first walk has told
		}
		if err != nil {
			return err
		}
		w.take(rec.Header, rec.Payload, place)
		if place++; place%cancelEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
