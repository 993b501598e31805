package convert

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kprof/convert/infile"
	"kprof/convert/payload"
	"kprof/convert/replay"
	"kprof/convert/sniff"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/spanrule"
	"kprof/symbolize"
	"kprof/symbolize/unwind"
)

// recordingInput is a recording on its way to a profile.
type recordingInput struct {
	*perfdata.Reader
	written time.Time // when the recording ended, as far as its file tells
	p       *Profile

	unreadable bool // it has been warned that the recorded kernel's symbols are

	named     bool // userNames have been looked for
	userNames *symbolize.Names
}

// read replays the recording and names what it shows.
func (in *recordingInput) read(ctx context.Context) error {
	o := in.p.opts
	if err := in.recordedRules(o); err != nil {
		return err
	}
	ro := o.Replay()
	var names *symbolize.Symbolizer
	if !in.PipeMode() {
		names = in.symbolizer()
		defer names.Close()
		if !o.Unnamed {
			if in.wantsCallFrames() {
				ro.Unwind = &replay.Unwind{Machine: unwindMachine(in.Features.Arch), Frames: names.CallFrames}
			}
			names.Prefetch()
			ro.KernelCode = func(m stacks.Mapping) symbolize.FindCode { return kernelCode(names, m) }
			ro.JITCode = func(d replay.JITDump) []symbolize.JITCode { return names.JITCode(d.PID, d.Path) }
		}
	} else if !o.Unnamed {
		// What the recording says of itself comes with the records: all of it when a
		// file is read for the second time, when first asked.
		var early *symbolize.Symbolizer
		files := func() *symbolize.Symbolizer {
			if early == nil {
				early = in.symbolizer()
			}
			return early
		}
		defer func() {
			if early != nil {
				early.Close()
			}
		}()
		ro.Unwind = &replay.Unwind{Frames: func(m stacks.Mapping) *unwind.Table { return files().CallFrames(m) }}
		ro.KernelCode = func(m stacks.Mapping) symbolize.FindCode { return kernelCode(files(), m) }
		if in.Rewindable() {
			ro.JITCode = func(d replay.JITDump) []symbolize.JITCode { return files().JITCode(d.PID, d.Path) }
		}
	}
	set, stats, err := replay.File(ctx, in.Reader, ro)
	if err != nil {
		return chooseError(err, func() string { return countedMap(eventSamples(&stats), func(s string) string { return s }) })
	}
	if o.Unnamed { // nor does anybody want to see callers
		stats.UnwalkedStacks = 0
	}
	if err := lacksTook(o, set); err != nil {
		return err
	}
	in.p.Set, in.p.Stats = set, stats
	in.p.Events = recordedEvents(in.Reader.Events, &stats)
	in.p.Header = &in.Features
	set.TimeNanos = in.wallTime(stats.FirstTime, in.written.UnixNano()-set.DurationNanos)
	in.p.describe()
	if names == nil { // a pipe tells last where it comes from
		names = in.symbolizer()
		defer names.Close()
	}
	if err := in.p.AddNames(ctx, names); err != nil {
		return err
	}
	if in.Addressless() {
		set.DropAddresses()
	}
	for _, w := range SourceLosses(in.Reader) {
		in.p.warn(w)
	}
	return in.p.emptyReason(o, stats.LeftOut)
}

// wallTime is the ns since 1970 of a time t of the recording's clock, where the recording says it (perf
// record -k); else otherwise, which is by when its file was written, be that copied since.
func (in *recordingInput) wallTime(t uint64, otherwise int64) int64 {
	const clockRealtime = 0
	c := in.Features.Clock
	if events := in.Reader.Events.Events; c.Wall == 0 && len(events) > 0 {
		if a := &events[0].Attr; a.Flags&abi.FlagUseClockID != 0 && a.ClockID == clockRealtime { // which is wall time
			c.Wall, c.Time = t, t
		}
	}
	if c.Wall == 0 || t == 0 {
		return otherwise
	}
	return int64(c.Wall + (t - c.Time))
}

// What stands among the rules of a recording (perfdata.Reader.Rules) for Options.OffCPU and
// WallClock; with WakersSuffix for Options.Wakers too.
const (
	OffCPURule    = "off-cpu"
	WallClockRule = "wall-clock"
	WakersSuffix  = " wakers"
)

