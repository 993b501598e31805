package replay

import (
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata/perftext"
)

// TestInstants: what happens at a moment, and what stands for the time to the next.
func TestInstants(t *testing.T) {
	for event, want := range map[string]bool{
		"sched:sched_switch type=tracepoint config=1 period=1":             true,
		"sched:sched_switch type=tracepoint config=1 period=99 flags=freq": true,
		"page-faults type=software config=2 period=1":                      true,
		"page-faults type=software config=2 period=100":                    false,
		"page-faults type=software config=2 period=4000 flags=freq":        false,
		"cpu-clock type=software config=0 period=1":                        false,
		"cycles type=hardware config=0 period=1000000":                     false,
	} {
		rec := perftext.MustParse("event " + event + "\nsample t=1 pid=7 user 0x1000\n")
		set, _, err := convertLive(rec, abi.LittleEndian, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := set.Events[0].Instants; got != want {
			t.Errorf("%s: %v", event, got)
		}
	}
}
