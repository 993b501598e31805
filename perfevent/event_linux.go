package perfevent

import "kprof/perfevent/abi"

// Event is one event of this machine, ready to be opened. Package event makes them
// of what a user writes.
type Event struct {
	Name string   // as perf prints it
	Attr abi.Attr // what to count; Configure adds how to sample

	// Target is what config1 must point to when the event is opened: the path of a
	// user probe, the function of a kernel probe; empty when config1 is a number.
	Target string

	Class   Class
	Return  bool // of a probe: on the return of a function
	AtEntry bool // of a probe: at the first instruction of a function

	// Of its own, which come before those of Sampling; 0 when it has none.
	Period    uint64 // occurrences per sample
	Frequency uint64 // samples per second

	NotInherited bool // by children of a task, whatever Sampling says
}

// Class is what the kernel tells apart when it permits an event or refuses it.
type Class uint8

const (
	ClassOther        Class = iota // software, hardware and other PMUs' events, breakpoints in user memory
	ClassTracepoint                // of the kernel's source
	ClassProbe                     // on the kernel
	ClassUserProbe                 // on a program
	ClassTracefsProbe              // with fetch arguments, or as tracefs defines it: only tracefs makes it
	ClassKernelMemory              // a breakpoint in the kernel's memory
)

// Request is what is asked for, as far as permissions go.
type Request struct {
	Class    Class
	UserOnly bool // the kernel is left out
}

// OnCPU reports whether events of type t are of the CPU's own PMU, the only ones
// to know guests.
func OnCPU(t abi.Type) bool {
	return t == abi.TypeHardware || t == abi.TypeHWCache || t == abi.TypeRaw
}

// ofProcessor reports whether a processor counts e, or something else that has a PMU of its own.
func (e *Event) ofProcessor() bool {
	switch e.Attr.Type {
	case abi.TypeSoftware, abi.TypeTracepoint, abi.TypeBreakpoint:
		return false
	}
	return !e.isProbe()
}

// isProbe reports whether e is a probe of the kprobe or uprobe PMU.
func (e *Event) isProbe() bool {
	return (e.Class == ClassProbe || e.Class == ClassUserProbe) && e.Attr.Type > abi.TypeBreakpoint
}
