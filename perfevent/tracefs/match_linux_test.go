package tracefs_test

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/perfevent/tracefs"
)

// TestMatchName: which of these names each pattern matches.
func TestMatchName(t *testing.T) {
	const names = "cpu-clock cycles cpu/event=0x3c/ sched:sched_switch sched:sched_wakeup xsched:sched_switch a* ab"
	livetest.Table(t, func(glob string) string {
		match, err := tracefs.MatchName(glob)
		if err != nil {
			t.Fatalf("%q: %v", glob, err)
		}
		return strings.Join(slices.DeleteFunc(strings.Fields(names), func(name string) bool { return !match(name) }), " ")
	}, map[string]string{
		"clock":             "cpu-clock",
		"":                  names,
		"sched:*":           "sched:sched_switch sched:sched_wakeup",
		"*/event=*":         "cpu/event=0x3c/", // a slash is no border
		"sched:sched_[sw]*": "sched:sched_switch sched:sched_wakeup",
		"?":                 "",
		`a\*`:               "a*",
	})
	if _, err := tracefs.MatchName("a["); !errors.Is(err, path.ErrBadPattern) {
		t.Errorf("a[: %v", err)
	}
}
