package perfevent

import (
	"runtime"

	"kprof/perfevent/abi"
)

// Sampling says how events are sampled. The zero value takes each event's own
// default and no callchains.
type Sampling struct {
	Frequency uint64 // samples per second, in place of an event's own period; 0 when not asked for
	Period    uint64 // occurrences per sample, in place of an event's own; 0 when not asked for

	// DefaultFrequency is for events that have no period of their own, in Hz.
	// Tracepoints, probes and breakpoints have: every hit.
	DefaultFrequency uint64

	Callchain bool
	MaxStack  uint16 // frames; 0 is kernel.perf_event_max_stack

	// NoKernelCallers and NoUserCallers leave a part of callchains out.
	NoKernelCallers, NoUserCallers bool

	// UserCallers says what tells the callers of user code in samples with callchains.
	UserCallers UserCallers
	// StackSize is how much of the user's stack CopiedStacks copy, in bytes: a multiple
	// of 8, at most MaxStackSize.
	StackSize uint32
	// NoRaw leaves the fields of tracepoints out, where nothing needs them: of those of
	// returns and of ftrace's functions the function is in them.
	NoRaw bool
	// Data has samples tell the address of data that an event is about, as page faults,
	// breakpoints and accesses to memory are, and of a processor's events where the data was
	// found; PhysData where that is in memory; and Weight what the access cost, of events of
	// processors that say so.
	Data, PhysData, Weight bool
	// DataPages and CodePages have samples tell the size of the page that the data is in, and of
	// the one that the instruction is in (Linux 5.11).
	DataPages, CodePages bool
	// UserRegs and IntrRegs are registers that samples have, as masks (see Registers and
	// abi.RegisterMask): those of user code when it was left, and those that were interrupted.
	UserRegs, IntrRegs uint64
	// Cgroup has samples tell the cgroup of their task (Linux 5.7).
	Cgroup bool

	Inherit      bool // count in children of the task too
	EnableOnExec bool // start counting when the task calls exec
	ReadLost     bool // the kernel takes PERF_FORMAT_LOST, see Features
}

// linkRegister is PERF_REG_ARM64_LR (arch/arm64/include/uapi/asm/perf_regs.h), as
// a mask. A function that has just been entered has no frame yet, by which arm64
// kernels unwind: its caller is in this register alone. Package record puts it
// into the callchain.
const linkRegister = 1 << 30

// programCounter is PERF_REG_ARM64_PC, as a mask.
const programCounter = 1 << 32

const (
	// baseSample is what all records of a ring share. With IDENTIFIER the id
	// comes first in samples and last in other records, whatever else they
	// carry.
	baseSample = abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleCPU

	baseRead = abi.ReadID | abi.ReadTotalTimeEnabled | abi.ReadTotalTimeRunning
)

// Configure adds to e's attribute everything that sampling needs, and that it
// starts disabled.
func (e *Event) Configure(s Sampling) {
	a := &e.Attr
	a.Flags |= abi.FlagDisabled | abi.FlagSampleIDAll
	if s.Inherit && !e.NotInherited {
		a.Flags |= abi.FlagInherit
	}
	if s.EnableOnExec {
		a.Flags |= abi.FlagEnableOnExec
	}
	a.ReadFormat = baseRead
	if s.ReadLost {
		a.ReadFormat |= abi.ReadLost
	}
	e.setRate(s)
	a.SampleType = baseSample | e.extraSample()
	if s.NoRaw && a.Type == abi.TypeTracepoint && !e.Return && a.Flags&abi.FlagExcludeCallchainUser == 0 {
		a.SampleType &^= abi.SampleRaw
	}
	if s.Cgroup {
		a.SampleType |= abi.SampleCgroup
	}
	if s.DataPages {
		a.SampleType |= abi.SampleDataPageSize
	}
	if s.CodePages {
		a.SampleType |= abi.SampleCodePageSize
	}
	if s.Data || s.PhysData || s.DataPages {
		a.SampleType |= abi.SampleAddr // of which the other is the place
	}
	if s.Data && e.ofProcessor() {
		a.SampleType |= abi.SampleDataSrc // as perf record -d has it
	}
	if s.PhysData {
		a.SampleType |= abi.SamplePhysAddr
	}
	if s.Weight {
		a.SampleType |= abi.SampleWeight
	}
	if s.UserRegs != 0 {
		a.SampleType |= abi.SampleRegsUser
		a.SampleRegsUser = s.UserRegs
	}
	if s.IntrRegs != 0 {
		a.SampleType |= abi.SampleRegsIntr
		if a.SampleRegsIntr = s.IntrRegs; a.SampleRegsIntr == linkRegister {
			a.SampleRegsIntr |= programCounter // alone it would be taken for a caller
		}
	}
	if s.Callchain {
		a.SampleType |= abi.SampleCallchain
		a.SampleMaxStack = s.MaxStack
		if s.NoKernelCallers {
			a.Flags |= abi.FlagExcludeCallchainKernel
		}
		if s.NoUserCallers {
			a.Flags |= abi.FlagExcludeCallchainUser
		}
		e.setUserCallers(s)
		if e.AtEntry && !s.NoKernelCallers && runtime.GOARCH == "arm64" {
			a.SampleType |= abi.SampleRegsIntr
			a.SampleRegsIntr |= linkRegister // which of several stays where it is
		}
	}
}

