package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"kprof/convert"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/tracefs"
	"kprof/record"
	"kprof/symbolize"
)

// session opens the events, records until ctx ends, for which stop is to be
// called, and finishes the output.
func (f *recordFlags) session(ctx context.Context, stop func(), opts record.Options, out output) (err error) {
	start := opts.Start
	opts.Start = func() error {
		if f.duration > 0 {
			time.AfterFunc(f.duration, stop)
		}
		if start != nil {
			return start()
		}
		return nil
	}
	shown := newProgress(f.quiet)
	opts.Progress = shown.update
	var symbols *symbolWatch
	if out.format != formatData || !f.noCapsule {
		symbols = watchSymbols(out.format == formatData)
		defer symbols.close()
	}
	var s *record.Session
	var builds *buildIDs
	opts.Sideband = func(rec []byte) { builds.take(rec) }
	opts.Synthesize = func(write func([]byte) error) error { return synthesize(s, opts.Target, write) }

	if s, err = record.Open(ctx, opts); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, n := range s.Notes() {
		messagef("%s", n)
	}
	events := s.Events()
	tellHidden(events)
	var keeper *symbolize.Keeper
	if out.format != formatData {
		keeper = symbolize.NewKeeper()
		defer keeper.Close()
	}
	builds = newBuildIDs(&events[len(events)-1].Attr, keeper)
	sink, err := f.newSink(out, events, builds, symbols)
	if err != nil {
		return err
	}
	stats, err := s.Run(ctx, sink)
	shown.clear()
	for _, n := range stats.Notes {
		messagef("%s", n)
	}
	// What was recorded is kept, whatever ended the recording.
	err = joinFinish(err, sink.finish(context.WithoutCancel(ctx), &stats))
	if n := lostSideband(&stats); n > 0 {
		messagef("%d of what was lost told of processes, and was no sample: names or maps may be missing", n)
	}
	if !f.quiet {
		tellProbes(&stats)
	}
	if err == nil && !f.quiet {
		messagef("%d samples in %v", stats.Samples, sink)
	}
	return err
}

// joinFinish joins the errors of a recording and of finishing its file. A write
// that failed, as on a full disk, ends the one and is told again by the other.
func joinFinish(err, finish error) error {
	var write, again *fs.PathError
	if errors.As(err, &write) && errors.As(finish, &again) && write == again {
		return finish
	}
	return errors.Join(err, finish)
}

// sink is where the records of a session go.
type sink interface {
	record.Sink
	fmt.Stringer
	finish(context.Context, *record.Stats) error
}

func (f *recordFlags) newSink(out output, events []abi.Event, builds *buildIDs, symbols *symbolWatch) (sink, error) {
	early := perfdata.Features{Host: record.ReadHost(), Version: version(), Cmdline: os.Args}
	if out.format != formatData {
		sel, err := f.sel.options()
		if err != nil {
			return nil, err
		}
		out.needs(&sel, &f.sym)
		return &liveSink{
			Collector: convert.NewCollector(abi.LittleEndian, events, sel),
			out:       out, events: events, features: early, sym: f.sym, begun: time.Now(), builds: builds, symbols: symbols,
		}, nil
	}
	if err := addTracingData(&early, events); err != nil {
		return nil, err
	}
	if out.name == "-" {
		if isTerminal(os.Stdout) {
			return nil, usagef("a recording is not for a terminal: use -o FILE, or a pipe")
		}
		if symbols != nil && !f.quiet {
			messagef("a recording in a pipe does not carry the kernel's symbols: convert it on this machine")
		}
		w, err := perfdata.NewStreamWriter(os.Stdout, events, early, perfdata.WriterOptions{})
		if err != nil {
			return nil, err
		}
		return &streamSink{w}, nil
	}
	return newFileSink(out.name, events, early, builds, symbols)
}

// addTracingData adds what perf script needs to print the fields of tracepoints.
func addTracingData(f *perfdata.Features, events []abi.Event) error {
	any := false
	for _, e := range events {
		any = any || e.Attr.Type == abi.TypeTracepoint
	}
	if !any {
		return nil
	}
	fs, err := tracefs.Find(tracefs.Options{})
	if err != nil {
		return err
	}
	t, err := perfdata.ReadTracingData(os.DirFS(fs.Path()), events, abi.LittleEndian, 8, os.Getpagesize())
	if err != nil {
		return fmt.Errorf("read the formats of tracepoints: %w", err)
	}
	f.TracingData = t.AppendTo(nil)
	return nil
}

