//go:build !portable

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kprof/convert"
	"kprof/convert/export"
	"kprof/convert/printable"
	"kprof/perfevent/ringpage"
	"kprof/perfevent/tracefs"
	"kprof/record"
	"kprof/record/tracer"
)

// formatDat is trace.dat, as which nothing but what the tracer recorded can be written.
const formatDat format = "dat"

// defaultTrace is what a recording of the tracer is called without -o.
const defaultTrace = "trace.dat"

// traces reports whether the kernel's tracer is recorded.
func (f *recordFlags) traces() bool {
	return f.instance != "" || slices.ContainsFunc(f.events, tracer.IsEvent)
}

// runTracer records functions.
func (f *recordFlags) runTracer(ctx context.Context) error {
	out := output{name: f.output, format: formatDat}
	if !f.push.outputSet {
		out.name = defaultTrace
	}
	var err error
	switch {
	case f.push.to != "" || f.parts.given() || f.open:
		return usagef("functions that the kernel's tracer records go to one file, once: without --push, --every, --flight and --open")
	case f.format == string(formatDat), f.format == "" && (out.name == "-" || strings.HasSuffix(out.name, ".dat")):
	default:
		if out, err = chooseOutput(out.name, f.format); err != nil {
			return err
		}
	}
	if out.format == export.Data {
		return usagef("perf.data has no place for what the kernel's tracer records: use -o FILE.dat, which trace-cmd and KernelShark read too, or a profile, -o FILE.svg")
	}
	if out.svg, err = f.svg.options(out.format); err != nil {
		return err
	}
	return f.record(ctx, out)
}

// tracerOptions makes the events options of the tracer.
func (f *recordFlags) tracerOptions(o *record.Options) error {
	f.tracer = &tracer.Options{Depth: f.depth, OnCPU: f.onCPU, Everything: f.allFunctions, BufferSize: o.RingSize}
	if f.instance != "" && (len(f.events) > 0 || f.pids != "" || f.tids != "" || f.depth != 0 || f.onCPU || o.RingSize != 0) {
		return usagef("--instance takes what somebody else traces: without -e, -p, -t, -m, --depth and --on-cpu")
	}
	for _, e := range f.events {
		if !tracer.IsEvent(e) {
			return usagef("%s and %s are recorded in different ways: one at a time", f.events[0], e)
		}
		if err := f.tracer.AddEvent(e); err != nil {
			return usageError{err}
		}
	}
	switch {
	case f.frequencySet || f.csSet || f.filter != "" || len(f.cgroups) > 0 || f.noInherit:
		return usagef("each call of a function is recorded: without -F, -c, --filter, --cgroup and -i; choose tasks with -p or -t, CPUs with -C")
	case f.depth < 0:
		return usagef("--depth %d: wants a number above 0", f.depth)
	case len(f.tracer.Functions) > 0 && (f.depth > 0 || f.onCPU):
		return usagef("--depth and --on-cpu are for -e graph:FUNC, which knows what functions call and how long they take")
	}
	f.tracer.CPUs = o.Target.CPUs
	return nil
}

// tracerRefused says what a refusal of the kernel's means.
func tracerRefused(err error) error {
	switch {
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w; the kernel's tracer is root's alone", err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w; a kernel that is locked down lets nobody choose functions: boot with lockdown=none, or without Secure Boot", err)
	}
	return err
}

