package perfevent

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
	"kprof/perfevent/internal/errkind"
)

// ErrNotSupported is what this kernel, or kprof, cannot do.
var ErrNotSupported = errors.ErrUnsupported

// errnoReasons are those that need nothing of the event.
var errnoReasons = map[unix.Errno]string{
	unix.ESRCH:         "no such task, or it is exiting",
	unix.ENFILE:        "the machine's fs.file-max is reached",
	unix.ENOSPC:        "all hardware breakpoints are taken",
	unix.EBUSY:         "another user holds the PMU for itself",
	unix.E2BIG:         "this kernel is older than the attribute",
	unix.EADDRNOTAVAIL: "several functions have that name; probe one by its address",
	unix.EILSEQ:        "the offset is inside an instruction",
	unix.ENOSYS:        "this kernel is built without perf events (CONFIG_PERF_EVENTS)",
	unix.EAGAIN:        "the kernel is short of something",
}

// explain says what the kernel means by refusing to open e: the reasons are
// those of kernel/events/core.c (perf_event_open, perf_copy_attr,
// perf_init_event), of kernel/kprobes.c and of hw_breakpoint.c. err stays in
// the chain.
func explain(err error, e *Event, w Where) error {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return err
	}
	why := errnoReasons[errno]
	branches := e.Attr.SampleType&abi.SampleBranchStack != 0
	switch errno {
	case unix.EPERM, unix.EACCES:
		if errno == unix.EPERM && e.countsOnly() {
			return fmt.Errorf("%w: this event can be counted only, since taking a sample makes it happen", ErrNotSupported)
		}
		return denied(err, e, w)
	case unix.ENOENT:
		why = reasonNotFound(e)
	case unix.ENODEV, unix.ENXIO:
		why = fmt.Sprintf("cpu %d is offline or not there", w.CPU)
	case unix.EOPNOTSUPP:
		switch {
		case e.Attr.Type == abi.TypeBreakpoint:
			why = "this CPU has no such breakpoint"
		case branches:
			why = noCallStack
		case e.Attr.Flags.Precise() > 0: // x86_pmu_hw_config
			why = noPrecision(e)
		default:
			why = "its PMU counts but cannot sample"
		}
	case unix.EMFILE:
		why = hintFileLimit()
	case unix.EOVERFLOW:
		why = fmt.Sprintf("%d frames are more than kernel.perf_event_max_stack (%s)", e.Attr.SampleMaxStack, sysctl("perf_event_max_stack"))
	case unix.EINVAL:
		why = reasonInvalid(e)
	}
	if why == "" {
		return err
	}
	if errno == unix.ENOENT { // "no such file or directory" says something else
		if OnCPU(e.Attr.Type) {
			err = errors.Join(err, ErrNotSupported)
		}
		return errkind.Errorf(err, "%s", why)
	}
	return fmt.Errorf("%w (%s)", err, why)
}

// countsOnly reports whether e is the one tracepoint of which the kernel takes no samples,
// whoever asks (arch/x86/include/asm/trace/irq_vectors.h, TRACE_EVENT_PERF_PERM).
func (e *Event) countsOnly() bool {
	return e.Attr.Type == abi.TypeTracepoint && strings.HasPrefix(e.Name, "irq_vectors:irq_work_exit") && e.Attr.SamplePeriod != 0
}

func reasonNotFound(e *Event) string {
	switch {
	case OnCPU(e.Attr.Type):
		return "this machine has no hardware PMU that counts it; a virtual machine often has none. cpu-clock works everywhere"
	case e.isProbe():
		return "no such function or file"
	case e.Attr.Type == abi.TypeTracepoint:
		return "no tracepoint of that number"
	}
	return "no PMU of this machine takes it"
}

func noPrecision(e *Event) string {
	return fmt.Sprintf("this PMU has no precision %d; try fewer p, or P for the most that it has", e.Attr.Flags.Precise())
}

const noCallStack = "this CPU does not keep a stack of calls (LBR)"

// breakpointRead is HW_BREAKPOINT_R (include/uapi/linux/hw_breakpoint.h).
const breakpointRead = 1

func reasonInvalid(e *Event) string {
	a := &e.Attr
	switch {
	case a.SampleType&abi.SampleBranchStack != 0:
		return noCallStack
	case a.Flags&abi.FlagFreq != 0 && a.SamplePeriod > maxSampleRate():
		return fmt.Sprintf("%d Hz are more than kernel.perf_event_max_sample_rate (%d)", a.SamplePeriod, maxSampleRate())
	case a.Type == abi.TypeBreakpoint && a.BPType == breakpointRead:
		return "x86 cannot watch reads alone; use :rw"
	case a.Type == abi.TypeBreakpoint:
		return "address and length must be aligned, and the access one the CPU can watch"
	case e.isProbe() && e.Class == ClassUserProbe:
		return "the file offset is outside the file, or not at an instruction"
	case e.isProbe():
		return "" // who knows the kernel's functions knows better: event.Event.Open
	case a.Flags.Precise() > 0:
		return noPrecision(e)
	}
	return "this kernel or PMU does not take the attribute"
}
