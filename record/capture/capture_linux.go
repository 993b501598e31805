package capture

import (
	"context"
	"errors"
	"slices"
	"sync"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/record"
	"kprof/record/symbols"
	"kprof/record/synth"
)

// Options say what is kept.
type Options struct {
	// NoKernel leaves out the symbols of the kernel; KernelAtStart reads all of them at
	// once, as a recording in a file does, and not only what changes.
	NoKernel      bool
	KernelAtStart bool

	// Files keeps open the files that processes map, so that they can be read when
	// the processes are gone, see symbolize.Options.Retained.
	Files bool

	// DropRights has all threads of the process but one of the session's give up for good what
	// only opening needs, see record.Session.DropRights, before anything is read that a target
	// has a say in. It is for a program that does nothing else; one with C code keeps what it
	// has.
	DropRights bool
}

// Capture is a session with what is kept beside it.
type Capture struct {
	*record.Session
	Kernel   *symbols.Kernel // nil where left out
	BuildIDs *symbols.BuildIDs
	Files    *symbols.FileRetainer // nil where not asked for

	clock      perfevent.Clock // of the side-band, if known
	target     record.Target
	dropRights bool

	mu     sync.Mutex
	kernel kernelRecords
}

// Open opens the session that ro asks for; Sideband, Synthesize and
// SynthesizeAgain of it are set here.
func Open(ctx context.Context, ro record.Options, o Options) (_ *Capture, err error) {
	c := &Capture{target: ro.Target, dropRights: o.DropRights}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if !o.NoKernel {
		c.Kernel = symbols.WatchKernel(o.KernelAtStart, perfevent.BPFPrograms)
	}
	ro.Sideband = c.take
	ro.Synthesize = c.describe
	ro.SynthesizeAgain = c.describeAgain
	if c.Session, err = record.Open(ctx, ro); err != nil {
		return nil, err
	}
	if o.Files {
		c.Files = symbols.NewFileRetainer()
	}
	sideband := &c.sideband().Attr
	c.BuildIDs = symbols.NewBuildIDs(sideband, c.Files)
	c.kernel.layout = abi.NewLayout(sideband, abi.LittleEndian)
	if c.Kernel != nil {
		c.Kernel.Follow(c.FollowsKernel)
	}
	return c, nil
}

// take looks at a record of the side-band.
func (c *Capture) take(rec []byte) {
	c.BuildIDs.Take(rec)
	switch h := abi.DecodeHeader(rec, abi.LittleEndian); h.Type {
	case abi.RecordKsymbol:
		c.mu.Lock()
		c.kernel.add(rec)
		c.mu.Unlock()
	case abi.RecordLost: // what it was
	default:
		return
	}
	if c.Kernel != nil {
		c.Kernel.Changed()
	}
}

// sideband is the event that reports what processes do: the last of a session.
func (c *Capture) sideband() *abi.Event {
	events := c.Events()
	return &events[len(events)-1]
}

// describe writes records of what the target is already, as far as its samples will
// need it: it is a record.Synthesizer. What comes after the kernel is the targets' to
// influence: from there on it does with fewer rights, where the caller wants that.
func (c *Capture) describe(write func([]byte) error) error {
	done := false
	// What there is of the kernel. The rings are looked into now and then while records are
	// written, and files opened that are in them, which must not be before rights are dropped: on a
	// thread that waits for such a file they cannot be.
	var kernel [][]byte
	sideband, t := c.sideband(), &c.target
	if clock, err := perfevent.NewClock(&sideband.Attr); err == nil {
		c.clock = clock
	}
	o := synth.Options{Attr: sideband.Attr, ID: sideband.IDs[0], Clock: c.clock, KernelOnly: t.EnableOnExec}
	if !t.AllCPUs && len(t.Cgroups) == 0 {
		o.PIDs = slices.Concat(t.PIDs, t.TIDs)
	}
	if c.Kernel != nil {
		if k := c.Kernel.Unchanged(); k != nil {
			o.Kallsyms = k.Kallsyms
		}
	}
	o.KernelDone = func() error {
		done = true
		if c.dropRights {
			// Not supported in a program with C code, whose threads Go does not know.
			if err := c.DropRights(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
				return err
			}
		}
		for _, rec := range kernel {
			if err := write(rec); err != nil {
				return err
			}
		}
		kernel = nil
		return nil
	}
	return synth.Describe(o, func(rec []byte) error {
		if !done {
			c.mu.Lock()
			c.kernel.add(rec)
			c.mu.Unlock()
			kernel = append(kernel, slices.Clone(rec))
			return nil
		}
		return write(rec)
	})
}

// describeAgain writes records of the processes that there are by now, which may be known.
func (c *Capture) describeAgain(write func([]byte) error) error {
	sideband := c.sideband()
	return synth.Describe(synth.Options{Attr: sideband.Attr, ID: sideband.IDs[0], Clock: c.clock, NoKernel: true, Known: true}, write)
}

// Describe writes records of what runs by now, while the Session does: of all processes,
// since a target has started others. The kernel is described as it was at the start, when there
// was the right to see its addresses, with what the side-band has told since. What nobody has
// mapped for some such calls is forgotten (symbols.BuildIDs.Turn): it is for recordings of which
// only the last is needed.
func (c *Capture) Describe(write func(rec []byte) error) error {
	sideband := c.sideband()
	c.BuildIDs.Turn()
	c.mu.Lock()
	kernel := c.kernel.appendTo(nil)
	c.mu.Unlock()
	if err := write(kernel); err != nil {
		return err
	}
	return synth.Describe(synth.Options{Attr: sideband.Attr, ID: sideband.IDs[0], NoKernel: true}, func(rec []byte) error {
		c.BuildIDs.Take(rec)
		return write(rec)
	})
}

// Turn takes records of what there is by now, of a recording that is divided
// (parts.Options.Turn): as with Describe, what nobody has mapped for some such calls is forgotten.
func (c *Capture) Turn(running []byte) {
	c.BuildIDs.Turn()
	for len(running) >= abi.HeaderSize {
		h := abi.DecodeHeader(running, abi.LittleEndian)
		if h.Type == abi.RecordMmap || h.Type == abi.RecordMmap2 {
			c.BuildIDs.Take(running[:h.Size])
		}
		running = running[h.Size:]
	}
}

// Close closes the session, which ends its Run, and gives back what was kept. A second Close does
// nothing.
func (c *Capture) Close() error {
	var errs []error
	if c.Session != nil {
		errs = append(errs, c.Session.Close())
	}
	if c.BuildIDs != nil {
		c.BuildIDs.Close()
	}
	if c.Files != nil {
		errs = append(errs, c.Files.Close())
	}
	if c.Kernel != nil {
		errs = append(errs, c.Kernel.Close())
	}
	return errors.Join(errs...)
}
