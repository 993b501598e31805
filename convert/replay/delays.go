package replay

import (
	"cmp"
	"slices"

	"kprof/convert/span"
	"kprof/convert/stacks"
)

// Delays is how long a task waited for a CPU while it was runnable: after it was woken, or
// when it was preempted.
type Delays struct {
	Task   int32           // thread id, as the kernel numbers it; -1 for those beyond maxDelays
	Labels stacks.LabelsID // with its comm when it waited longest
	Count  uint64
	Sum    uint64 // ns
	Max    uint64 // ns
	Since  uint64 // when it began to wait that long, ns of the recording's clock
}

// maxDelays bounds the tasks that are told apart.
const maxDelays = 1 << 16

// delayed counts the wait of a time off the CPU.
func (o *offCPU) delayed(s *span.OffSpan) {
	if s.Runnable == 0 || s.Open {
		return
	}
	task := s.Task
	d := o.delays[task]
	if d == nil && len(o.delays) >= maxDelays {
		task = -1
		d = o.delays[task]
	}
	if d == nil {
		d = &Delays{Task: task}
		o.delays[task] = d
	}
	d.Count++
	d.Sum += s.Runnable
	if s.Runnable > d.Max {
		d.Max, d.Since, d.Labels = s.Runnable, s.Start+s.Blocked, stacks.LabelsID(s.Owner)
	}
}

// allDelays are those of all tasks, the longest first.
func (o *offCPU) allDelays() (all []Delays) {
	for _, d := range o.delays {
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b Delays) int {
		return cmp.Or(cmp.Compare(b.Max, a.Max), cmp.Compare(a.Task, b.Task))
	})
	return all
}
