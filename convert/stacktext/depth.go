package stacktext

// How many frames of a stack are taken at most.
const (
	usualDepth   = 127 // by the kernel for perf, where kernel.perf_event_max_stack is as it was, and by perf script
	histDepth    = 31  // by hist triggers (HIST_STACKTRACE_DEPTH, kernel/trace/trace.h)
	oldHistDepth = 16  // the same before Linux 6.3 (kernel/trace/trace_events_hist.c)
)

// depths counts the stacks that are as deep as can be.
type depths struct {
	limit  int
	at     uint64
	beyond bool // some are deeper: the limit was another
}

// see counts a stack of n frames.
func (d *depths) see(n, limit int) {
	d.limit = limit
	if n == limit {
		d.at++
	}
	d.beyond = d.beyond || n > limit
}

// cut is how many stacks were cut, and at how many frames.
func (d *depths) cut() (stacks uint64, frames int) {
	if d.at == 0 || d.beyond {
		return 0, 0
	}
	return d.at, d.limit
}
