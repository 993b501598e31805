package ftracetext_test

import (
	"fmt"

	"kprof/convert/trace/ftracetext"
)

func Example() {
	l := ftracetext.Parse("     rcu_preempt-15      [001] d..2.    41.185584: sched_switch: prev_comm=rcu_preempt prev_pid=15 prev_state=I")
	fmt.Println(l.Task, l.TID, l.CPU, l.Time, l.Name, ftracetext.AppendFields(nil, l.Text))
	l = ftracetext.Parse(" 0) ! 115.620 us  |  } /* vfs_read */")
	fmt.Println(l.Kind == ftracetext.Leave, l.CPU, l.Func, l.Depth, l.Duration)
	// Output:
	// rcu_preempt 15 1 41185584000 sched_switch [{prev_comm rcu_preempt false} {prev_pid 15 false} {prev_state I false}]
	// true 0 vfs_read 0 115620
}
