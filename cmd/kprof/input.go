package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"kprof/convert"
	"kprof/convert/pprof"
	"kprof/convert/render"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/symbolize"
	"kprof/symbolize/unwind"
)

// defaultInput is what perf record and kprof record write without -o.
const defaultInput = "perf.data"

// load reads any input that kprof knows and names its frames.
func load(ctx context.Context, name string, opts convert.Options, sym symbolOptions) (*profile, error) {
	p, err := loadAny(ctx, name, opts, sym)
	if err == nil && len(p.set.Events) == 0 {
		return nil, fmt.Errorf("%s: it has no events", p.source)
	}
	return p, err
}

// loadAny is load, for recordings without events too: of statistics, for one.
func loadAny(ctx context.Context, name string, opts convert.Options, sym symbolOptions) (*profile, error) {
	f, err := openInput(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if name == "-" {
		name = "standard input"
	}
	p, err := loadFrom(ctx, f, opts, sym)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.source = name
	p.tellLost()
	return p, nil
}

func openInput(name string) (*os.File, error) {
	if name == "-" {
		return os.Stdin, nil
	}
	st, err := os.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist) && name == defaultInput:
		return nil, fmt.Errorf("there is no %s here: name a recording, or make one with 'kprof record'", defaultInput)
	case err != nil:
		return nil, err
	case st.Mode()&os.ModeNamedPipe != 0:
		return openPipe(name)
	}
	return os.Open(name)
}

// writerWait is how long a pipe may have no writer.
const writerWait = 3 * time.Second

// openPipe opens a named pipe, but does not wait for ever for somebody to write.
func openPipe(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	// A pipe that never had a writer is not hung up: poll then waits.
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	_, err = unix.Poll(fds, int(writerWait.Milliseconds()))
	if fds[0].Revents == 0 {
		return nil, errors.Join(fmt.Errorf("%s is a pipe that nobody writes to", name), f.Close())
	}
	return f, err
}

func loadFrom(ctx context.Context, f *os.File, opts convert.Options, sym symbolOptions) (*profile, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var in io.Reader = f
	var head []byte
	switch {
	case st.IsDir():
		head = []byte{0} // no profile, in any case
	case st.Mode().IsRegular():
		head = make([]byte, headSize)
		n, err := f.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		head = head[:n]
	default:
		b := bufio.NewReaderSize(f, 1<<16)
		peeked, err := b.Peek(headSize)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		head, in = peeked, b
	}
	if len(head) == 0 {
		return nil, errors.New("it is empty")
	}
	var set *stacks.Set
	switch {
	case isPprof(head):
		set, err = pprof.Read(in)
	case isText(head):
		set, err = render.FoldedRead(in, render.FoldedReadOptions{Comm: true})
	}
	if err != nil {
		return nil, err
	}
	if set != nil {
		return &profile{set: set}, selectRows(set, &opts)
	}
	r, err := perfdata.NewReader(in)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return loadRecording(ctx, r, st.ModTime(), opts, sym)
}

// headSize is how much of an input tells what it is.
const headSize = 32

// isPprof reports whether an input may be a pprof profile: compressed, plain, or
// of one of the old text formats.
func isPprof(head []byte) bool {
	for _, p := range []string{"\x1f\x8b", "heap profile:", "goroutine profile:", "threadcreate profile:", "--- "} {
		if bytes.HasPrefix(head, []byte(p)) {
			return true
		}
	}
	// A Profile's first field is a ValueType, whose first is a number.
	return len(head) > 2 && head[0] == 0x0a && head[2] == 0x08
}

// isText reports whether an input may be folded stacks, and is no perf.data,
// whose magic is text too.
func isText(head []byte) bool {
	for _, magic := range []string{"PERFILE", "PERFFILE", "2ELIFREP"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return false
		}
	}
	return !bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' })
}

func loadRecording(ctx context.Context, r *perfdata.Reader, written time.Time, opts convert.Options, sym symbolOptions) (*profile, error) {
	var names *symbolize.Symbolizer
	if !r.PipeMode() {
		machine := unwindMachine(r)
		sym.unwind = machine != 0
		names = sym.of(r, written)
		defer names.Close()
		if !sym.none {
			if machine != 0 {
				opts.Unwind = &convert.Unwind{Machine: machine, Frames: names.CallFrames}
			}
			names.Prefetch()
			opts.JITCode = func(d convert.JITDump) []symbolize.JITCode { return names.JITCode(d.PID, d.Path) }
		}
	}
	opts.KernelSymbols = sym.kallsyms != "" || sym.vmlinux != ""
	set, stats, err := convert.File(ctx, r, opts)
	if err != nil {
		return nil, err
	}
	if sym.none { // nor does anybody want to see callers
		stats.UnwalkedStacks = 0
	}
	p := &profile{set: set, stats: stats, events: []abi.Event{}, symbols: r.Features.FileSymbols}
	for _, e := range r.Events.Events {
		p.events = append(p.events, e.Event)
	}
	if err := knownEvent(opts.Event, p.events); err != nil {
		return nil, err
	}
	set.TimeNanos = written.UnixNano() - set.DurationNanos
	describe(set, &r.Features)
	if names == nil { // a pipe tells last where it comes from
		names = sym.of(r, written)
		defer names.Close()
	}
	return p, p.name(ctx, names, &sym)
}

// unwindMachine returns whose stacks the recording has copies of, 0 if it has none, or
// those of a machine that is not known.
func unwindMachine(r *perfdata.Reader) unwind.Machine {
	if !slices.ContainsFunc(r.Events.Events, func(e *perfdata.Event) bool { return e.Attr.SampleType&abi.SampleStackUser != 0 }) {
		return 0
	}
	switch r.Features.Arch {
	case "x86_64":
		return unwind.X86_64
	case "aarch64":
		return unwind.ARM64
	}
	return 0
}

// of returns what names a recording, once its features have been read.
func (o symbolOptions) of(r *perfdata.Reader, written time.Time) *symbolize.Symbolizer {
	o.release = r.Features.OSRelease
	o.foreign = !recordedHere(&r.Features, written)
	if o.kallsyms == "" && !o.none {
		capsule, err := r.Capsule()
		if err != nil {
			messagef("%v; names come from elsewhere", err)
		} else if capsule != nil {
			o.recorded = capsule.Kallsyms
		}
	}
	return o.symbolizer()
}

func knownEvent(name string, events []abi.Event) error {
	if name == "" {
		return nil
	}
	for _, e := range events {
		if e.Name == name {
			return nil
		}
	}
	list := ""
	for _, e := range events {
		list += " " + e.Name
	}
	return fmt.Errorf("it has no event %q, but%s", name, list)
}

// recordedHere reports whether a recording was made by this kernel since it
// booted, so that its own symbols and processes may be asked for names.
func recordedHere(f *perfdata.Features, written time.Time) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	if f.Hostname != unix.ByteSliceToString(u.Nodename[:]) || f.OSRelease != unix.ByteSliceToString(u.Release[:]) {
		return false
	}
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) != nil {
		return false
	}
	return written.After(time.Now().Add(-time.Duration(si.Uptime) * time.Second))
}
