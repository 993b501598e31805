package datafile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/procfs"
	"kprof/record"
	"kprof/record/symbols"
)

// Header reads what a recording of these events says of its machine, and of the fields
// of tracepoints. Version and Cmdline are the caller's to add.
func Header(events []abi.Event) (perfdata.Features, error) {
	f := perfdata.Features{Host: record.ReadHost()}
	t, err := record.ReadFormats(events)
	if t != nil {
		f.TracingData = t.AppendTo(nil)
	}
	return f, err
}

// Namer returns the names of the user code that was sampled in the recording in f, as
// perfdata.AppendUserSymbols has them, nil for none; and how many addresses have none as there
// are too many.
type Namer func(ctx context.Context, f *os.File) (names []byte, leftOut int, err error)

// File is a perf.data file that is being written, the record.Sink of a session.
type File struct {
	*perfdata.Writer

	// Names may be set before Finish; nil leaves names of user code out.
	Names Namer

	f      *os.File
	out    Output
	builds *symbols.BuildIDs
	kernel *symbols.Kernel
}

// Output is where a recording is written to.
type Output struct {
	Name string // that it has in errors
	// Create opens the file, which nobody sees before it calls publish.
	Create func() (f *os.File, publish func() error, err error)
	// Whole publishes the file when it is finished. Default: when it can be read, which is so from
	// the first moment on, whatever ends this process.
	Whole bool

	publish func() error
}

// Create begins a file with the header, the rules by which it is to be read (perfdata.Reader.Rules),
// and the symbols that the kernel had at the start; kernel may be nil, for none. The file is made
// when these are known, so that none is left of a recording that cannot begin.
func Create(out Output, events []abi.Event, header perfdata.Features, rules []string, builds *symbols.BuildIDs, kernel *symbols.Kernel) (*File, error) {
	o := perfdata.WriterOptions{Rules: rules}
	if kernel != nil {
		var err error
		if o.KernelSymbols, err = kernelSymbols(kernel, events); err != nil {
			return nil, err
		}
	}
	f, publish, err := out.Create()
	if err != nil {
		return nil, err
	}
	w, err := perfdata.NewWriter(f, events, header, o)
	if err != nil {
		err = fmt.Errorf("%s: %w", out.Name, err)
	} else if out.publish = publish; !out.Whole {
		err = publish()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{Writer: w, f: f, out: out, builds: builds, kernel: kernel}, nil
}

// kernelSymbols are encoded those of the start, with what says whose registers are where if
// events are accesses to these.
func kernelSymbols(kernel *symbols.Kernel, events []abi.Event) ([]byte, error) {
	if !slices.ContainsFunc(events, func(e abi.Event) bool { return strings.HasPrefix(e.Name, "rwmmio:") }) {
		return kernel.StartEncoded()
	}
	var with perfdata.KernelSymbols
	if start, err := kernel.Start(); err != nil {
		return nil, err
	} else if start != nil {
		with = *start
	}
	with.IOMem = procfs.IOMem()
	return with.AppendTo(nil, abi.LittleEndian)
}

// Name is what the file is called.
func (f *File) Name() string { return f.out.Name }

// Missing is what a file does without, and why; nil for what it has.
type Missing struct {
	BuildIDs error // of some files
	Modules  error // symbols of modules that were loaded while it was recorded

	Names        error // of user code
	NamesLeftOut int   // addresses without, as there are too many
}

// Finish adds what is known at the end, and closes the file. Build ids and names are waited
// for until ctx ends.
func (f *File) Finish(ctx context.Context) (m Missing, err error) {
	return f.finish(ctx, (*symbols.Kernel).End, (*symbols.BuildIDs).All)
}

// FinishPart does what Finish does, of a file that is a part of a recording which goes on.
func (f *File) FinishPart(ctx context.Context) (m Missing, err error) {
	return f.finish(ctx, (*symbols.Kernel).SoFar, (*symbols.BuildIDs).SoFar)
}

func (f *File) finish(ctx context.Context, modules func(*symbols.Kernel) (*perfdata.KernelSymbols, error),
	builds func(*symbols.BuildIDs, context.Context) ([]perfdata.BuildID, error)) (m Missing, err error) {
	if f.kernel != nil {
		trailer, err := modules(f.kernel)
		if err == nil && trailer != nil {
			var encoded []byte
			encoded, err = trailer.AppendTo(nil, abi.LittleEndian)
			f.SetTrailer(encoded)
		}
		m.Modules = err
	}
	var ids []perfdata.BuildID
	ids, m.BuildIDs = builds(f.builds, ctx)
	err = f.Writer.Close(perfdata.Features{BuildIDs: ids})
	if err == nil && f.Names != nil {
		m.NamesLeftOut, m.Names = f.addNames(ctx)
	}
	if err == nil && f.out.Whole {
		err = f.out.publish()
	}
	if err := errors.Join(err, f.f.Close()); err != nil {
		return m, fmt.Errorf("%s: %w", f.out.Name, err)
	}
	return m, nil
}

// addNames appends the names of user code. The file is whole without.
func (f *File) addNames(ctx context.Context) (leftOut int, err error) {
	names, leftOut, err := f.Names(ctx, f.f)
	if err != nil || names == nil {
		return leftOut, err
	}
	return leftOut, perfdata.AppendUserSymbols(f.f, names, abi.LittleEndian)
}