// tracerSession is session for functions.
func (f *recordFlags) tracerSession(ctx context.Context, stop func(), opts record.Options, out output) (err error) {
	fs, err := tracefs.Find(tracefs.Options{Mount: true})
	if err != nil {
		return tracerRefused(err)
	}
	t, err := f.openTracer(fs, &opts.Target)
	if err != nil {
		return tracerRefused(err)
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	keep, err := unnamedFile(out)
	if err != nil {
		return err
	}
	defer keep.Close()
	spool := tracer.NewSpool(keep, t.PageSize())

	begun := time.Now()
	shown := newProgress(voice.quiet, f.duration, out)
	stats, err := t.Run(ctx, spool, func() error {
		begun = time.Now()
		if f.duration > 0 {
			time.AfterFunc(f.duration, stop)
		}
		if on, err := t.Tracing(); err != nil {
			return err
		} else if !on && opts.Start == nil {
			stop() // nothing will come
		}
		if opts.Start != nil {
			return opts.Start()
		}
		return nil
	}, func(pages uint64) {
		shown.update(record.Progress{Elapsed: time.Since(begun), Bytes: pages * uint64(t.PageSize())})
	})
	shown.clear()
	if err != nil {
		return err
	}
	if stats.Events == 0 {
		if f.instance != "" {
			return &convert.EmptyError{Reason: fmt.Sprintf("the rings of the instance %s hold nothing", f.instance)}
		}
		return &convert.EmptyError{Reason: fmt.Sprintf("%s: not called while it was traced", strings.Join(f.events, ", "))}
	}
	file, err := t.File(spool, &stats)
	if err != nil {
		return err
	}
	file.Version = version()
	if err := t.Close(); err != nil { // nothing is held longer than it is needed
		return err
	}
	switch {
	case stats.Lost > 0 && f.instance != "":
		messagef("%d events were lost; a larger buffer_size_kb of the instance loses less", stats.Lost)
	case stats.Lost > 0:
		messagef("%d events were lost: calls of which they were begin or end are missing; larger rings (-m), fewer functions or --depth lose less", stats.Lost)
	}
	f.recorded = stats.Events
	if f.maxLostSet && stats.Lost > f.maxLost {
		defer func() {
			err = errors.Join(err, fmt.Errorf("%d events were lost, --max-lost permits %d", stats.Lost, f.maxLost))
		}()
	}
	if out.format != formatDat {
		return f.tracedProfile(context.WithoutCancel(ctx), out, file.Write)
	}
	if !ringpage.CountsNanoseconds(file.Clock) {
		say([]convert.Warning{{Kind: convert.TicksForTimes, Clock: file.Clock}})
	}
	file.Compress = true
	if err := writeDat(out, file.Write); err != nil {
		return err
	}
	size := ""
	if st, err := os.Stat(out.name); err == nil && out.name != "-" && st.Mode().IsRegular() {
		size = " (" + printable.Bytes(st.Size()) + ")"
	}
	notef("%d events in %s%s", stats.Events, out.name, size)
	if out.place != nil && out.place.IsFile() {
		notef("to look at it: kprof report %s", shellArg(out.name))
	}
	return nil
}

// openTracer opens the tracer, or an instance that is there.
func (f *recordFlags) openTracer(fs *tracefs.FS, target *record.Target) (t *tracer.Tracer, err error) {
	if f.instance != "" {
		return tracer.Attach(fs, f.instance, f.tracer.CPUs)
	}
	o := *f.tracer
	if o.Tasks, err = tracedTasks(target); err != nil {
		return nil, err
	}
	if !target.EnableOnExec {
		o.Processes = target.PIDs
	}
	if t, err = tracer.Open(fs, o); errors.Is(err, tracer.ErrEverything) {
		err = fmt.Errorf("%w: name fewer, or insist with --all-functions", err)
	}
	return t, err
}

// tracedTasks are the threads of a target; nil for all.
func tracedTasks(t *record.Target) ([]int, error) {
	if t.EnableOnExec { // whose other threads end with its exec
		return t.PIDs, nil
	}
	tids, err := tracer.Threads(t.PIDs)
	return append(tids, t.TIDs...), err
}

// tracedProfile writes a profile of what was recorded.
func (f *recordFlags) tracedProfile(ctx context.Context, out output, write func(io.WriteSeeker) error) error {
	opts, err := f.sel.options()
	if err != nil {
		return err
	}
	out.needs(&opts, &f.sym)
	f.sym.addTo(&opts)
	opts.Name = out.name
	tmp, err := written(out, write)
	if err != nil {
		return err
	}
	defer tmp.Close()
	p, err := convert.Read(ctx, tmp, opts)
	if err != nil {
		return worded(err)
	}
	say(p.Warnings)
	if err := out.write(&profile{p}); err != nil {
		return err
	}
	what := "calls"
	if f.instance != "" {
		what = "events"
	}
	notef("%d %s in %s", sumCounts(p.Set.SampleCounts()), what, out.name)
	if next := out.next(); next != "" {
		notef("%s", next)
	}
	return nil
}

// writeDat writes a file that is to be had whole before it is anywhere else.
func writeDat(out output, write func(io.WriteSeeker) error) error {
	through := func(f *os.File) error {
		tmp, err := written(out, write)
		if err != nil {
			return err
		}
		defer tmp.Close()
		_, err = io.Copy(f, tmp)
		return err
	}
	if out.place == nil {
		if isTerminal(os.Stdout) {
			return usagef("a recording is not for a terminal: use -o FILE, or a pipe")
		}
		return through(os.Stdout)
	}
	return out.place.Write(out.withRights, func(f *os.File, stream bool) error {
		if stream {
			return through(f)
		}
		return write(f)
	})
}

// written is an unnamed file with what write has written, to be read from its begin.
func written(out output, write func(io.WriteSeeker) error) (*os.File, error) {
	f, err := unnamedFile(out)
	if err != nil {
		return nil, err
	}
	if err = write(f); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unnamedFile opens a file beside the output, where its space is, that vanishes when it is
// closed.
func unnamedFile(out output) (*os.File, error) {
	dir := os.TempDir()
	if out.place != nil && out.place.IsFile() {
		dir = filepath.Dir(out.name)
	}
	const private = 0o600
	if fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, private); err == nil {
		return os.NewFile(uintptr(fd), filepath.Join(dir, "what was traced")), nil
	}
	f, err := os.CreateTemp(dir, "kprof-*.tmp")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}
