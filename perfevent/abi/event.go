package abi

import "strings"

// CopiesSuffix is behind the name of an event that is the twin of another, with copies of
// stacks: of both, one is sampled at a time, see record.Options.CopiesIf.
const CopiesSuffix = "+stacks"

// IsModifiers reports whether s is what stands behind the last colon of an event that has
// modifiers: perf's letters (tools/perf/util/parse-events.l, modifier_event). No tracepoint is
// called so.
func IsModifiers(s string) bool {
	return s != "" && strings.Trim(s, "ukhIGHpPSDWebRX") == ""
}

// CutModifiers returns the name of an event without modifiers: "cycles" of "cycles:u".
func CutModifiers(name string) string {
	if i := strings.LastIndexByte(name, ':'); i >= 0 && IsModifiers(name[i+1:]) {
		return name[:i]
	}
	return name
}

// Event is one event of a recording: what was asked of the kernel, under which
// ids its records arrive, and what people call it. It is what a recorder hands
// to a writer of files or to a collector, and what a reader of files hands out.
type Event struct {
	Name string // as perf prints it: "cpu-clock", "sched:sched_switch", "cycles:u"
	Attr Attr
	IDs  []uint64 // PERF_EVENT_IOC_ID of each file descriptor: one per CPU and task

	Function FunctionFields // zero where callchains begin with the function
}

// FunctionFields are the fields of an event's raw data that hold the address of the
// function that the event is about, and the return address in its caller. Events have
// them whose callchains begin elsewhere: at the caller, as those of return probes do, or
// in what called the tracer, as that of ftrace:function. Offsets are in bytes from the
// start of the raw data; 0, where all have their type, is for nothing.
type FunctionFields struct {
	Func   int // of a probe on entry, its place, which is all there is
	Caller int // 0 for none
	Size   int // of each: 4 or 8
}

// returnProbeFields is struct kretprobe_trace_entry_head (kernel/trace/trace_probe.h), of
// 64 bits, which the PMUs of probes put into raw data without a format.
var returnProbeFields = FunctionFields{Func: 8, Caller: 16, Size: 8}

// FunctionFields are those of a, where its samples have them: those of a return probe of
// the kprobe or uprobe PMU, which it may be. One is if it is called so, or if the caller is
// the sample's address.
func (a *Attr) FunctionFields() FunctionFields {
	const retprobe = 1 // format/retprobe of both PMUs: config:0
	if a.Type <= TypeBreakpoint || a.SampleType&SampleRaw == 0 || a.Config&retprobe == 0 {
		return FunctionFields{}
	}
	return returnProbeFields
}

// Read returns what the raw data of a sample have of f, 0 for a caller that it does not
// have; false where f is zero or raw is
// too short.
func (f *FunctionFields) Read(raw []byte, o Order) (fn, caller uint64, ok bool) {
	if f.Func == 0 || max(f.Func, f.Caller)+f.Size > len(raw) {
		return 0, 0, false
	}
	read := func(off int) uint64 {
		switch {
		case off == 0:
			return 0
		case f.Size == 4:
			return uint64(o.Uint32(raw[off:]))
		}
		return o.Uint64(raw[off:])
	}
	return read(f.Func), read(f.Caller), true
}