// fileSink writes a perf.data file.
type fileSink struct {
	*perfdata.Writer
	f       *os.File
	name    string
	builds  *buildIDs
	symbols *symbolWatch // nil for none
}

// newFileSink creates the file; one that exists is kept with ".old" behind its
// name, as perf does.
func newFileSink(name string, events []abi.Event, early perfdata.Features, builds *buildIDs, symbols *symbolWatch) (*fileSink, error) {
	var o perfdata.WriterOptions
	if symbols != nil {
		capsule, err := symbols.start()
		if err != nil {
			return nil, err
		}
		o.Capsule = capsule
	}
	if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() && st.Size() > 0 {
		if err := os.Rename(name, name+".old"); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	w, err := perfdata.NewWriter(f, events, early, o)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &fileSink{w, f, name, builds, symbols}, nil
}

func (s *fileSink) finish(_ context.Context, stats *record.Stats) error {
	tellStats(stats)
	if s.symbols != nil {
		trailer, err := s.symbols.end()
		if err == nil && trailer != nil {
			var encoded []byte
			encoded, err = trailer.AppendTo(nil, abi.LittleEndian)
			s.SetTrailer(encoded)
		}
		if err != nil {
			messagef("symbols of modules that were loaded meanwhile are not recorded: %v", err)
		}
	}
	if err := errors.Join(s.Writer.Close(perfdata.Features{BuildIDs: s.builds.all()}), s.f.Close()); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

func (s *fileSink) String() string { return fmt.Sprintf("%s (%s)", s.name, bytesText(s.Size())) }

// streamSink writes perf.data to standard output.
type streamSink struct{ *perfdata.StreamWriter }

func (s *streamSink) finish(_ context.Context, stats *record.Stats) error {
	tellStats(stats)
	return s.StreamWriter.Close(perfdata.Features{})
}

func (s *streamSink) String() string { return bytesText(s.Size()) + " on standard output" }

// liveSink aggregates while recording and writes a profile at the end.
type liveSink struct {
	*convert.Collector
	out      output
	events   []abi.Event
	features perfdata.Features
	sym      symbolOptions
	begun    time.Time
	builds   *buildIDs
	symbols  *symbolWatch
}

func (s *liveSink) finish(ctx context.Context, stats *record.Stats) error {
	set, st, err := s.Finish()
	if err != nil {
		return err
	}
	st.Lost = max(st.Lost, stats.Lost)
	convert.SetBuildIDs(set, s.builds.all())
	set.TimeNanos = s.begun.UnixNano()
	describe(set, &s.features)
	p := &profile{set: set, stats: st, events: s.events, source: s.out.name}
	s.sym.keeper = s.builds.keeper
	// Without modules that came or went, the kernel itself tells its symbols.
	if all, err := s.symbols.end(); err != nil {
		messagef("symbols of modules that were loaded meanwhile are not known: %v", err)
	} else if all != nil {
		s.sym.recorded = all.Kallsyms
	}
	names := s.sym.symbolizer()
	defer names.Close()
	if err := p.name(ctx, names, &s.sym); err != nil {
		return err
	}
	p.tellLost()
	return s.out.write(p)
}

func (s *liveSink) String() string {
	if s.out.name == "-" {
		return "standard output"
	}
	return s.out.name
}

// tellStats tells what a recording lost.
func tellStats(stats *record.Stats) {
	st := convert.Stats{Lost: stats.Lost, Throttled: stats.Throttled}
	for _, l := range st.Losses() {
		messagef("%s", l)
	}
}

// lostSideband is how many of the lost records were no samples, 0 where the
// kernel does not count losses by event. The last event is the side-band.
func lostSideband(stats *record.Stats) uint64 {
	n := stats.Lost
	for _, e := range stats.Events[:max(len(stats.Events)-1, 0)] {
		if !e.LostKnown || e.Lost > n {
			return 0
		}
		n -= e.Lost
	}
	return n
}
