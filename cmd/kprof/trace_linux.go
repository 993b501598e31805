//go:build !portable

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/export"
	"kprof/convert/listing"
	"kprof/convert/live"
	"kprof/convert/printable"
	"kprof/perfevent/abi"
	"kprof/perfevent/tracefs"
	"kprof/record"
	"kprof/record/marker"
	"kprof/record/symbols"
)

// traceFlags are the flags of kprof trace.
type traceFlags struct {
	recordFlags
	list   listFlags
	marker bool
	times  bool // between events are listed
}

// traceMemory is what the Go part of kprof trace takes before it is collected more eagerly:
// what waits to be listed is bounded, and may be a third of it.
const traceMemory = 40 << 20

func newTrace() *cobra.Command {
	var f traceFlags
	f.trace, f.callGraphMode = &f, "none"
	c := &cobra.Command{
		Use:   "trace [flags] [[--] COMMAND [ARGS…]]",
		Short: "List events or system calls as they happen, with their fields",
		Long: `Trace prints events one a line while they happen, in the order of time over all CPUs, as
kprof script lists those of a recording: of a COMMAND that it starts, of processes (-p),
threads (-t) or cgroups, or of the whole machine (-a, which is also what it does when
nothing else is said), until the command ends, the time (-d) is over, or Ctrl-C. What
the kernel lost is told in its place. With -o the events are recorded too.

Events (-e) are those of kprof record. Every one is shown; clocks and hardware events are
sampled (--freq, -c). What --filter leaves out costs least, as the kernel does it; --where
can name more.

With --span, --off-cpu or --slower-than it lists times between events instead, each as it ends:
when it began, how long it was, who it was of and its labels (kprof help spans), to which --label
adds fields, such as args and ret of system calls. Where no event is named either, it lists the
system calls of a COMMAND, of processes or of what else is named.

--marker lists what programs write into tracefs' trace_marker, and the kernel with
trace_printk(), of the whole machine, with or without other events between it. It takes
that out of the tracer's buffer, as reading trace_pipe does.`,
		Example: `  kprof trace -e syscalls:sys_enter_openat -- ls /
  kprof trace -e sched:sched_switch -a -d 1s --where 'next_pid != 0' -F time,cpu,trace
  kprof trace -e 'sched:sched_process_*' -f json --limit 5 -- sh -c 'ls /; ls /'
  kprof trace --marker --limit 2 -- sh -c 'for i in 1 2; do echo step $i > /sys/kernel/tracing/trace_marker; done'
  kprof trace -e sched:sched_switch -d 1s -o switches.data > switches.txt
  kprof trace --label args,ret -- true
  kprof trace --span syscalls --slower-than 10ms -- sleep 0.1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given(cmd, args)
			debug.SetMemoryLimit(traceMemory) // it may run for days
			return f.run(cmd.Context())
		},
	}
	c.Flags().SetInterspersed(false) // what follows the command's name is the command's
	fl := c.Flags()
	fl.StringArrayVarP(&f.events, "event", "e", nil, "`event` to list")
	fl.BoolVar(&f.marker, "marker", false, "list what is written into trace_marker, and by trace_printk()")
	f.sourceFlags(c)
	fl.Var((*frequency)(&f.frequency), "freq", "samples per second and CPU of clocks and hardware events, in `Hz` (default 4000)")
	f.list.flags(c)
	f.sel.shape.whereFlag(c)
	f.sel.shape.spanFlags(c)
	fl.StringSliceVar(&f.sel.shape.labels, "label", nil, "of --span and --off-cpu: show `fields` of their events too, or cpu")
	fl.StringVarP(&f.output, "output", "o", "", "`file` to record the events in as well, a perf.data")
	return c
}

// run traces.
func (f *traceFlags) run(ctx context.Context) error {
	f.times = f.listsTimes()
	if err := f.checkTimes(); err != nil {
		return err
	}
	if f.marker && len(f.events) == 0 {
		f.events = []string{"dummy"} // which never happens
	}
	if f.times && len(f.events) == 0 {
		f.takeEventsOfTimes()
	}
	if len(f.events) == 0 {
		return usagef("say what to trace: -e EVENT, such as -e sched:sched_switch, or --span RULE, or of what: -a, -p or a COMMAND, for its system calls; kprof list shows which events there are")
	}
	if f.traces() {
		return usagef("graph: and function: are listed when they have been recorded: kprof record -e %s -o FILE.dat, then kprof script FILE.dat", shellArg(f.events[0]))
	}
	if f.list.stacks {
		f.callGraph, f.callGraphMode = true, "fp"
	}
	out := output{name: "-", format: export.Text}
	if f.output != "" {
		out = output{name: f.output, format: export.Data}
		if out.name == "-" {
			return usagef("standard output is for the lines: -o wants a file")
		}
	}
	if _, err := f.list.printer(); err != nil {
		return err
	}
	if f.times {
		debug.SetMemoryLimit(timesMemory)
	}
	return f.record(ctx, out)
}

// withFile is what is listed, and recorded beside.
type withFile struct {
	record.Sink
	beside *fileSink // nil for none
}

func (w *withFile) Write(a, b []byte) error {
	if w.beside != nil {
		if err := w.beside.Write(a, b); err != nil {
			return err
		}
	}
	return w.Sink.Write(a, b)
}

func (w *withFile) FinishRound() error {
	if w.beside != nil {
		if err := w.beside.FinishRound(); err != nil {
			return err
		}
	}
	return w.Sink.FinishRound()
}

// finish finishes the file.
func (w *withFile) finish(ctx context.Context, stats *record.Stats) error {
	if w.beside == nil {
		return nil
	}
	err := w.beside.finish(ctx, stats)
	if err == nil {
		notef("%s in %v", printable.Count(stats.Samples, "sample"), w.beside)
	}
	return err
}

func (w *withFile) String() string { return "standard output" }

// traceSink prints events, and records them beside.
type traceSink struct {
	withFile
	list    *live.Listing
	printer *listing.Printer
	marker  *marker.Reader // nil for none
}

// newSink returns what lists the events of a session, or times between them, which stop ends.
func (f *traceFlags) newSink(out output, events []abi.Event, builds *symbols.BuildIDs, kernel *symbols.Kernel, stop func()) (_ sink, err error) {
	if f.times {
		return f.newTimesSink(out, events, builds, kernel, stop)
	}
	po, err := f.list.printer()
	if err != nil {
		return nil, err
	}
	opts, err := f.sel.options()
	if err != nil {
		return nil, err
	}
	f.sym.NamesOnly = true
	f.sym.addTo(&opts)
	opts.Naming = nil // a signal ends the tracing
	s := &traceSink{printer: listing.NewPrinter(linesOutput{textOutput(os.Stdout)}, po)}
	defer func() {
		if err != nil && s.marker != nil {
			s.marker.Close()
		}
	}()
	if f.marker {
		if s.marker, err = f.openMarker(events); err != nil {
			return nil, err
		}
		sideband := len(events) - 1
		events = slices.Insert(slices.Clone(events), sideband, s.marker.Events()...)
	}
	header, err := dataHeader(events)
	if err != nil {
		return nil, err
	}
	// The listing first, which may not take a condition: a file that is there stays as it is then.
	o := listing.Options{Options: opts, Stacks: po.Stacks, Address: s.printer.Address, Memory: traceMemory / 5}
	if s.list, err = live.NewListing(events, &header, kernel, o, s.printer, stop); err != nil {
		return nil, worded(err)
	}
	s.Sink = s.list
	if out.format == export.Data {
		if s.beside, err = newFileSink(out.place, events, header, f.rules(), builds, kernel, f.sym.signals); err != nil {
			_, lerr := s.list.Finish()
			return nil, errors.Join(err, lerr)
		}
	}
	return s, nil
}

// openMarker opens what reads trace_marker, for a session with these events.
func (f *traceFlags) openMarker(events []abi.Event) (*marker.Reader, error) {
	fs, err := tracefs.Find(tracefs.Options{Mount: true})
	if err != nil {
		return nil, fmt.Errorf("--marker: %w", err)
	}
	machine := f.pids == "" && f.tids == "" && len(f.cgroups) == 0 && (len(f.command) == 0 || f.all)
	r, err := marker.Open(fs, &events[len(events)-1].Attr, !machine)
	if err != nil {
		return nil, fmt.Errorf("--marker: %w", err)
	}
	warnTracingOff(fs)
	return r, nil
}

// warnTracingOff says that nothing can be written into trace_marker, where that is so: who writes
// gets an error, and trace-cmd leaves it so. A command may switch it on yet.
func warnTracingOff(fs *tracefs.FS) {
	if on, err := fs.Tracing(); err == nil && !on {
		messagef("--marker: the kernel's tracer is off, as trace-cmd leaves it, and takes nothing until 'echo 1 > %s/tracing_on'", fs.Path())
	}
}

func (s *traceSink) FinishRound() error {
	if s.marker != nil {
		if err := s.marker.Drain(func(rec []byte) error { return s.Write(rec, nil) }); err != nil {
			return err
		}
	}
	return s.withFile.FinishRound()
}

func (s *traceSink) finish(ctx context.Context, stats *record.Stats) error {
	var err error
	if s.marker != nil {
		err = s.FinishRound() // what was written since the last one
		written := s.marker.Stats()
		stats.Samples += written.Samples
		stats.Lost += written.Lost
		if written.Others > 0 {
			messagef("--marker passed over %d events of other tracers in the same buffer, which are gone from it", written.Others)
		}
		err = errors.Join(err, s.marker.Close())
	}
	res, ferr := s.list.Finish()
	err = errors.Join(err, ferr, closePrinter(s.printer))
	if res != nil {
		say(res.Warnings)
	}
	if stats.Lost > 0 {
		notef("larger rings (-m), or a --filter for the kernel, lose less")
	}
	err = errors.Join(err, s.withFile.finish(ctx, stats))
	if stats.Samples == 0 && s.marker != nil {
		return &convert.EmptyError{Reason: "nothing was written into trace_marker, and no other event was recorded"}
	}
	if stats.Samples == 0 {
		return nil // the session says so
	}
	return worded(err)
}