// recordedRules adds to the options the rules that the recording has been made with, unless
// they ask for something else.
func (in *recordingInput) recordedRules(o *Options) error {
	if o.OffCPU || o.WallClock || len(o.Spans) > 0 || len(o.Events) > 0 || o.Value != nil || in.PipeMode() {
		return nil
	}
	rules, err := in.Rules()
	if err != nil {
		return err
	}
	for _, text := range rules {
		if rule, wakers := strings.CutSuffix(text, WakersSuffix); rule == OffCPURule || rule == WallClockRule {
			o.OffCPU, o.WallClock, o.Wakers, o.Beside = rule == OffCPURule, rule == WallClockRule, wakers, true
			continue
		}
		r, err := spanrule.Parse(text)
		if err != nil { // of a later kprof
			in.p.Warnings = append(in.p.Warnings, Warning{Kind: UnknownRule, Err: err})
			continue
		}
		o.Spans, o.Beside = append(o.Spans, r), true
	}
	return nil
}

// kernelCode returns what finds functions of the kernel, nil without symbols of it: numbers
// then tell as much as they did.
func kernelCode(names *symbolize.Symbolizer, m stacks.Mapping) symbolize.FindCode {
	find, _ := names.KernelCode(m)
	return find
}

// symbolizer returns what names the recording, once its features have been read.
func (in *recordingInput) symbolizer() *symbolize.Symbolizer {
	so := in.p.opts.Symbols
	so.Release = cmp.Or(so.Release, in.Features.OSRelease)
	if !so.Foreign && !recordedHere(&in.Features, in.written) {
		so.Foreign, so.Unplaced = true, in.Features.Hostname == ""
	}
	in.p.release, in.p.foreign, in.p.unplaced = so.Release, so.Foreign, so.Unplaced
	so.CallFrames = in.wantsCallFrames()
	if so.Kallsyms == nil && so.KallsymsPath == "" && !in.p.opts.Unnamed {
		recorded, err := in.KernelSymbols()
		if err != nil && !in.unreadable {
			in.p.Warnings = append(in.p.Warnings, Warning{Kind: KernelSymbolsUnreadable, Err: err})
			in.unreadable = true
		}
		if recorded != nil && len(recorded.Kallsyms) > 0 {
			so.Kallsyms = bytes.NewReader(recorded.Kallsyms)
			so.EveryName = in.Addressless()
		}
	}
	if !in.p.opts.Unnamed {
		so.Recorded = in.names()
	}
	return symbolize.New(so)
}

// names returns the names of user code that the recording brings along, nil for none.
func (in *recordingInput) names() *symbolize.Names {
	if in.named {
		return in.userNames
	}
	in.named = true
	b, err := in.UserSymbols()
	if err == nil && b != nil {
		in.userNames, err = symbolize.DecodeNames(b)
	}
	if err != nil {
		in.p.Warnings = append(in.p.Warnings, Warning{Kind: UserSymbolsUnreadable, Err: err})
	}
	return in.userNames
}

// wantsCallFrames reports whether samples have copies of stacks, or the register that tells a
// caller of which callchains know nothing.
func (in *recordingInput) wantsCallFrames() bool {
	machine := unwindMachine(in.Features.Arch)
	return slices.ContainsFunc(in.Reader.Events.Events, func(e *perfdata.Event) bool {
		t := e.Attr.SampleType
		return t&abi.SampleStackUser != 0 ||
			t&abi.SampleRegsUser != 0 && t&abi.SampleCallchain != 0 && machine.LinkRegister(e.Attr.SampleRegsUser) >= 0
	})
}

// unwindMachine returns the machine whose stacks a recording has copies of, by what
// it calls its architecture (uname -m), 0 where it does not say it.
func unwindMachine(arch string) unwind.Machine {
	switch {
	case arch == "x86_64":
		return unwind.X86_64
	case arch == "aarch64":
		return unwind.ARM64
	case len(arch) == 4 && arch[0] == 'i' && arch[2:] == "86":
		return unwind.I386
	case strings.HasPrefix(arch, "arm"):
		return unwind.ARM
	case arch == "ppc64" || arch == "ppc64le":
		return unwind.PPC64
	case arch == "s390x":
		return unwind.S390X
	case arch == "riscv64":
		return unwind.RISCV64
	}
	return 0
}

