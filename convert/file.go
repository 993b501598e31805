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
	"runtime"
	"sync"

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
	first, err := firstWalk(ctx, r)
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
	setBuildIDs(w.set, r.Features.BuildIDs)
	return w.set, st, nil
}

// walked is what the first walk learns.
type walked struct {
	sideband  *sideband
	samples   []uint64 // by index of event
	truncated error

	// parts are places where the second walk may begin.
	parts      []part
	end        int64 // of the readable records
	compressed bool
}

// part begins at a record.
type part struct {
	off   int64
	place uint64 // ordinal number of the record
}

// numParts is into how many parts a file is cut, whatever the number of workers,
// so that some balance is left where stacks differ in depth.
const numParts = 64

// cancelEvery is how many records are read between two looks at the context.
const cancelEvery = 1 << 16

func firstWalk(ctx context.Context, r *perfdata.Reader) (*walked, error) {
	wk := &walked{sideband: &sideband{tl: newTimeline(), events: r.Events, clock: clockOf(r.Events)}}
	lo, hi, whole := r.DataRange()
	wk.end = hi
	step := max((hi-lo)/numParts, 1)
	var place uint64
	for rec, err := range r.Records() {
		if err != nil {
			var t *perfdata.TruncatedError
			if !errors.As(err, &t) {
				return nil, err
			}
			wk.truncated, wk.end = err, t.Offset
			break
		}
		if place%cancelEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if whole && rec.Offset >= lo+int64(len(wk.parts))*step {
			wk.parts = append(wk.parts, part{rec.Offset, place})
		}
		switch rec.Type {
		case abi.RecordSample:
			wk.sideband.counts[abi.RecordSample]++
			wk.countSample(r.Events, rec.Payload)
		case abi.RecordCompressed, abi.RecordCompressed2:
			wk.compressed = true
			wk.sideband.count(rec.Type)
		default:
			wk.sideband.take(rec.Header, rec.Payload, place)
		}
		place++
	}
	wk.sideband.tl.freeze()
	return wk, nil
}

func (wk *walked) countSample(events *perfdata.EventSet, payload []byte) {
	e := events.OfSample(payload)
	if e == nil {
		return
	}
	for len(wk.samples) <= e.Index {
		wk.samples = append(wk.samples, 0)
	}
	wk.samples[e.Index]++
}

func (wk *walked) newWorker(events *perfdata.EventSet, opts *Options) *worker {
	w := newWorker(wk.sideband.tl, events, opts)
	w.clock = wk.sideband.clock
	return w
}

// secondWalk takes the samples. Each worker has a row of consecutive parts.
func (wk *walked) secondWalk(ctx context.Context, r *perfdata.Reader, opts *Options) (*worker, error) {
	workers := opts.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, len(wk.parts))
	if wk.compressed || workers <= 1 {
		w := wk.newWorker(r.Events, opts)
		wk.order(w)
		return w, wk.walkAll(ctx, r, w)
	}
	ws := make([]*worker, workers)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range ws {
		ws[i] = wk.newWorker(r.Events, opts)
		if i == 0 {
			wk.order(ws[i])
		}
		from := wk.parts[i*len(wk.parts)/workers]
		to := wk.end
		if i+1 < workers {
			to = wk.parts[(i+1)*len(wk.parts)/workers].off
		}
		wg.Go(func() {
			errs[i] = walkPart(ctx, r, ws[i], from, to)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i := 1; i < workers; i++ {
		ws[0].merge(ws[i])
		ws[i] = nil
	}
	return ws[0], nil
}

// order gives the Set its events in the order of the recording.
func (wk *walked) order(w *worker) {
	for i, n := range wk.samples {
		w.grow(i)
		if e := w.events.Events[i]; n > 0 && (w.opts.Event == "" || w.opts.Event == e.Name) {
			w.column(e)
		}
	}
}

func walkPart(ctx context.Context, r *perfdata.Reader, w *worker, from part, to int64) error {
	place := from.place
	for rec, err := range r.RecordsIn(from.off, to) {
		if err != nil {
			return err
		}
		if rec.Type == abi.RecordSample {
			w.add(rec.Misc, rec.Payload, place)
		}
		if place++; place%cancelEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (wk *walked) walkAll(ctx context.Context, r *perfdata.Reader, w *worker) error {
	var place uint64
	for rec, err := range r.Records() {
		var t *perfdata.TruncatedError
		if errors.As(err, &t) {
			return nil // the first walk has told
		}
		if err != nil {
			return err
		}
		if rec.Type == abi.RecordSample {
			w.add(rec.Misc, rec.Payload, place)
		}
		if place++; place%cancelEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
