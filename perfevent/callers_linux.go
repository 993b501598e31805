package perfevent

import (
	"runtime"

	"kprof/perfevent/abi"
)

// UserCallers is what tells the callers of user code in samples.
type UserCallers uint8

// Values of UserCallers. What the kernel's own callers are told by is the kernel's choice.
const (
	// FramePointers has the kernel follow frame pointers: short where programs have none.
	FramePointers UserCallers = iota
	// CopiedStacks has the kernel copy registers and a part of the stack, which whoever
	// reads them walks by the call frame information of programs.
	CopiedStacks
	// CopiedStacksToo is both: where a copy ends, frame pointers may lead further. In
	// a perf.data perf would show the one behind the other.
	CopiedStacksToo
	// BranchRecords has the processor keep the calls that have not returned (LBR). The
	// samples of events that are not of the CPU's PMU are those of FramePointers.
	BranchRecords
)

// MaxStackSize is the most of a stack that the kernel copies, in bytes: the size of a
// record has 16 bits (kernel/events/core.c, perf_copy_attr).
const MaxStackSize = 1<<16 - 8

// userRegisters are those by which stacks are walked, as a mask of what perf_regs.h of the
// machine has: all general ones, the program counter, and of x86 flags and segments, as
// perf asks for them. 32-bit x86 has the same numbers for what it has, and a 64-bit kernel
// refuses the others.
var userRegisters = map[string]uint64{
	"amd64": 0xff0fff,
	"386":   0x000fff,
	"arm64": 1<<33 - 1,
}

// Registers are the registers that samples of this machine can have, as a mask: none of vectors. 0
// stands for not known.
func Registers() uint64 { return userRegisters[runtime.GOARCH] }

// CanCopyStacks reports whether stacks of this machine's programs can be copied and walked.
func CanCopyStacks() bool { return userRegisters[runtime.GOARCH] != 0 }

// Branches that are a stack of calls, as perf asks for them (include/uapi/linux/perf_event.h,
// enum perf_branch_sample_type): those in user code, without the flags and cycles of each.
const branchUser, branchNoFlags, branchNoCycles abi.BranchSampleType = 1 << 0, 1 << 14, 1 << 15

// setUserCallers has e's samples tell the callers of user code.
func (e *Event) setUserCallers(s Sampling) {
	a := &e.Attr
	if a.Flags&abi.FlagExcludeCallchainUser != 0 {
		return // the kernel refuses anything of user code, see package event
	}
	switch s.UserCallers {
	case CopiedStacks, CopiedStacksToo:
		a.SampleType |= abi.SampleRegsUser | abi.SampleStackUser
		a.SampleRegsUser |= userRegisters[runtime.GOARCH]
		a.SampleStackUser = s.StackSize
		if s.UserCallers == CopiedStacks {
			a.Flags |= abi.FlagExcludeCallchainUser
		}
	case BranchRecords:
		if OnCPU(a.Type) && a.Flags&abi.FlagExcludeUser == 0 {
			a.SampleType |= abi.SampleBranchStack
			a.BranchSampleType = abi.BranchCallStack | branchUser | branchNoFlags | branchNoCycles
		}
	}
}
