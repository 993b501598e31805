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
	"kprof/convert/export"
	"kprof/convert/live"
	"kprof/convert/outfile"
	"kprof/convert/printable"
	"kprof/convert/replay"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/perfdata"
	"kprof/record"
	"kprof/record/capture"
	"kprof/record/datafile"
	"kprof/record/doctor"
	"kprof/record/symbols"
	"kprof/symbolize"
)

// session opens the events, records until ctx ends, for which stop is to be
// called, and finishes the output.
func (f *recordFlags) session(ctx context.Context, stop func(), opts record.Options, out output) (err error) {
	if f.tracer != nil {
		return f.tracerSession(ctx, stop, opts, out)
	}
	commands, begin, err := f.control(&opts)
	if err != nil {
		return err
	}
	if commands != nil {
		defer commands.close()
	}
	var s *capture.Capture
	serve := func() {}
	start := opts.Start
	opts.Start = func() error {
		if f.duration > 0 {
			time.AfterFunc(f.duration, stop)
		}
		begin(s)
		serve()
		if start != nil {
			return start()
		}
		return nil
	}
	// Names are looked for again and again.
	opts.KernelCode = f.top != nil || f.viewed != nil || f.push.to != "" || f.parts.given() && out.format != export.Data
	cost := startCost()
	shown := newProgress(voice.quiet || f.trace != nil || f.top != nil || f.parts.given(), f.duration, out)
	opts.Progress = shown.update
	s, err = capture.Open(ctx, opts, capture.Options{
		NoKernel:      out.format == export.Data && (f.noKernelSymbols || f.noSymbols),
		KernelAtStart: out.format == export.Data,
		Files:         out.format == export.Data && !f.noSymbols || out.format != export.Data && f.trace == nil,
		DropRights:    true,
	})
	if errors.Is(err, record.ErrEveryFunction) {
		err = fmt.Errorf("%w; name functions with --filter 'ip == FUNC', or insist with --all-functions", err)
	}
	if tracer := new(event.TracerError); errors.As(err, &tracer) && tracer.Marker() {
		err = fmt.Errorf("%w, or use kprof trace --marker", err)
	}
	if err != nil {
		return f.askSpans(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, n := range s.Notes() {
		messagef("%s", n)
	}
	if !voice.quiet {
		noteCopies(s.Session)
		f.noteUncopied(&opts, s.Session)
	}
	events := s.Events()
	reportHidden(events)
	if s.Files != nil && out.format != export.Data {
		f.sym.Retained = s.Files
	}
	out.withRights = s.WithRights
	var sink sink
	if f.trace != nil {
		sink, err = f.trace.newSink(out, events, s.BuildIDs, s.Kernel, stop)
	} else if f.top != nil {
		sink, err = f.top.newSink(ctx, s, stop)
	} else if f.push.to != "" {
		sink, err = f.push.newSink(ctx, f, out, s)
	} else if f.viewed != nil {
		sink, err = f.viewed.newSink(ctx, f, out, s)
	} else {
		sink, err = f.newSink(ctx, out, s)
	}
	if err != nil {
		return err
	}
	if commands != nil { // what is acknowledged everything records
		serve = func() { go commands.serve(&controlled{s, sink, stop}) }
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
	if n := stats.LostSideband(); n > 0 {
		messagef("%d of what was lost told of processes, and was no sample: names or maps may be missing", n)
	}
	if !voice.quiet {
		reportProbes(&stats)
		if opts.CopiesIf == nil {
			f.noteShortStacks(&opts, &stats)
		}
	}
	// Times off the CPU are made of switches too, which are no samples.
	nothing := stats.Samples == 0 && (f.offCPU() == "" || stats.Switches == 0)
	if err == nil && !voice.quiet && f.trace == nil && f.top == nil {
		switch p := sink.(type) {
		case *partsSink:
			out.name = p.last
			p.report(&stats)
		case *periodsSink:
			out.name = p.last
			notef("%s in %v", printable.Count(stats.Samples, "sample"), sink)
		default:
			notef("%s in %v", printable.Count(stats.Samples, "sample"), sink)
		}
		if f.parts.given() || f.push.to != "" || voice.verbose {
			notef("%v", cost)
		}
		if next := out.next(); next != "" && !nothing {
			notef("%s", next)
		}
	}
	if err == nil && nothing {
		return nothingRecorded(events, "")
	}
	if err == nil {
		f.recorded = stats.Samples
		err = f.tooManyLost(&stats)
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
	if err != nil && finish != nil && err.Error() == finish.Error() {
		return finish // as what makes profiles of periods tells its own
	}
	return errors.Join(err, finish)
}

// sink is where the records of a session go.
type sink interface {
	record.Sink
	fmt.Stringer
	finish(context.Context, *record.Stats) error
}

func (f *recordFlags) newSink(ctx context.Context, out output, s *capture.Capture) (sink, error) {
	events, builds, kernel := s.Events(), s.BuildIDs, s.Kernel
	if out.format != export.Data && f.parts.flight != "" {
		return f.newPartsSink(out, s, events, perfdata.Features{})
	}
	if out.format != export.Data && f.parts.given() {
		return f.newPeriodsSink(ctx, out, s)
	}
	if out.format != export.Data {
		sel, err := f.liveOptions(out, events)
		if err != nil {
			return nil, err
		}
		c, err := f.newCollector(events, builds, kernel, sel)
		if err != nil {
			return nil, err
		}
		return &liveSink{c, out, events, liveHeader(), sel.Where != nil || sel.Value != nil}, nil
	}
	if err := f.checkSpans(events); err != nil {
		return nil, err
	}
	header, err := dataHeader(events)
	if err != nil {
		return nil, err
	}
	if f.parts.given() {
		return f.newPartsSink(out, s, events, header)
	}
	stream, err := out.dataStream()
	if err != nil {
		return nil, err
	}
	if stream != nil {
		if isTerminal(stream) {
			return nil, usagef("a recording is not for a terminal: use -o FILE, or a pipe")
		}
		read := !voice.quiet && stream.Name() != os.DevNull
		if kernel != nil && read {
			notef("a recording in a pipe does not carry the kernel's symbols: convert it on this machine")
		}
		if rules := f.rules(); len(rules) > 0 && read {
			notef("a recording in a pipe does not carry its rules: give %s when it is read", rulesAsFlags(rules))
		}
		w, err := perfdata.NewStreamWriter(stream, events, header, perfdata.WriterOptions{})
		if err != nil {
			return nil, err
		}
		return &streamSink{w, stream}, nil
	}
	file, err := newFileSink(out.place, events, header, f.rules(), builds, kernel, f.sym.signals)
	if err == nil {
		file.Names = namesOf(s, f.sym.signals.limited)
	}
	return file, err
}

// sampledNamesTime is how long the names that a perf.data takes along are looked for.
const sampledNamesTime = 30 * time.Second

// limitTime returns a context that ends after a time.
func limitTime(ctx context.Context, limit time.Duration) (context.Context, func()) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
}

// namesOf finds the names of user code for files of a recording, as what it mapped has them.
// What one file takes to be read is not read again for the next; nil for no names.
func namesOf(s *capture.Capture, limited func(context.Context, time.Duration) (context.Context, func())) datafile.Namer {
	if s.Files == nil {
		return nil
	}
	files := symbolize.NewFileCache()
	return func(ctx context.Context, data *os.File) ([]byte, int, error) {
		ctx, end := limited(context.WithoutCancel(ctx), sampledNamesTime)
		defer end()
		defer files.Turn()
		return convert.SampledNames(ctx, data, symbolize.Options{BuildIDCache: buildIDCache(), Retained: s.Files, Files: files})
	}
}

// liveOptions are those of a profile that is made while recording.
func (f *recordFlags) liveOptions(out output, events []abi.Event) (convert.Options, error) {
	sel, err := f.sel.options()
	if err != nil {
		return sel, err
	}
	out.needs(&sel, &f.sym)
	f.sym.addTo(&sel)
	if sel.MaxMemory, err = f.tableMemory(); err != nil {
		return sel, err
	}
	sel.Name = out.name
	sel.Formats, err = live.Formats(events, &sel)
	return sel, err
}

func (f *recordFlags) newCollector(events []abi.Event, builds *symbols.BuildIDs, kernel *symbols.Kernel, sel convert.Options) (*live.Collector, error) {
	c := live.NewCollector(events, kernel, builds, sel)
	c.WaitForBuildIDs = func(ctx context.Context) (context.Context, func()) {
		return f.sym.signals.limited(ctx, live.BuildIDTime)
	}
	return c, worded(c.Check())
}

// liveHeader is what a profile that is made while recording says of it.
func liveHeader() perfdata.Features {
	return perfdata.Features{Host: record.ReadHost(), Version: version(), Cmdline: os.Args}
}

// dataHeader is what a recording says of itself.
func dataHeader(events []abi.Event) (perfdata.Features, error) {
	header, err := datafile.Header(events)
	header.Version, header.Cmdline = version(), os.Args
	return header, err
}

// fileSink writes a perf.data file.
type fileSink struct {
	*datafile.File
	signals *signals
}

// newFileSink creates the file; one that exists is kept with ".old" behind its
// name, as perf does.
func newFileSink(at *outfile.Place, events []abi.Event, header perfdata.Features, rules []string, builds *symbols.BuildIDs, kernel *symbols.Kernel, sig *signals) (*fileSink, error) {
	f, err := datafile.Create(datafile.Output{Name: at.Name(), Create: at.Create}, events, header, rules, builds, kernel)
	if err != nil {
		return nil, err
	}
	return &fileSink{f, sig}, nil
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

func (s *fileSink) finish(ctx context.Context, stats *record.Stats) error {
	reportLosses(stats)
	ctx, end := s.signals.limited(ctx, live.BuildIDTime)
	defer end()
	missing, err := s.Finish(ctx)
	reportMissing(missing)
	return err
}

func reportMissing(m datafile.Missing) {
	if m.Modules != nil {
		notef("symbols of modules that were loaded meanwhile are not recorded: %v", m.Modules)
	}
	switch {
	case m.Names != nil:
		notef("names of programs' functions are not recorded, which only this machine's files have then: %v", m.Names)
	case m.NamesLeftOut > 0:
		notef("names of programs' functions at %d addresses are not recorded, as there are too many", m.NamesLeftOut)
	}
	if m.BuildIDs != nil {
		notef("build ids of some files are missing: %v", m.BuildIDs)
	}
}

func (s *fileSink) String() string {
	return fmt.Sprintf("%s (%s)", s.Name(), printable.Bytes(s.Size()))
}

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
		return printable.Bytes(s.Size()) + " on standard output"
	}
	return fmt.Sprintf("%s (%s)", s.f.Name(), printable.Bytes(s.Size()))
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
	const most = 8
	text := strings.Join(names[:min(len(names), most)], ", ")
	if n := len(names) - most; n > 0 {
		text += fmt.Sprintf(" or %d more", n)
	}
	return &convert.EmptyError{Reason: fmt.Sprintf("no sample of %s was recorded%s", text, and)}
}

// dataStream returns what a recording is written to as to a pipe, nil where it gets
// a file of its own.
func (o output) dataStream() (*os.File, error) {
	if o.name == "-" {
		return os.Stdout, nil
	}
	return o.place.Stream()
}
