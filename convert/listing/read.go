package listing

import (
	"context"
	"errors"
	"fmt"

	"kprof/convert"
	"kprof/convert/replay"
	"kprof/convert/samples"
	"kprof/convert/timeline"
	"kprof/convert/timeorder"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/symbolize"
)

// Read lists the events of a recording. What was seen comes with an error too.
//
// Where no event is listed, the error is a *convert.EmptyError that says what there is, or
// a *convert.UnknownEventError; a mistake in Options.Where is an *expr.Error. A recording
// that ends early is listed up to there, and a Warning says so.
func Read(ctx context.Context, rec *convert.Recording, o Options, to Consumer) (res *Result, err error) {
	l := newLister(source{
		events: rec.Events, features: &rec.Features, simpleperf: rec.Simpleperf, tracer: rec.Tracer(), nameOnly: rec.Addressless(), gaps: func() []convert.Warning { return convert.SourceLosses(rec.Reader) },
		symbolizer: func() (*symbolize.Symbolizer, []convert.Warning) { return rec.Symbolizer(o.Options) },
		unwind:     rec.Unwind,
	}, &o, to)
	defer func() { err = errors.Join(err, l.close()) }()
	if !rec.Rewindable() || l.needsNoMore(rec) {
		return l.readOnce(ctx, rec.Reader)
	}
	so := samples.Options{KernelSymbols: l.chosen.KernelSymbols, GuestModules: l.chosen.GuestModules, SampleTimes: l.chosen.Window != nil}
	if !rec.PipeMode() && o.Stacks && !o.Unnamed {
		so.JITCode = l.jitCode
	}
	in, err := samples.Scan(ctx, rec.Reader, so)
	if err != nil {
		return nil, err
	}
	if l.chosen.Window != nil {
		if l.chosen.From, l.chosen.To, err = l.chosen.Window(in.First, in.Last); err != nil {
			return nil, err
		}
		l.chosen.Window = nil
	}
	l.begin(in.Timeline)
	order, err := in.EachOrdered(ctx, l.ordered())
	return l.result(in.Stats(), order, in.Truncated, err)
}

// needsNoMore reports whether a recording that can be read twice need not be: nothing is
// asked for but payloads and names of tasks, which are known by the end of a round.
func (l *Lister) needsNoMore(rec *convert.Recording) bool {
	if l.o.Stacks || l.chosen.Window != nil || rec.PipeMode() || rec.Truncated || rec.Simpleperf() {
		return false
	}
	for _, e := range rec.Events.Events {
		if l.o.Address != nil && !isDummy(e) && l.o.Address(&Kind{Event: e, Name: e.Name}) {
			return false
		}
	}
	return true
}

// ordered is what takes the samples.
func (l *Lister) ordered() samples.Ordered {
	return samples.Ordered{
		Emit: l.take, Lost: l.lost, Settle: l.settle,
		Memory: l.o.Memory, WithoutDeferred: !l.o.Stacks,
	}
}

// lost passes on a loss, but for those of events that are not listed.
func (l *Lister) lost(loss samples.Loss) error {
	if loss.Event != nil && !l.selector.Chosen(loss.Event) {
		return nil
	}
	return l.to.Lost(loss)
}

func (l *Lister) jitCode(d timeline.JITDump) []timeline.JITCode {
	codes := l.symbolizer().JITCode(d.PID, d.Path)
	all := make([]timeline.JITCode, len(codes))
	for i, c := range codes {
		all[i] = timeline.JITCode(c)
	}
	return all
}

// readOnce lists a recording from a pipe.
func (l *Lister) readOnce(ctx context.Context, r *perfdata.Reader) (res *Result, err error) {
	s := samples.NewOrderedStream(l.from.events, l.ordered())
	defer func() { err = errors.Join(err, s.Close()) }()
	l.begin(s.Timeline)
	truncated, err := s.Read(ctx, r)
	st, order := s.Stats()
	return l.result(st, order, truncated, err)
}

// Stream lists records that arrive once, as they come from the rings. It meets
// record.Sink.
type Stream struct {
	*Lister
	stream *samples.OrderedStream
}

// NewStream returns a Stream of a session with these events, whose records are
// little-endian. The header says what a file would say of the recording, its tracing data
// above all. Addresses are named by symbols, which the Stream closes. Close it.
func NewStream(events []abi.Event, header *perfdata.Features, symbols *symbolize.Symbolizer, o Options, to Consumer) *Stream {
	set := perfdata.NewEventSet(abi.LittleEndian, events)
	l := newLister(source{
		events: set, features: header, simpleperf: func() bool { return false },
		unwind: func(func() *symbolize.Symbolizer) *replay.Unwind { return nil },
	}, &o, to)
	l.sym = symbols
	s := &Stream{Lister: l, stream: samples.NewOrderedStream(set, l.ordered())}
	l.begin(s.stream.Timeline)
	return s
}