// Counting says how events are counted. The zero value counts one by one, from the
// moment on at which the counter is enabled.
type Counting struct {
	Inherit      bool // count in children of the task too
	EnableOnExec bool // start counting when the task calls exec
	Leader       bool // of a group, which is read at its leader
	Member       bool // of a group, which counts when its leader does
}

// Count sets everything in e's attribute that counting without samples needs, and,
// but for a member, that it starts disabled.
func (e *Event) Count(c Counting) {
	a := &e.Attr
	a.SamplePeriod = 0
	if c.Inherit && !e.NotInherited {
		a.Flags |= abi.FlagInherit
	}
	if !c.Member {
		a.Flags |= abi.FlagDisabled
	}
	if c.EnableOnExec && !c.Member {
		a.Flags |= abi.FlagEnableOnExec
	}
	a.ReadFormat = abi.ReadTotalTimeEnabled | abi.ReadTotalTimeRunning
	if c.Leader || c.Member {
		a.ReadFormat |= abi.ReadGroup
	}
}

// setRate picks period or frequency: the event's own terms come before what was
// asked for all events, that before the event's default.
func (e *Event) setRate(s Sampling) {
	freq, period := e.Frequency, e.Period
	if freq == 0 && period == 0 {
		freq, period = s.Frequency, s.Period
	}
	if freq == 0 && period == 0 {
		period = e.Attr.SamplePeriod
	}
	if freq == 0 && period == 0 {
		freq = s.DefaultFrequency
	}
	if freq != 0 {
		e.Attr.SamplePeriod = freq
		e.Attr.Flags |= abi.FlagFreq
		return
	}
	e.Attr.SamplePeriod = max(period, 1)
}

// extraSample is what the samples of this kind of event carry beyond the base.
func (e *Event) extraSample() abi.SampleType {
	var t abi.SampleType
	a := &e.Attr
	software := a.Type == abi.TypeSoftware
	// For software events and tracepoints the kernel takes SAMPLE_PERIOD with a
	// fixed period as "a sample for each occurrence, with its weight"
	// (kernel/events/core.c, perf_swevent_event): right for a period of 1, and
	// the end of any other. Readers then use the attribute's period.
	counted := software && a.Config > abi.SWTaskClock || a.Type == abi.TypeTracepoint || e.isProbe()
	if !counted || a.Flags&abi.FlagFreq != 0 || a.SamplePeriod == 1 {
		t |= abi.SamplePeriod
	}
	switch {
	case a.Type == abi.TypeTracepoint,
		software && a.Config == abi.SWBPFOutput,
		// The probed function is not in the chain of a return probe: it is in
		// the raw data, as common fields, func, ret_ip.
		e.isProbe() && e.Return:
		t |= abi.SampleRaw
	case a.Type == abi.TypeBreakpoint,
		software && (a.Config == abi.SWPageFaults || a.Config == abi.SWPageFaultsMin || a.Config == abi.SWPageFaultsMaj):
		t |= abi.SampleAddr
	}
	return t
}
