package stacktext

// usualDepth is how many frames of a stack the kernel takes for perf at most, where
// kernel.perf_event_max_stack is as it was, and perf script prints.
const usualDepth = 127

// histDepths are how many hist triggers take (HIST_STACKTRACE_DEPTH, kernel/trace): 16 was the first
// number, and some later kernels take more. The text does not tell which it was of.
var histDepths = [...]int{16, 31}

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