// Check reports a mistake in Options.Where, an *expr.Error, and an event that there is
// none of, before there are any.
func (s *Stream) Check() error {
	if _, err := s.selector.Samples(); err != nil {
		return err
	}
	s.ready()
	return s.whereErr
}

// Write takes whole records of one ring, in their order; b continues a.
func (s *Stream) Write(a, b []byte) error { return s.stream.Write(a, b) }

// FinishRound says that every ring has been drained once since the last call.
func (s *Stream) FinishRound() error { return s.stream.FinishRound() }

// Finish lists what is held back, and returns what was seen, as Read does. err is the
// error that Write or FinishRound ended with, if it did.
func (s *Stream) Finish(err error) (*Result, error) {
	if err == nil {
		err = s.stream.Finish()
	}
	st, order := s.stream.Stats()
	return s.result(st, order, nil, err)
}

// Close releases what naming and sorting took.
func (s *Stream) Close() error { return errors.Join(s.stream.Close(), s.Lister.close()) }

// result puts together what was seen; err is how the listing ended.
func (l *Lister) result(st samples.Stats, order timeorder.Stats, truncated, err error) (*Result, error) {
	r := &Result{Listed: l.listed, Stats: l.stats(st, truncated), Warnings: l.warnings}
	if errors.Is(err, ErrStop) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		stopped := l.settle()
		if errors.Is(stopped, ErrStop) {
			stopped = nil
		}
		if !errors.Is(err, ErrStop) {
			stopped = errors.Join(err, stopped)
		}
		r.Warnings = l.warnings
		return r, stopped // what was not looked at is not told of
	}
	if err != nil {
		return r, err
	}
	r.Warnings = append(r.Warnings, convert.Losses(&r.Stats)...)
	if l.from.gaps != nil {
		r.Warnings = append(r.Warnings, l.from.gaps()...)
	}
	if truncated != nil {
		r.Warnings = append(r.Warnings, convert.TruncatedWarning(l.o.Name, &r.Stats, truncated))
	}
	for _, w := range []convert.Warning{
		{Kind: convert.SortedInFile, Count: order.Spilled},
		{Kind: convert.OutOfOrder, Count: order.Late},
	} {
		if w.Count > 0 {
			r.Warnings = append(r.Warnings, w)
		}
	}
	if err := l.empty(r); err != nil {
		return r, err
	}
	for _, k := range l.kinds {
		if k != nil && k.unknown > 0 {
			r.Warnings = append(r.Warnings, convert.Warning{Kind: convert.UnmatchedSamples, Count: k.unknown, Event: k.Name, Fields: k.program.Missing()})
		}
	}
	return r, nil
}

// stats are what was seen, as profiles have it.
func (l *Lister) stats(st samples.Stats, truncated error) replay.Stats {
	s := replay.Stats{
		Records: st.Records, Lost: st.Lost, LostAtLeast: st.LostAtLeast, Throttled: st.Throttled, UnknownEvent: st.UnknownEvent,
		BadRecords: st.BadRecords, MissingDeferredChains: st.MissingDeferredChains,
		AbandonedLookups: st.AbandonedLookups, JITDumps: st.JITDumps, Trace: st.Trace,
		Truncated: truncated, LeftOut: l.selector.LeftOut(),
	}
	for _, n := range st.BadSamples {
		s.BadSamples += n
	}
	if l.locator != nil {
		found := l.locator.Stats()
		s.UnwalkedStacks, s.TruncatedStacks, s.OverflowFrames, s.Cut = found.UnwalkedStacks, found.TruncatedStacks, found.OverflowFrames, found.Cut
	}
	s.Samples, _ = l.selector.Samples()
	for i := range s.Samples {
		if i < len(st.LostSamples) {
			s.Samples[i].Lost = st.LostSamples[i]
			s.LostSamples += st.LostSamples[i]
		}
	}
	s.LostSamples -= min(s.LostSamples, st.LostTwice)
	return s
}

// empty says why nothing was listed, and what there is; nil if something was.
func (l *Lister) empty(r *Result) error {
	if _, err := l.selector.Samples(); err != nil {
		return convert.UnknownEvent(err, &r.Stats)
	}
	if r.Listed > 0 {
		return nil
	}
	var names []string
	var counts []uint64
	for _, e := range r.Stats.Samples {
		if e.Taken > 0 {
			names, counts = append(names, e.Name), append(counts, e.Taken)
		}
	}
	if len(names) > 0 {
		reason := fmt.Sprintf("no event matches %s; there are %s", l.o.Where, convert.CountedList(names, counts))
		names, counts = nil, nil
		for _, k := range l.kinds {
			if k != nil && k.unknown > 0 {
				names, counts = append(names, k.Name), append(counts, k.unknown)
			}
		}
		if len(names) > 0 {
			reason += "; without a value for it are " + convert.CountedList(names, counts)
		}
		return &convert.EmptyError{Reason: reason}
	}
	return convert.NothingTaken(&l.o.Options, &r.Stats, r.Stats.LeftOut)
}

var _ Consumer = (*Printer)(nil)
