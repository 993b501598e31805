package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/format"
	"kprof/perfevent/tracefs"
)

// Session is a recording: opened, run once, closed.
type Session struct {
	opts     Options
	cpus     []int
	resolver event.Resolver
	features perfevent.Features

	events   []*recordedEvent // those asked for
	sideband *recordedEvent
	rings    []*cpuRing
	owners   *thread // whose counters own the rings
	hangups  []*perfevent.Counter
	selfName string // of our threads, when a filter keeps them out

	notes []string

	running sync.Mutex
	ran     bool               // Run has begun, or is not to
	stop    context.CancelFunc // ends Run, nil before it has begun

	requests chan request  // see Enable
	over     chan struct{} // closed when Run returns, or by Close where it did not run

	follows       atomic.Bool // see FollowsKernel
	kernelLeftOut bool        // see userOnly
	wakeups       *wakeups    // nil where there is nothing to it
	closing       sync.WaitGroup
	left          []int // targets that noteLeft has noted
	ledger        ledger
}

// event is an event with its counters.
type recordedEvent struct {
	event.Event
	counters []*perfevent.Counter
	past     perfevent.Count // of counters that were closed, of CPUs that went
	pastIDs  []uint64        // theirs, but for those of cpuRing.renamed
	asked    string          // of filter, what is not the recorder's own wish
	filter   string          // set on each counter
	filtered bool            // filter has been decided on
	disabled bool            // by Options.Disabled, by Session.Disable, or until a trigger enables it
	leaveOut bool            // our own samples are to be left out as they are read
	onCPUs   bool            // recorded on CPUs where others are of tasks, see wakeups
	asleep   bool            // its twin is sampled in its place, see copying
	twin     *recordedEvent
	function abi.FunctionFields
}

// cpuRing is the ring of one CPU. Its owner is a counter of a
// thread of ours: it outlives every target, and a change of that thread's name
// on that CPU writes a record, which is how the kernel is made to say what was
// lost.
type cpuRing struct {
	cpu   int
	owner *perfevent.Counter
	ring  *perfevent.Ring
	size  int // of the ring, in bytes

	// Of a ring that was enlarged, see grower.
	memory  *perfevent.Counter // owns the larger ring, nil if there is none
	before  *perfevent.Counter // memory as of when the last old ring was let go
	old     *perfevent.Ring    // still to be drained, before ring
	growing bool               // from when a larger one is made until old is let go
	leaving bool               // the counters have left old, and its last record is to come
	retired bool               // it has come: nothing goes into old any more

	limit, oldLimit int // how much of ring and of old a round reads, see woken

	used    bool              // something was in it
	renamed map[uint64]uint64 // ids of counters that were opened while recording, see rename
}

// Open opens all events on all targets, disabled; only the side-band of
// processes records from here on, since it tells which new threads already
// have the counters of the thread that started them.
func Open(ctx context.Context, opts Options) (_ *Session, err error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	opts.Disabled = opts.Disabled || slices.ContainsFunc(opts.Specs, func(s event.Spec) bool { return s.Trigger == event.TriggerEnable })
	s := &Session{opts: opts, requests: make(chan request), over: make(chan struct{})}
	s.resolver.MountTracefs, s.resolver.MaxProbes, s.resolver.Readable = opts.MountTracefs, opts.MaxProbes, opts.Readable
	defer func() {
		if err != nil {
			err = errors.Join(s.explainDenied(err), s.Close())
		}
	}()
	if s.cpus, err = pickCPUs(opts.Target.CPUs, opts.Target.OfTasks()); err != nil {
		return nil, err
	}
	if err := s.checkTargets(); err != nil {
		return nil, err
	}
	if s.features, err = perfevent.ProbeFeatures(); err != nil {
		return nil, err
	}
	if ns, err := tracefs.PIDNamespace(); err == nil && ns != 0 && !s.opts.Target.OfTasks() {
		s.note("what runs outside this pid namespace has pid 0 here, and no name: whoever runs the container can let it see all (docker run --pid=host)")
	}
	s.removeLeftovers()
	s.resolver.ProbeVia, s.resolver.Inherit = s.probeVia(), opts.Target.Inherits()
	s.resolver.Tasks = slices.Concat(opts.Target.PIDs, opts.Target.TIDs)
	if err := s.resolve(); err != nil {
		return nil, err
	}
	if err := s.checkBranches(); err != nil {
		return nil, err
	}
	if err := s.openRings(); err != nil {
		return nil, err
	}
	s.fitFrequency()
	if err := s.openCounters(ctx); err != nil {
		return nil, err
	}
	s.followKernel()
	return s, nil
}

