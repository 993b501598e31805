//go:build linux

package event

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent"
)

// TestRequests: what the kernel tells apart when it permits events
// (kernel/events/core.c, kernel/trace/trace_event_perf.c).
func TestRequests(t *testing.T) {
	for text, want := range map[string]perfevent.Request{
		"cpu-clock":                   {},
		"cpu-clock:u":                 {UserOnly: true},
		"page-faults:u":               {UserOnly: true},
		"cpu/event=1/k":               {},
		"sched:sched_switch":          {Class: perfevent.ClassTracepoint},
		"kprobe:f":                    {Class: perfevent.ClassProbe},
		"kretprobe:f+0":               {Class: perfevent.ClassProbe},
		"kprobe:f x=$arg1":            {Class: perfevent.ClassTracefsProbe},
		"p:f vfs_read":                {Class: perfevent.ClassTracefsProbe},
		"uprobe:/bin/ls:main":         {Class: perfevent.ClassUserProbe},
		"uprobe:/bin/ls:main n=%di":   {Class: perfevent.ClassTracefsProbe},
		"usdt:/bin/ls:provider:probe": {Class: perfevent.ClassUserProbe},
		"mem:0xffffffff81000000/8:rw": {Class: perfevent.ClassKernelMemory},
		"mem:0x1000/8:rw":             {},
	} {
		spec := mustSpec(t, text)
		if diff := cmp.Diff([]perfevent.Request{want}, Requests([]Spec{spec})); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
