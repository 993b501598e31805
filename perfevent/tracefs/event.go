package tracefs

// Event names a tracepoint.
type Event struct {
	System string // "sched"
	Name   string // "sched_switch"
}

func (e Event) String() string { return e.System + ":" + e.Name }

// AboutOthers reports whether the kernel counts hits of a tracepoint for the task that they are about
// too, beside the one that runs: include/trace/events/sched.h, __perf_task. Of that task it looks at
// counters of the CPU alone that the hit is on (kernel/events/core.c, perf_tp_event), and not at those
// that count it wherever it runs.
func (e Event) AboutOthers() bool {
	switch e.Name {
	case "sched_waking", "sched_wakeup", "sched_wakeup_new", "sched_stat_wait", "sched_stat_sleep", "sched_stat_iowait", "sched_stat_blocked":
		return e.System == "sched"
	}
	return false
}