// resolve turns the specs into events with attributes.
func (s *Session) resolve() error {
	sampling := perfevent.Sampling{
		Frequency:        s.opts.Frequency,
		Period:           s.opts.Period,
		DefaultFrequency: s.opts.DefaultFrequency,
		Callchain:        !s.opts.NoCallchain,
		MaxStack:         uint16(s.opts.MaxStack),
		Inherit:          s.opts.Target.Inherits(),
		EnableOnExec:     s.opts.Target.EnableOnExec && !s.opts.Disabled,
		ReadLost:         s.features.ReadLost,
		NoKernelCallers:  s.opts.NoKernelCallers,
		NoUserCallers:    s.opts.NoUserCallers,
		UserCallers:      s.opts.UserCallers,
		StackSize:        uint32(cmp.Or(s.opts.StackSize, defaultStack)),
		NoRaw:            s.opts.NoRaw,
		Data:             s.opts.Data,
		PhysData:         s.opts.PhysData,
		Weight:           s.opts.Weight,
		DataPages:        s.opts.DataPages,
		CodePages:        s.opts.CodePages,
		UserRegs:         s.opts.UserRegs,
		IntrRegs:         s.opts.IntrRegs,
		Cgroup:           s.opts.Cgroups || len(s.opts.Target.Cgroups) > 1 && s.features.Sideband&abi.FlagCgroup != 0,
	}
	if sampling.DefaultFrequency == 0 {
		sampling.DefaultFrequency = min(defaultFrequency, perfevent.MaxSampleRate())
		if s.opts.copiesStacks() && (s.opts.CopiesIf == nil || s.opts.CopiesAlways) {
			sampling.DefaultFrequency = min(copyFrequency, sampling.DefaultFrequency)
		}
	}
	if s.opts.CopiesIf != nil {
		sampling.UserCallers = perfevent.FramePointers
	}
	found := make([][]event.Event, len(s.opts.Specs))
	for _, i := range returnsFirst(s.opts.Specs) {
		events, err := s.resolver.Resolve(s.opts.Specs[i])
		if err != nil {
			return err
		}
		found[i] = event.Here(events, s.cpus)
	}
	for _, e := range slices.Concat(found...) {
		if e.Source.Trigger != event.NoTrigger && e.Frequency == 0 && e.Period == 0 {
			e.Period = 1
		}
		if err := e.Elsewhere(s.cpus); err != nil {
			return fmt.Errorf("event %q: %w", e.Name, err)
		}
		plain := e
		e.Configure(sampling)
		s.events = append(s.events, &recordedEvent{Event: e, function: s.functionFields(&e), disabled: s.opts.Disabled && !e.Source.Trigger.Switches()})
		if s.opts.CopiesIf != nil {
			s.copyStacks(plain, sampling)
		}
		for _, n := range e.Notes {
			s.note("%s: %s", e.Name, n)
		}
	}
	tellApart(s.events)
	s.userOnly()
	s.sideband = &recordedEvent{Event: event.Event{Event: perfevent.Sideband(s.features, s.opts.Target.OfTasks())}, filtered: true}
	if s.opts.copiesStacks() && s.opts.UserCallers == perfevent.CopiedStacks {
		// perf reads call frame information where it is mapped: not with the code.
		s.sideband.Attr.Flags |= abi.FlagMmapData
	}
	if s.opts.Data || s.opts.PhysData || s.opts.DataPages { // perf names data by what is mapped there
		s.sideband.Attr.Flags |= abi.FlagMmapData
	}
	if s.opts.Switches || s.opts.SwitchRecords {
		s.sideband.Attr.Flags |= abi.FlagContextSwitch
	}
	if !slices.ContainsFunc(s.events, func(e *recordedEvent) bool { return e.Attr.Flags&abi.FlagExcludeKernel == 0 }) {
		// What needs no right to see the kernel asks for none. Side-band records
		// come nevertheless.
		s.sideband.Attr.Flags |= abi.FlagExcludeKernel | abi.FlagExcludeHV
	}
	if err := s.checkFunctionTrace(); err != nil {
		return err
	}
	s.ledger = newLedger(&s.resolver, s.events)
	s.planWakeups()
	return s.planFilters()
}

// checkBranches refuses to take the callers of user code from the processor where no event
// is of its PMU.
func (s *Session) checkBranches() error {
	hasBranches := func(e *recordedEvent) bool { return e.Attr.SampleType&abi.SampleBranchStack != 0 }
	if s.opts.NoCallchain || s.opts.UserCallers != perfevent.BranchRecords || slices.ContainsFunc(s.events, hasBranches) {
		return nil
	}
	return fmt.Errorf("the processor keeps calls (LBR) for samples of its own events alone, such as cycles, and %q is none: %w",
		s.events[0].Name, perfevent.ErrNotSupported)
}

