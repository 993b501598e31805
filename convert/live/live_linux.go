package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"kprof/convert"
	"kprof/convert/payload"
	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/record"
	"kprof/record/capture"
	"kprof/record/symbols"
	"kprof/symbolize"
)

// Record records until ctx is done or no target is left, and returns the profile, with
// the names that were to be had by then. Sideband and Synthesize of the record.Options
// are capture.Open's.
//
// Where the recording ended for another reason, the profile is of what was recorded
// before, and the error says why.
func Record(ctx context.Context, ro record.Options, o convert.Options) (_ *convert.Profile, _ record.Stats, err error) {
	s, err := capture.Open(ctx, ro, capture.Options{Files: true})
	if err != nil {
		return nil, record.Stats{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	o.Symbols.Retained = s.Files
	if o.Formats, err = Formats(s.Events(), &o); err != nil {
		return nil, record.Stats{}, err
	}
	c := NewCollector(s.Events(), s.Kernel, s.BuildIDs, o)
	if err := c.Check(); err != nil {
		return nil, record.Stats{}, err
	}
	stats, err := s.Run(ctx, c)
	p, failed := c.Profile(context.WithoutCancel(ctx), &perfdata.Features{Host: record.ReadHost()}, stats.Lost)
	return p, stats, errors.Join(err, failed)
}

// Formats returns the formats of events that are open, if the options of their profile
// need them; else nil. Those of probes are gone when the events are closed.
func Formats(events []abi.Event, o *convert.Options) (*payload.Formats, error) {
	if !o.UsesFields() {
		return nil, nil
	}
	t, err := record.ReadFormats(events)
	if t == nil {
		return nil, err
	}
	return payload.New(t), nil
}

// Check is Collector.Check for a profile that whoever reads the recording is to make of events that
// are open.
func Check(events []abi.Event, o convert.Options) (err error) {
	if o.Formats, err = Formats(events, &o); err != nil {
		return err
	}
	return replay.NewCollector(abi.LittleEndian, events, o.Replay()).Check()
}

// BuildIDTime is how long the last build ids of a recording are waited for by default:
// their files may be on a file system that does not answer.
const BuildIDTime = 10 * time.Second

// Collector is the record.Sink of a session that becomes a profile.
type Collector struct {
	*replay.Collector

	// WaitForBuildIDs bounds how long the last build ids are waited for, as
	// convert.Options.Naming does for names. Default: BuildIDTime.
	WaitForBuildIDs func(context.Context) (ctx context.Context, end func())

	events []abi.Event
	kernel *symbols.Kernel
	builds *symbols.BuildIDs
	opts   convert.Options
	begun  time.Time
	going  bool // the recording goes on after the profile

	queue *queue                // nil where samples have no copies of stacks
	files *symbolize.Symbolizer // by which these are walked
}

// NewCollector returns a Collector of a session with these events, which begins now.
// The symbols of the kernel, and the build ids of files, are those kept while it runs.
// A Time in percent is refused, when the profile is made: no last sample was known.
func NewCollector(events []abi.Event, kernel *symbols.Kernel, builds *symbols.BuildIDs, o convert.Options) *Collector {
	c := newCollector(events, kernel, builds, o)
	if c.files != nil {
		c.queue = newQueue(c.Collector, events, func() { builds.Settle(settleTime) }, defaultQueueLimits)
	}
	return c
}

// newCollector returns a Collector that walks copies of stacks when it takes them.
func newCollector(events []abi.Event, kernel *symbols.Kernel, builds *symbols.BuildIDs, o convert.Options) *Collector {
	ro := o.Replay()
	o.Symbols.ParseKallsyms = kernel.Parse
	ro.KernelCode = func(m stacks.Mapping) symbolize.FindCode {
		so := o.Symbols
		so.RunningKallsyms = kernel.Running()
		find, _ := symbolize.New(so).KernelCode(m) // numbers tell as much as they did
		return find
	}
	c := &Collector{events: events, kernel: kernel, builds: builds, opts: o, begun: time.Now()}
	if slices.ContainsFunc(events, func(e abi.Event) bool { return e.Attr.SampleStackUser > 0 }) {
		so := &c.opts.Symbols
		so.CallFrames = true
		if so.Files == nil {
			so.Files = symbolize.NewFileCache() // names are looked for in the same files
		}
		walk := *so
		walk.Inline, walk.Lines = false, false
		c.files = symbolize.New(walk)
		ro.Unwind = &replay.Unwind{Frames: c.files.CallFrames}
	}
	c.Collector = replay.NewCollector(abi.LittleEndian, events, ro)
	return c
}

// NewPartCollector is NewCollector of a part of a session that goes on (record/parts), all of whose
// records are there already: copies of stacks are walked as these are taken, however long that
// takes.
func NewPartCollector(events []abi.Event, kernel *symbols.Kernel, builds *symbols.BuildIDs, o convert.Options) *Collector {
	c := newCollector(events, kernel, builds, o)
	c.going, c.opts.Part = true, true
	return c
}

// settleTime is how long the walking of stacks waits for a file that was just mapped.
const settleTime = time.Second

// Write takes whole records of one ring, in their order; b continues a.
func (c *Collector) Write(a, b []byte) error {
	if c.queue != nil {
		return c.queue.Write(a, b)
	}
	return c.Collector.Write(a, b)
}

// FinishRound says that every ring has been drained once since the last call.
func (c *Collector) FinishRound() error {
	if c.queue != nil {
		return c.queue.FinishRound()
	}
	return c.Collector.FinishRound()
}

// finish ends the collection, and returns what was collected.
func (c *Collector) finish() (_ *stacks.Set, _ replay.Stats, err error) {
	if c.files == nil {
		return c.Finish()
	}
	if c.queue == nil {
		set, stats, err := c.Finish()
		return set, stats, errors.Join(err, c.files.Close())
	}
	dropped, err := c.queue.finish()
	set, stats, failed := c.Finish()
	stats.DroppedCopies = dropped
	stats.TruncatedStacks -= min(dropped, stats.TruncatedStacks) // which could not be walked either
	return set, stats, errors.Join(err, failed, c.files.Close())
}

// Profile returns the profile of all that was recorded, with names and warnings. The
// header is what a file would say of the recording; lost is how many records the
// session knows to be lost. A profile may be without samples, which is no error here.
func (c *Collector) Profile(ctx context.Context, header *perfdata.Features, lost uint64) (*convert.Profile, error) {
	set, stats, err := c.finish()
	if err != nil {
		return nil, err
	}
	stats.Lost = max(stats.Lost, lost)
	var warnings []convert.Warning
	ids, err := c.buildIDs(ctx)
	if err != nil {
		warnings = append(warnings, convert.Warning{Kind: convert.MissingBuildIDs, Err: err})
	}
	replay.SetBuildIDs(set, ids)
	set.TimeNanos = c.begun.UnixNano()
	// Without modules that came or went, the kernel itself has its symbols.
	symbolsOfAll := c.kernel.End
	if c.going {
		symbolsOfAll = c.kernel.SoFar
	}
	switch all, err := symbolsOfAll(); {
	case err != nil:
		warnings = append(warnings, convert.Warning{Kind: convert.MissingModules, Err: err})
	case all == nil:
		c.opts.Symbols.RunningKallsyms = c.kernel.Running()
	case len(all.Kallsyms) > 0:
		c.opts.Symbols.Kallsyms = bytes.NewReader(all.Kallsyms)
	}
	p := convert.New(set, c.events, stats, header, c.opts)
	p.Warnings = warnings
	names := symbolize.New(c.opts.Symbols)
	err = p.AddNames(ctx, names)
	if err = errors.Join(err, names.Close()); err != nil {
		return nil, err
	}
	p.AddLosses()
	return p, p.Reshape()
}

// buildIDs waits for the build ids of what was recorded, but not for ever.
func (c *Collector) buildIDs(ctx context.Context) ([]perfdata.BuildID, error) {
	wait := c.WaitForBuildIDs
	if wait == nil {
		wait = func(ctx context.Context) (context.Context, func()) {
			return context.WithTimeoutCause(ctx, BuildIDTime, fmt.Errorf("it took longer than %v", BuildIDTime))
		}
	}
	if c.going {
		ctx, end := context.WithTimeout(ctx, settleTime)
		defer end()
		list, _ := c.builds.SoFar(ctx) // what is not there by then is in the next period's
		return list, nil
	}
	ctx, end := wait(ctx)
	defer end()
	return c.builds.All(ctx)
}
