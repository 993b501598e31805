// Package replay makes rows of a profile of the samples of a recording: it turns a
// stream of records into a stacks.Set, without names: see package naming.
//
// A recording that can be read twice is read whole before its samples are (File). What
// arrives only once, live or through a pipe, is held back for a round (Collector). Either
// way samples comes first, which says what was so at the time of each:
//
//	records ──► samples ──► Sample ──► rows ──► batch ──► stacks.Set ──► finish
//	                        with its   selection, events,                names of events,
//	                        state      locations (locate)                units
package replay

import (
	"cmp"
	"context"
	"errors"
	"runtime"

	"kprof/convert/payload"
	"kprof/convert/samples"
	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// File converts a recording to a Set without names. A recording that
// ends early, or with garbage, gives what it holds, and Stats.Truncated.
func File(ctx context.Context, r *perfdata.Reader, opts Options) (*stacks.Set, Stats, error) {
	if !r.Rewindable() {
		return pipe(ctx, r, opts)
	}
	in, err := samples.Scan(ctx, r, samples.Options{JITCode: opts.jitCode(), KernelSymbols: opts.KernelSymbols, GuestModules: opts.GuestModules, SampleTimes: opts.Window != nil})
	if err != nil {
		return nil, Stats{}, err
	}
	if opts.Window != nil {
		if opts.From, opts.To, err = opts.Window(in.First, in.Last); err != nil {
			return nil, Stats{}, err
		}
	}
	rows := newRows(in.Timeline, r.Events, &opts, r.Simpleperf())
	rows.naming.host, rows.measuresTime = &r.Features.Host, in.MeasuresTime
	rows.tracer = r.Tracer()
	rows.code.buildIDs = func() []perfdata.BuildID { return r.Features.BuildIDs }
	rows.fields.open = func() (*payload.Formats, error) { return recordedFormats(r), nil }
	if err := rows.fields.check(rows.takenEvents()); err != nil {
		return nil, Stats{}, err
	}
	if rows.pairing = newPairing(rows, func() (*payload.Formats, error) { return recordedFormats(r), nil }); rows.pairing != nil {
		in.Order = rows.pairing.order()
		rows.pairing.buffered = r.Tracer() && !r.Addressless()
		rows.pairing.begin(r.Late())
	} else {
		rows.order(in.Samples)
	}
	if err := rows.addAll(ctx, in); err != nil {
		return nil, Stats{}, errors.Join(err, rows.close())
	}
	st := statsOf(in.Stats(), rows)
	st.Truncated = in.Truncated
	if err := finish(rows, &st); err != nil {
		return nil, st, err
	}
	SetBuildIDs(rows.set, r.Features.BuildIDs)
	return rows.set, st, nil
}

const numBatches = 4

// addAll takes all samples, in two stages that run side by side: one goroutine makes rows
// of them, the caller's adds these to the Set, in the same order. Both wait for memory
// most of the time.
func (r *rows) addAll(ctx context.Context, in *samples.File) error {
	full := make(chan *batch, numBatches)
	free := make(chan *batch, numBatches)
	for range numBatches {
		free <- &batch{}
	}
	r.batch = <-free
	r.bound.begin(r.set) // before there are two goroutines
	r.flush = func(b *batch) *batch {
		full <- b
		return <-free
	}
	var err error
	go func() {
		defer close(full)
		err = in.Each(ctx, r.take)
		r.complete()
	}()
	for b := range full {
		b.addTo(r)
		free <- b
	}
	return err
}

// Collector converts records that arrive only once: live, or through a pipe.
type Collector struct {
	opts   Options
	stream *samples.Stream
	rows   *rows

	windowErr error // of Options.Window

	taken []stacks.TimedSample // by TakeTimes, the last time
}

// NewCollector returns a Collector of a recording with the given events, all of
// which have the byte order o. It meets record.Sink.
func NewCollector(o abi.Order, events []abi.Event, opts Options) *Collector {
	return newCollector(timeline.New(timeline.Options{Forget: true}), perfdata.NewEventSet(o, events), opts)
}

// newCollector returns a Collector with its timeline.
func newCollector(tl *timeline.Timeline, events *perfdata.EventSet, opts Options) *Collector {
	c := &Collector{opts: opts}
	c.rows = newRows(tl, events, &c.opts, false)
	to := samples.Consumer{Emit: c.rows.take, Settle: c.rows.complete}
	c.rows.naming.host = &perfdata.Host{Arch: cmp.Or(opts.Machine, runtime.GOARCH)}
	if c.rows.pairing = newPairing(c.rows, func() (*payload.Formats, error) { return opts.Formats, nil }); c.rows.pairing != nil {
		to.Order = c.rows.pairing.order()
	}
	if opts.Window != nil {
		to.Begin = func(first uint64) { c.opts.From, c.opts.To, c.windowErr = opts.Window(first, 0) }
	}
	c.stream = samples.NewStreamOn(tl, events, to)
	return c
}

// Check returns an error where Options.Where or Value cannot be evaluated on the events, or what
// Spans have of them, an *expr.Error, or where a rule lacks events, a *NoSpanEventsError. Finish
// does so too; Check is for before anything is recorded.
func (c *Collector) Check() error {
	if err := c.rows.fields.check(c.rows.takenEvents()); err != nil {
		return err
	}
	if x := c.rows.pairing; x != nil && x.rules != nil {
		return x.rules.check()
	}
	return nil
}

// recordedFormats are the formats that a recording has. That its tracing data are
// damaged the Reader says.
func recordedFormats(r *perfdata.Reader) *payload.Formats {
	formats, _ := payload.Decode(r.Features.TracingData)
	return formats
}

// Write takes whole records of one ring, in their order; b continues a, and a
// record may begin in one and end in the other.
func (c *Collector) Write(a, b []byte) error { return c.stream.Write(a, b) }

// FinishRound says that every ring has been drained once since the last call.
func (c *Collector) FinishRound() error {
	c.stream.FinishRound()
	return nil
}

// TakeTimes returns the Set as it is by now, and the times between events that have ended since the
// last call, in the order in which they ended: with Options.Times, and without Options.Beside. They are
// valid until the next call, and not in the Set that Finish returns; nor are distributions of times.
func (c *Collector) TakeTimes() (*stacks.Set, []stacks.TimedSample) {
	c.rows.complete()
	s := c.rows.set
	s.TimedSamples, c.taken = c.taken[:0], s.TimedSamples
	s.Wakes = s.Wakes[:0]
	if c.rows.pairing != nil {
		clear(c.rows.pairing.durations)
	}
	return s, c.taken
}

// Finish releases everything and returns the Set, without names.
func (c *Collector) Finish() (*stacks.Set, Stats, error) {
	c.stream.Finish()
	return c.finish()
}

func (c *Collector) finish() (*stacks.Set, Stats, error) {
	if err := c.Check(); err != nil {
		return nil, Stats{}, err
	}
	read := c.stream.Stats()
	if c.rows.pairing == nil {
		c.rows.order(c.rows.samplesWith(read.BadSamples))
		c.rows.reorder()
	}
	st := statsOf(read, c.rows)
	if c.windowErr != nil {
		return nil, st, c.windowErr
	}
	if err := finish(c.rows, &st); err != nil {
		return nil, st, err
	}
	return c.rows.set, st, nil
}

// pipe converts a recording that can be read only once.
func pipe(ctx context.Context, r *perfdata.Reader, opts Options) (*stacks.Set, Stats, error) {
	c := newCollector(timeline.New(timeline.Options{Forget: true}), r.Events, opts)
	c.rows.naming.host = &r.Features.Host
	c.rows.code.buildIDs = func() []perfdata.BuildID { return r.Features.BuildIDs }
	c.rows.fields.open = func() (*payload.Formats, error) { return recordedFormats(r), nil }
	if c.rows.pairing != nil {
		c.rows.pairing.formats = func() (*payload.Formats, error) { return recordedFormats(r), nil }
	}
	truncated, err := c.stream.Read(ctx, r)
	if err != nil {
		return nil, Stats{}, errors.Join(err, c.rows.close())
	}
	set, st, err := c.finish()
	if err != nil {
		return nil, st, err
	}
	st.Truncated = truncated
	SetBuildIDs(set, r.Features.BuildIDs)
	return set, st, nil
}
