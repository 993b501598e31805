package event_test

import (
	"fmt"

	"kprof/perfevent/event"
)

// What -e takes is parsed on any platform.
func ExampleParseSpecs() {
	specs, err := event.ParseSpecs("cycles:u,sched:sched_switch,kprobe:vfs_read+0x4")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range specs {
		fmt.Println(s.Text, s.Kind == event.KindTracepoint, s.Probe.Symbol, s.Probe.Off)
	}
	// Output:
	// cycles:u false  0
	// sched:sched_switch true  0
	// kprobe:vfs_read+0x4 false vfs_read 4
}
