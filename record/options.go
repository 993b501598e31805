package record

import (
	"errors"
	"fmt"
	"time"

	"kprof/perfevent"
	"kprof/perfevent/event"
)

// Options says what to record. Specs is needed, and one kind of target.
type Options struct {
	Specs  []event.Spec
	Target Target

	Frequency uint64 // samples per second for all events; 0: each event's default
	Period    uint64 // occurrences per sample for all events; 0: each event's default

	// DefaultFrequency is for events without a period of their own, in samples
	// per second; 0: 4000, or the most that the kernel takes; 999 while stacks are
	// copied, and less where the rings that may be locked do not hold these for long.
	DefaultFrequency uint64

	NoCallchain bool
	// NoKernelCallers and NoUserCallers leave the part of the kernel or of the user out of
	// callchains. One of them at most.
	NoKernelCallers, NoUserCallers bool

	MaxStack int // frames of a callchain; 0: kernel.perf_event_max_stack

	// UserCallers says what tells the callers of user code, unless NoCallchain.
	UserCallers perfevent.UserCallers
	// CopiesIf, unless nil, has stacks copied of events alone that are sampled at a
	// frequency, and only while a program is recorded of which it reports that they are to
	// be, by the number of its process. It is called by another goroutine when a program has
	// begun. It is for tasks, and UserCallers that copy stacks. Such an event is two, of which
	// the second has abi.CopiesSuffix behind its name. With CopiesAlways it is not called.
	CopiesIf     func(pid int) bool
	CopiesAlways bool
	StackSize    int // bytes of a copied stack, a multiple of 8 up to perfevent.MaxStackSize; 0: 16 KiB

	// NoRaw leaves the fields of tracepoints out, where nobody is to read them: half of a
	// sample, or more.
	NoRaw bool

	// Data, PhysData and Weight have samples tell the address of the data that an event is about,
	// where that is in memory, and what it cost: see perfevent.Sampling.
	Data, PhysData, Weight bool

	// DataPages and CodePages have samples tell the sizes of pages: see perfevent.Sampling.
	DataPages, CodePages bool

	// UserRegs and IntrRegs are masks of registers that samples have: see perfevent.Sampling.
	UserRegs, IntrRegs uint64

	// Cgroups has samples tell the cgroup of their task, which takes Linux 5.7, and which those
	// of several cgroups do where they can.
	Cgroups bool

	Filter string // what tracepoints and probes must match, in the kernel's language

	// Switches says that all switches of tasks are wanted: the recorder's own too, from which
	// another task comes back, and SWITCH records. Of tasks that are recorded one by one
	// these alone tell the returns; of a whole machine, those that the tracepoint leaves
	// out: on Linux 6.18 it was seen to be without any switch from certain tasks, see EventStats.
	Switches bool

	// SwitchRecords has a record for each time a task leaves its CPU or comes back, beside
	// the events.
	SwitchRecords bool

	// Disabled has nothing sampled before Session.Enable says so, as is the case where one
	// of Specs is an event.TriggerEnable. Names and maps of tasks are recorded from the
	// start.
	Disabled bool

	// Self says that tracepoints and probes are recorded also where the recorder hits them,
	// of the whole machine: what it begins others may end.
	Self bool

	// RingSize is the size of each CPU's ring in bytes, rounded up to a power
	// of two pages; 0: 2 to 8 MiB by the number of CPUs, more for copies of stacks, or
	// as much as the user may lock.
	RingSize int

	// KernelCode has the records of code that comes to the kernel (KSYMBOL) also where tasks
	// are recorded that do not load it, if the user may know: see Session.FollowsKernel.
	KernelCode bool

	// DrainInterval is how often the rings are drained when they do not fill;
	// 0: 50 ms.
	DrainInterval time.Duration

	// Synthesize writes records for what was there before, whole records in
	// each call of write. It runs on a goroutine of its own, while the side-band
	// already records.
	Synthesize Synthesizer

	// SynthesizeAgain does so for what there is later, while samples come: when a CPU has
	// come, where tasks started, called exec and mapped files before its counters were opened.
	// Their processes may be known.
	SynthesizeAgain Synthesizer

	// Sideband is called for each record that is not a sample, synthesized ones
	// included, before the sink has it. rec is whole, and valid during the call.
	Sideband func(rec []byte)

	// Start is called when everything records: it lets a command go.
	Start func() error

	// Progress is called after each round by the goroutine that drains. It
	// should be quick.
	Progress func(Progress)

	// ProbeVia says how probes are made. event.ProbeAuto takes the PMU, and
	// tracefs for fetch arguments, for more than four CPUs (each counter of the
	// PMU is one more probe at the place), and on arm64 where there are probes of
	// entries and of returns (a return probe of the PMU hides the caller).
	ProbeVia  event.ProbeVia
	MaxProbes int // how many functions the glob of a probe may match; 0: 100

	// Readable makes a name to be read of one that the linker knows, as of C++: functions of
	// programs are found by either, as with symbolize.DemangleSimple.Readable. Nil: by the
	// latter only.
	Readable func(name string) string

	// EveryFunction lets ftrace:function sample each call of each function, which it
	// does where Filter does not name some. It keeps the machine from its work.
	EveryFunction bool

	MountTracefs bool // mount tracefs where a tracepoint needs it
}

// Synthesizer writes the state of the machine as records.
type Synthesizer func(write func(rec []byte) error) error

// Target is what to record.
type Target = perfevent.Target

const (
	defaultFrequency = 4000
	copyFrequency    = 999      // where stacks are copied
	defaultStack     = 16 << 10 // bytes of a copied stack
	pmuProbeCPUs     = 4        // up to which a probe is made through the PMU
	defaultInterval  = 50 * time.Millisecond
)

func (o Options) validate() error {
	if len(o.Specs) == 0 {
		return errors.New("no events to record")
	}
	if err := o.Target.Validate(); err != nil {
		return err
	}
	if o.Frequency != 0 && o.Period != 0 {
		return errors.New("frequency and period exclude each other")
	}
	if most := perfevent.MaxSampleRate(); o.Frequency > most {
		return fmt.Errorf("frequency of %d Hz: kernel.perf_event_max_sample_rate allows %d", o.Frequency, most)
	}
	if o.NoKernelCallers && o.NoUserCallers {
		return errors.New("callchains without the kernel's part and without the user's")
	}
	if o.MaxStack < 0 || o.MaxStack > 1<<16-1 {
		return fmt.Errorf("callchains of %d frames: wants 0 to %d", o.MaxStack, 1<<16-1)
	}
	if o.StackSize < 0 || o.StackSize > perfevent.MaxStackSize || o.StackSize%8 != 0 {
		return fmt.Errorf("copies of stacks of %d bytes: wants a multiple of 8, at most %d", o.StackSize, perfevent.MaxStackSize)
	}
	if o.copiesStacks() && !perfevent.CanCopyStacks() {
		return fmt.Errorf("copies of stacks are walked on x86 and arm64: %w", perfevent.ErrNotSupported)
	}
	if o.CopiesIf != nil && !(o.copiesStacks() && o.Target.OfTasks()) {
		return errors.New("stacks are copied of some programs only where tasks are recorded, and stacks copied")
	}
	if o.RingSize < 0 || o.RingSize > 1<<30 {
		return fmt.Errorf("ring of %d bytes: wants at most 1 GiB", o.RingSize)
	}
	return nil
}

// copiesStacks reports whether samples carry copies of user stacks.
func (o *Options) copiesStacks() bool {
	return !o.NoCallchain && (o.UserCallers == perfevent.CopiedStacks || o.UserCallers == perfevent.CopiedStacksToo)
}
