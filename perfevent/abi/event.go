package abi

// Event is one event of a recording: what was asked of the kernel, under which
// ids its records arrive, and what people call it. It is what a recorder hands
// to a writer of files or to a collector, and what a reader of files hands out.
type Event struct {
	Name string // as perf prints it: "cpu-clock", "sched:sched_switch", "cycles:u"
	Attr Attr
	IDs  []uint64 // PERF_EVENT_IOC_ID of each file descriptor: one per CPU and task
}
