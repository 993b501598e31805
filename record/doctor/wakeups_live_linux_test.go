package doctor

import (
	"os"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/event"
	"kprof/perfevent/livetest"
	"kprof/record"
)

// TestLiveWakeups: that wake-ups of tasks are not sampled is found where a recording of tasks says so.
func TestLiveWakeups(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	specs, err := event.ParseSpecs("sched:sched_waking")
	if err != nil {
		t.Fatal(err)
	}
	s, err := record.Open(t.Context(), record.Options{Specs: specs, Period: 3, Target: record.Target{PIDs: []int{os.Getpid()}}})
	livetest.CloseAtEnd(t, s, err)
	told := slices.ContainsFunc(s.Notes(), func(n string) bool { return strings.HasPrefix(n, "sched:sched_waking: of tasks") })
	all := events()
	i := slices.IndexFunc(all, func(f Finding) bool { return f.What == "wake-ups of tasks" })
	if i < 0 || all[i].OK == told {
		t.Errorf("%+v; a recording says %q", all, s.Notes())
	}
}
