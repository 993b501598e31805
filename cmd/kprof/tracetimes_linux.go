//go:build !portable

package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"kprof/convert"
	"kprof/convert/export"
	"kprof/convert/listing"
	"kprof/convert/live"
	"kprof/convert/stacks"
	"kprof/convert/table"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/spanrule"
	"kprof/record"
	"kprof/record/symbols"
)

// What kprof trace keeps of times, and what its Go part takes then before it is collected more
// eagerly: see traceMemory.
const (
	timesTables = 64 << 20
	timesMemory = 2 * timesTables
)

// listsTimes reports whether times between events are listed, and not events. They are those of
// system calls where it is said of what, and nothing else.
func (f *traceFlags) listsTimes() bool {
	s := &f.sel.shape
	of := f.all || f.pids != "" || f.tids != "" || len(f.cgroups) > 0 || len(f.command) > 0
	if of && len(f.events)+len(s.spans) == 0 && !f.marker && !s.offCPU && !s.wakers {
		s.spans = []string{"syscalls"}
	}
	return s.offCPU || s.wakers || len(s.spans) > 0 || s.slower > 0
}

// checkTimes checks the flags of times, and those that are not for them.
func (f *traceFlags) checkTimes() error {
	switch {
	case !f.times && len(f.sel.shape.labels) > 0:
		return usagef("--label is for --span and --off-cpu; of events all fields are listed: see -F")
	case !f.times:
		return nil
	case f.sel.shape.slower > 0 && f.offCPU() == "" && len(f.rules())+len(f.sel.shape.spans) == 0 && !f.sel.shape.offCPU && !f.sel.shape.wakers:
		return usagef("--slower-than is of times between events: say which, with --span or --off-cpu")
	case f.marker:
		return usagef("--marker lists events, and --span and --off-cpu times between them: one at a time")
	}
	return f.list.checkTimes()
}

// takeEventsOfTimes takes the events of the times that are asked for, as if they had been given with -e.
func (f *traceFlags) takeEventsOfTimes() {
	s := &f.sel.shape
	if s.offCPU || s.wakers {
		f.events = []string{event.OffCPU}
	}
	for _, rule := range s.spans {
		f.events = append(f.events, spanrule.Prefix+strings.TrimPrefix(rule, spanrule.Prefix))
	}
	s.spans = nil // they come with their events
}

// timesSink prints times between events, and records the events beside.
type timesSink struct {
	withFile
	times *live.Times
}

// timesPrinter prints times until there are enough.
type timesPrinter struct {
	*table.SpanPrinter
	limited bool
	left    uint64
}

func (p *timesPrinter) print(s *stacks.Set, list []stacks.TimedSample) error {
	enough := p.limited && uint64(len(list)) >= p.left
	if enough {
		list = list[:p.left]
	}
	p.left -= min(p.left, uint64(len(list)))
	if err := p.Print(s, list); err != nil || !enough {
		return err
	}
	return listing.ErrStop
}

// held is the first rule of what is held, such as memory: whose rows are no times.
func held(o *convert.Options) *spanrule.Rule {
	if i := slices.IndexFunc(o.Spans, func(r *spanrule.Rule) bool { return r.Value != nil }); i >= 0 {
		return o.Spans[i]
	}
	return nil
}

// newTimesSink returns what lists the times of a session, which stop ends.
func (f *traceFlags) newTimesSink(out output, events []abi.Event, builds *symbols.BuildIDs, kernel *symbols.Kernel, stop func()) (*timesSink, error) {
	opts, err := f.sel.options()
	if err != nil {
		return nil, err
	}
	if r := held(&opts); r != nil {
		return nil, usagef("%s says what is not given back, which is known when a recording ends: kprof record -e %s, then kprof report", r.Name, shellArg(r.Name))
	}
	f.sym.NamesOnly = true
	f.sym.none = !f.list.stacks
	f.sym.addTo(&opts)
	opts.MaxMemory, opts.Name = timesTables, "kprof trace"
	if opts.Formats, err = live.Formats(events, &opts); err != nil {
		return nil, err
	}
	p := timesPrinter{
		SpanPrinter: table.NewSpanPrinter(linesOutput{textOutput(os.Stdout)}, table.SpanFormat{Stacks: f.list.stacks, JSON: f.list.format == "json"}),
		limited:     f.list.limit > 0, left: f.list.limit,
	}
	header, err := dataHeader(events)
	if err != nil {
		return nil, err
	}
	s := &timesSink{}
	if s.times, err = live.NewTimes(events, kernel, builds, opts, p.print, stop); err != nil {
		return nil, worded(err)
	}
	s.Sink = s.times
	if out.format == export.Data {
		if s.beside, err = newFileSink(out.place, events, header, f.rules(), builds, kernel, f.sym.signals); err != nil {
			_, terr := s.times.Finish(context.Background(), &header, 0)
			return nil, errors.Join(err, terr)
		}
	}
	return s, nil
}

// finish lists what is left.
func (s *timesSink) finish(ctx context.Context, stats *record.Stats) error {
	header := liveHeader()
	p, err := s.times.Finish(context.WithoutCancel(ctx), &header, stats.Lost)
	if p != nil {
		say(p.Warnings)
	}
	if err == nil && stats.Samples > 0 { // else the session says so
		err = p.Empty()
	}
	if stats.Lost > 0 {
		notef("larger rings (-m), or a --filter for the kernel, lose less")
	}
	return errors.Join(worded(err), s.withFile.finish(ctx, stats))
}