// recordedEvents are the events of a recording, by the names that they are shown
// under.
func recordedEvents(set *perfdata.EventSet, stats *replay.Stats) []abi.Event {
	events := []abi.Event{}
	for i, e := range set.Events {
		events = append(events, e.Event)
		if i < len(stats.Samples) {
			events[i].Name = cmp.Or(stats.Samples[i].Shown, stats.Samples[i].Name)
		}
	}
	return events
}

// Recording is a recording opened for what it says of itself.
type Recording struct {
	*perfdata.Reader
	Written time.Time // when the recording ended, as far as its file tells

	content *content
	file    *os.File // that is closed with it; nil for none
}

// ErrNoRecording is the error of an input that is a profile, and no recording.
var ErrNoRecording = errors.New("it is a profile, not a recording, and has no header")

// OpenRecordingFile opens the recording at a path, a file or a directory, as OpenRecording does.
func OpenRecordingFile(path string) (*Recording, error) {
	f, err := infile.Open(path)
	if err != nil {
		return nil, err
	}
	rec, err := OpenRecording(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	rec.file = f
	return rec, nil
}

// OpenRecording opens the recording in r, which may be compressed, without reading
// its records. r must stay open as long as the Recording.
func OpenRecording(r io.Reader) (*Recording, error) {
	c, err := openContent(r)
	if err != nil {
		return nil, err
	}
	rec := &Recording{content: c, Written: c.written}
	if err = c.unreadable(); err == nil && c.kind != sniff.Recording && !isTrace(c.kind) && (c.kind != sniff.Unknown || c.packed) {
		err = ErrNoRecording
	}
	if err == nil {
		rec.Reader, err = c.recording(context.Background(), true)
	}
	if f, ok := r.(*os.File); ok && err == nil && c.directory {
		if st, err := os.Stat(filepath.Join(f.Name(), "data")); err == nil { // not of pages of rings
			rec.Written = st.ModTime()
		}
	}
	if err != nil {
		return nil, errors.Join(err, rec.Close())
	}
	return rec, nil
}

// Symbolizer returns what names the addresses of the recording, as the options and what
// it says of itself have it, which in pipe mode the records bring; with warnings of what of
// that cannot be used. The caller closes it.
func (r *Recording) Symbolizer(o Options) (*symbolize.Symbolizer, []Warning) {
	in := recordingInput{Reader: r.Reader, written: r.Written, p: &Profile{opts: &o}}
	return in.symbolizer(), in.p.Warnings
}

// Unwind returns what walks the copies of stacks in the recording by the files that a
// Symbolizer finds, nil where there are none.
func (r *Recording) Unwind(files func() *symbolize.Symbolizer) *replay.Unwind {
	in := recordingInput{Reader: r.Reader}
	if !r.PipeMode() && !in.wantsCallFrames() {
		return nil
	}
	return &replay.Unwind{
		Machine: unwindMachine(r.Features.Arch),
		Frames:  func(m stacks.Mapping) *unwind.Table { return files().CallFrames(m) },
	}
}

// FieldNames are the names of the fields that the recorded events have of their own.
func (r *Recording) FieldNames() []string {
	formats, _ := payload.Decode(r.Features.TracingData)
	return formats.OwnFields(r.Events.Events)
}

// ReadHeader reads what a recording says of itself in its records: in pipe mode all of
// its header, and hardware traces, which it returns a warning of.
func (r *Recording) ReadHeader(ctx context.Context) ([]Warning, error) {
	var trace replay.HardwareTrace
	if r.PipeMode() || len(r.Features.Auxtrace) > 0 {
		for rec, err := range r.Records() {
			var truncated *perfdata.TruncatedError
			switch {
			case err != nil && !errors.As(err, &truncated):
				return nil, err
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err == nil:
				trace.Take(rec.Type, rec.Payload, r.Order())
			}
		}
	}
	return Losses(&replay.Stats{Trace: trace}), nil
}

// Close releases what the recording holds. It does not close what it was opened from.
func (r *Recording) Close() error {
	var err error
	if r.Reader != nil {
		err = r.Reader.Close()
	}
	err = errors.Join(err, r.content.close())
	if r.file != nil {
		err = errors.Join(err, r.file.Close())
		r.file = nil
	}
	return err
}
