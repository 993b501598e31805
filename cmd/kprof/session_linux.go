//go:build !portable

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"kprof/convert"
	"kprof/convert/live"
	"kprof/convert/outfile"
	"kprof/convert/replay"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/tracefs"
	"kprof/record"
	"kprof/record/doctor"
	"kprof/record/symbols"
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
	shown := newProgress(voice.quiet || f.trace != nil, f.duration, out)
	opts.Progress = shown.update
	var kernel *symbols.Kernel
	if out.format != formatData || !f.noKernelSymbols {
		kernel = symbols.WatchKernel(out.format == formatData)
		defer kernel.Close()
	}
	var s *record.Session
	var builds *symbols.BuildIDs
	opts.Sideband = func(rec []byte) { builds.Take(rec) }
	opts.Synthesize = func(write func([]byte) error) error { return live.Describe(s, opts.Target, write) }

	if s, err = record.Open(ctx, opts); err != nil {
		if errors.Is(err, record.ErrEveryFunction) {
			err = fmt.Errorf("%w; name functions with --filter 'ip == FUNC', or insist with --all-functions", err)
		}
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, n := range s.Notes() {
		messagef("%s", n)
	}
	events := s.Events()
	reportHidden(events)
	var files *symbols.FileRetainer
	if out.format != formatData && f.trace == nil {
		files = symbols.NewFileRetainer()
		defer files.Close()
		f.sym.Retained = files
	}
	builds = symbols.NewBuildIDs(live.Sideband(s), files)
	out.withRights, out.offCPU = s.WithRights, opts.Switches
	var sink sink
	if f.trace != nil {
		sink, err = f.trace.newSink(out, events, builds, kernel, stop)
	} else {
		sink, err = f.newSink(out, events, builds, kernel)
	}
	if err != nil {
		return err
	}
	stats, err := s.Run(ctx, sink)
	shown.clear()
	for _, n := range stats.Notes {
		messagef("%s", n)
	}
	// What was recorded is kept, whatever ended the recording.
	finish := sink.finish(context.WithoutCancel(ctx), &stats)
	if errors.As(finish, new(*convert.EmptyError)) && err != nil {
		finish = nil // what went wrong is why
	}
	err = joinFinish(err, finish)
	if n := lostSideband(&stats); n > 0 {
		messagef("%d of what was lost told of processes, and was no sample: names or maps may be missing", n)
	}
	if !voice.quiet {
		reportProbes(&stats)
	}
	if err == nil && !voice.quiet && f.trace == nil {
		notef("%d samples in %v", stats.Samples, sink)
		if next := out.next(); next != "" && stats.Samples > 0 {
			notef("%s", next)
		}
	}
	if err == nil && stats.Samples == 0 {
		return nothingRecorded(events, "")
	}
	if err == nil {
		f.recorded = stats.Samples
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

func (f *recordFlags) newSink(out output, events []abi.Event, builds *symbols.BuildIDs, kernel *symbols.Kernel) (sink, error) {
	early := perfdata.Features{Host: record.ReadHost(), Version: version(), Cmdline: os.Args}
	if out.format != formatData {
		sel, err := f.sel.options()
		if err != nil {
			return nil, err
		}
		out.needs(&sel, &f.sym)
		f.sym.addTo(&sel)
		sel.Name = out.name
		if sel.Formats, err = live.Formats(events, &sel); err != nil {
			return nil, err
		}
		c := live.NewCollector(events, kernel, builds, sel)
		c.WaitForBuildIDs = func(ctx context.Context) (context.Context, func()) {
			return f.sym.signals.limited(ctx, live.BuildIDTime)
		}
		if err := c.Check(); err != nil {
			return nil, worded(err)
		}
		return &liveSink{c, out, events, early, sel.Where != nil || sel.Value != nil}, nil
	}
	if err := addTracingData(&early, events); err != nil {
		return nil, err
	}
	stream, err := out.dataStream()
	if err != nil {
		return nil, err
	}
	if stream != nil {
		if isTerminal(stream) {
			return nil, usagef("a recording is not for a terminal: use -o FILE, or a pipe")
		}
		if kernel != nil && !voice.quiet {
			notef("a recording in a pipe does not carry the kernel's symbols: convert it on this machine")
		}
		w, err := perfdata.NewStreamWriter(stream, events, early, perfdata.WriterOptions{})
		if err != nil {
			return nil, err
		}
		return &streamSink{w, stream}, nil
	}
	return newFileSink(out.place, events, early, builds, kernel, f.sym.signals)
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
	builds  *symbols.BuildIDs
	kernel  *symbols.Kernel // nil for none
	signals *signals
}

// newFileSink creates the file; one that exists is kept with ".old" behind its
// name, as perf does.
func newFileSink(at *outfile.Place, events []abi.Event, early perfdata.Features, builds *symbols.BuildIDs, kernel *symbols.Kernel, sig *signals) (*fileSink, error) {
	var o perfdata.WriterOptions
	if kernel != nil {
		c, err := kernel.Start()
		if err == nil && c != nil {
			o.KernelSymbols, err = c.AppendTo(nil, abi.LittleEndian)
		}
		if err != nil {
			return nil, err
		}
	}
	f, err := at.Create()
	if err != nil {
		return nil, err
	}
	name := at.Name()
	w, err := perfdata.NewWriter(f, events, early, o)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &fileSink{w, f, name, builds, kernel, sig}, nil
}

// allBuildIDs waits for the build ids of what was recorded, but not for ever.
func allBuildIDs(builds *symbols.BuildIDs, sig *signals) []perfdata.BuildID {
	ctx, end := sig.limited(context.Background(), live.BuildIDTime)
	defer end()
	ids, err := builds.All(ctx)
	if err != nil {
		notef("build ids of some files are missing: %v", err)
	}
	return ids
}

// reportHidden says when events sample the kernel whose addresses are hidden.
func reportHidden(events []abi.Event) {
	samplesKernel := func(e abi.Event) bool {
		return e.Attr.Flags&(abi.FlagExcludeKernel|abi.FlagTask) == 0 // FlagTask: the side-band
	}
	if slices.ContainsFunc(events, samplesKernel) && symbols.KernelHidden() {
		notef("%s; it %s", doctor.SymbolsHidden, doctor.SymbolsHiddenRemedy)
	}
}

func (s *fileSink) finish(_ context.Context, stats *record.Stats) error {
	reportLosses(stats)
	if s.kernel != nil {
		trailer, err := s.kernel.End()
		if err == nil && trailer != nil {
			var encoded []byte
			encoded, err = trailer.AppendTo(nil, abi.LittleEndian)
			s.SetTrailer(encoded)
		}
		if err != nil {
			notef("symbols of modules that were loaded meanwhile are not recorded: %v", err)
		}
	}
	if err := errors.Join(s.Writer.Close(perfdata.Features{BuildIDs: allBuildIDs(s.builds, s.signals)}), s.f.Close()); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

func (s *fileSink) String() string { return fmt.Sprintf("%s (%s)", s.name, bytesText(s.Size())) }

// streamSink writes perf.data to standard output, or to another pipe.
type streamSink struct {
	*perfdata.StreamWriter
	f *os.File
}

func (s *streamSink) finish(_ context.Context, stats *record.Stats) error {
	reportLosses(stats)
	err := s.StreamWriter.Close(perfdata.Features{})
	if s.f != os.Stdout {
		err = errors.Join(err, s.f.Close())
	}
	return err
}

func (s *streamSink) String() string {
	if s.f == os.Stdout {
		return bytesText(s.Size()) + " on standard output"
	}
	return fmt.Sprintf("%s (%s)", s.f.Name(), bytesText(s.Size()))
}

// liveSink aggregates while recording and writes a profile at the end.
type liveSink struct {
	*live.Collector
	out      output
	events   []abi.Event
	features perfdata.Features
	shaped   bool // by the fields of events: not all samples are taken
}

func sumCounts(counts []int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

func (s *liveSink) finish(ctx context.Context, stats *record.Stats) error {
	p, err := s.Profile(ctx, &s.features, stats.Lost)
	if err != nil {
		return worded(err)
	}
	say(p.Warnings)
	advise(stats)
	if p.Set.NumSamples() == 0 {
		and := "; nothing is written to " + s.String()
		if s.out.inMemory() {
			and = ", so there is nothing to show"
		}
		if empty := p.Empty(); stats.Samples > 0 && empty != nil {
			return fmt.Errorf("%w%s", empty, and)
		}
		return nothingRecorded(s.events, and)
	}
	if taken := sumCounts(p.Set.SampleCounts()); uint64(taken) < stats.Samples && s.shaped {
		notef("%d of %d samples are taken", taken, stats.Samples)
	}
	return s.out.write(&profile{p})
}

func (s *liveSink) String() string {
	if s.out.name == "-" {
		return "standard output"
	}
	if s.out.inMemory() {
		return "memory only; 'kprof record --open' keeps a perf.data"
	}
	return s.out.name
}

// reportLosses reports what a recording lost.
func reportLosses(stats *record.Stats) {
	for _, w := range convert.Losses(&replay.Stats{Lost: stats.Lost, Throttled: stats.Throttled}) {
		messagef("%s", wording(&w))
	}
	advise(stats)
}

// advise says how to record without what was lost or throttled.
func advise(stats *record.Stats) {
	if stats.Lost > 0 {
		notef("larger rings (-m) or a lower frequency (-F) lose less")
	}
	if stats.Throttled > 0 {
		notef("a lower frequency (-F) is not throttled")
	}
}

// nothingRecorded says that there is no sample, of which events.
func nothingRecorded(events []abi.Event, and string) error {
	var names []string
	for i := range events[:max(len(events)-1, 0)] { // the last is the side-band
		names = append(names, events[i].Name)
	}
	return &convert.EmptyError{Reason: fmt.Sprintf("no sample of %s was recorded%s", strings.Join(names, ", "), and)}
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

// dataStream returns what a recording is written to as to a pipe, nil where it gets
// a file of its own.
func (o output) dataStream() (*os.File, error) {
	if o.name == "-" {
		return os.Stdout, nil
	}
	return o.place.Stream()
}