// functionFields are those of an event's samples. Where its format cannot be read there
// are none: the event is refused when it is opened, if that is why.
func (s *Session) functionFields(e *event.Event) abi.FunctionFields {
	if e.Tracepoint == (tracefs.Event{}) {
		return e.Attr.FunctionFields()
	}
	fs, err := s.resolver.Tracefs()
	if err != nil {
		return abi.FunctionFields{}
	}
	text, err := fs.Format(e.Tracepoint)
	if err != nil {
		return abi.FunctionFields{}
	}
	f, err := format.Parse(string(text), format.Machine{LongSize: strconv.IntSize / 8})
	if err != nil {
		return abi.FunctionFields{}
	}
	return f.Function()
}

// Events are the events with the ids of their counters, in the order asked
// for. They say how deep callchains can be where that was not asked for too.
// The last is the side-band event: the one with FlagTask, and no samples.
func (s *Session) Events() []abi.Event {
	all := make([]abi.Event, 0, len(s.events)+1)
	most := perfevent.MaxStack()
	for _, e := range s.all() {
		ae := abi.Event{Name: e.Name, Attr: e.Attr, Function: e.function}
		ae.Attr.Size = 0
		if ae.Attr.SampleMaxStack == 0 && ae.Attr.SampleType&abi.SampleCallchain != 0 && most <= math.MaxUint16 {
			ae.Attr.SampleMaxStack = uint16(most) // a reader cannot know that
		}
		ae.IDs = append(ae.IDs, e.pastIDs...)
		for _, c := range e.counters {
			ae.IDs = append(ae.IDs, c.ID())
		}
		all = append(all, ae)
	}
	last := &all[len(all)-1]
	for _, r := range s.rings {
		last.IDs = append(last.IDs, r.owner.ID())
	}
	return all
}

// Triggers are the ids of counters of events at which another part begins, event.TriggerPart.
func (s *Session) Triggers() (ids []uint64) {
	for _, e := range s.events {
		if e.Source.Trigger == event.TriggerPart {
			for _, c := range e.counters {
				ids = append(ids, c.ID())
			}
		}
	}
	return ids
}

// all are the events as Events has them.
func (s *Session) all() []*recordedEvent {
	return append(slices.Clone(s.events), s.sideband)
}

// Notes say what was not done as asked, or is other than one may think:
// sentences without a full stop. What is noted during Run is in Stats.Notes.
func (s *Session) Notes() []string { return slices.Clone(s.notes) }

// RingSize is the size of each CPU's ring in bytes.
func (s *Session) RingSize() int {
	if len(s.rings) == 0 {
		return 0
	}
	return s.rings[0].size
}

// CPUs are the CPUs that are recorded, sorted.
func (s *Session) CPUs() []int { return slices.Clone(s.cpus) }

// Close closes counters and rings. A Run that is under way in another goroutine is ended, as by
// its context, and waited for: so what Run calls must not call Close. A second Close does nothing.
func (s *Session) Close() error {
	var errs []error
	s.running.Lock()
	if !s.ran {
		s.ran = true
		close(s.over)
	}
	stop := s.stop
	s.running.Unlock()
	if stop != nil {
		stop()
		<-s.over
	}
	s.closing.Wait()
	if s.sideband != nil {
		for _, e := range s.all() {
			for _, c := range e.counters {
				errs = append(errs, c.Close())
			}
			e.counters = nil
		}
	}
	for _, r := range s.rings {
		errs = append(errs, r.close())
	}
	s.rings, s.hangups = nil, nil
	if s.owners == nil {
		errs = append(errs, s.resolver.Close())
	} else {
		errs = append(errs, s.WithRights(s.resolver.Close)) // no counter holds the probes any more
		s.owners.stop()
		s.owners = nil
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close session: %w", err)
	}
	return nil
}

func (r *cpuRing) close() error {
	var errs []error
	if r.ring != nil {
		errs = append(errs, r.ring.Close())
	}
	if r.old != nil {
		errs = append(errs, r.old.Close())
	}
	for _, c := range []*perfevent.Counter{r.owner, r.memory, r.before} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// into is the counter that others are to be directed to.
func (r *cpuRing) into() *perfevent.Counter {
	if r.memory != nil {
		return r.memory
	}
	return r.owner
}
