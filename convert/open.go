// Package convert opens any input that holds stacks as a profile with names.
//
// An input is told by its content: a recording of perf or kprof, in a file, in a
// directory or from a pipe, a pprof profile, folded stacks, or the text of other
// tools, compressed or not. Recordings are replayed (convert/replay), their copies
// of stacks walked, and their frames named by what the recording brings along and
// what this machine has (symbolize). What is missing, and why, is in the profile's
// Warnings: nothing is printed.
package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"kprof/convert/bootlog"
	"kprof/convert/folded"
	"kprof/convert/infile"
	"kprof/convert/pagefile"
	"kprof/convert/pprof"
	"kprof/convert/replay"
	"kprof/convert/sniff"
	"kprof/convert/stacktext"
	"kprof/convert/transform"
	"kprof/symbolize"
)

// Selection says which samples to take, what they count, and which labels they get.
type Selection = replay.Selection

// Options say which samples of an input to take, and how to name them. The zero
// value takes all, labels them with comm and pid, and names them by what the input
// and this machine's files tell; no server is asked.
type Options struct {
	// Selection is taken from the samples of recordings. Of a profile without fields, Where is
	// on its labels and its events, and Value the name of one of its values. Of a recording,
	// OffCPU without samples of sched:sched_switch is an error, replay.ErrNoSwitches, WallClock
	// without the clock replay.ErrNoClock, and Spans without the events of a rule
	// *replay.NoSpanEventsError. Without any Spans, and where neither OffCPU nor Events or Value
	// ask for something else, they are the rules that a recording has been made with, beside its
	// other events. Blocks are kept so that profiles in the format of pprof compare as
	// recordings do.
	Selection
	Time TimeRange

	// DropLabels are keys of labels that will not be used, beyond what selects samples:
	// they need not be read.
	DropLabels []string
	// TagRoot and TagLeaf are keys of labels whose values become frames: of the first of
	// TagRoot that at the root, of the last of TagLeaf that at the leaf, as pprof has it.
	TagRoot, TagLeaf []string
	// Transforms are done to the stacks, one after the other, once these have names.
	Transforms []transform.Transform
	// Part says that the profile is of a part of a recording. That no sample of it has a label
	// of TagRoot and TagLeaf, or that Transforms leave none, is no error then.
	Part bool

	// Unnamed leaves recorded addresses without names. Default: they are named.
	Unnamed bool

	// Symbols say where names come from. What a recording says of itself is filled
	// in: Foreign, Release, Kallsyms and CallFrames.
	Symbols symbolize.Options

	// Naming is called when the looking for names begins, which may wait for a
	// server or a file system that does not answer; end is called when it is over.
	// When the context that it returns ends, the profile is left without the names
	// that are missing, and a Warning has the context's cause. Default: it is given
	// two minutes.
	Naming func(context.Context) (naming context.Context, end func())

	// Name is what the input is called in the profile. Default: the file's name.
	Name string

	// Wording puts a Warning into words where it goes into the profile's comments.
	// Default: Warning.String.
	Wording func(*Warning) string
}

// namingTime is how long names are looked for by default.
const namingTime = 2 * time.Minute

func (o *Options) naming(ctx context.Context) (context.Context, func()) {
	if o.Naming != nil {
		return o.Naming(ctx)
	}
	return context.WithTimeoutCause(ctx, namingTime, fmt.Errorf("it took longer than %v", namingTime))
}

func (o *Options) word(w *Warning) string {
	if o.Wording != nil {
		return o.Wording(w)
	}
	return w.String()
}

// UsesFields reports whether the options need the fields of events.
func (o *Options) UsesFields() bool {
	return o.Where != nil || o.Value != nil || len(o.FieldLabels) > 0 || o.OffCPU || o.WallClock || len(o.Spans) > 0
}

// Replay returns what of the options is for the replaying of records.
func (o *Options) Replay() replay.Options {
	r := replay.Options{
		Selection:     o.Selection,
		KernelSymbols: o.Symbols.KallsymsPath != "" || o.Symbols.Kallsyms != nil || o.Symbols.Vmlinux != "",
	}
	o.Time.apply(&r)
	return r
}

// Open reads the input at a path, a file or the directory of a recording, as
// Read does.
func Open(ctx context.Context, path string, o Options) (*Profile, error) {
	f, err := infile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if o.Name == "" {
		o.Name = path
	}
	p, err := Read(ctx, f, o)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return p, err
}

// Read reads the input in r. Files are read from their start, and the better for it:
// a recording in pipe mode that arrives through a pipe or another reader is read once, and
// names the code that programs made while they ran less well. Of other readers than files, what
// is read at different places (recordings in file mode, traces) is copied into a file in
// os.TempDir first, if half of what is free there is enough.
//
// That ctx has ended is noticed between two reads from r: where r waits, so does Read.
//
// An input that is none of those known is an *UnreadableError. One without samples is
// an *EmptyError, beside a profile that has what else there is: its counts of
// records, for one.
func Read(ctx context.Context, r io.Reader, o Options) (*Profile, error) {
	if f, ok := r.(*os.File); ok && o.Name == "" {
		o.Name = f.Name()
	}
	p := &Profile{Source: o.Name, opts: &o}
	err := p.read(ctx, r)
	if empty := (*EmptyError)(nil); err != nil && !errors.As(err, &empty) {
		return nil, err
	}
	p.AddLosses()
	if err != nil {
		return p, err
	}
	p.addMerged()
	if err := p.Reshape(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Profile) read(ctx context.Context, r io.Reader) (err error) {
	c, err := openContent(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.unreadable(); err != nil {
		return err
	}
	switch {
	case c.kind == sniff.Pprof, c.kind == sniff.Unknown && c.packed:
		p.Set, err = pprof.ReadOptions{Drop: p.opts.unusedLabels()}.Read(c)
		if err != nil && c.kind == sniff.Unknown {
			err = fmt.Errorf("it is compressed, and what is in it is neither pprof nor any other known format: %w", err)
		}
	case c.kind == sniff.Folded:
		p.Set, err = folded.Read(c, folded.ReadOptions{Comm: true})
	case c.kind == sniff.HTML:
		if p.Set, err = pagefile.Read(c, pagefile.Options{Times: p.opts.Times}); errors.Is(err, pagefile.ErrNoProfile) {
			return &UnreadableError{Kind: c.kind}
		}
	case c.kind == sniff.KernelLog:
		var l *bootlog.Log
		if l, err = bootlog.Read(c, bootlog.Options{}); errors.Is(err, bootlog.ErrNoCalls) {
			return &UnreadableError{Kind: c.kind}
		}
		if err == nil {
			p.Set = l.Set()
		}
	case dialects[c.kind] != stacktext.Unknown:
		return p.readText(c, dialects[c.kind])
	}
	if err != nil {
		return err
	}
	if p.Set != nil {
		return cmp.Or(p.selectRows(p.opts), p.nameProgram(ctx))
	}
	recording, err := c.recording(ctx, false)
	if err != nil {
		return err
	}
	defer recording.Close()
	in := recordingInput{Reader: recording, written: c.written, p: p}
	return in.read(ctx)
}
