package tracefs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/perfevent/tracefs"
)

func TestLiveFilter(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	fs := livetest.TracefsMounted(t)
	event := tracefs.Event{System: "sched", Name: "sched_switch"}
	if err := fs.CheckFilter(event, `prev_pid > 0 && COMM != "kprof-1" || common_flags & 24`); err != nil {
		t.Error(err)
	}
	for filter, want := range map[string]struct {
		reason string
		offset int // where it is at least
	}{
		"prev_pid > 0 && nofield == 1": {"Field not found", 16},
		`prev_comm == "a`:              {"Missing matching quote", 13},
		"prev_pid == 1)":               {"Too few '('", 13},
		"((prev_pid == 1)":             {"Too many '('", 0},
		"&& prev_pid == 1":             {"the kernel does not take it", -1},
	} {
		err := fs.CheckFilter(event, filter)
		var bad *tracefs.FilterError
		if !errors.As(err, &bad) || bad.Reason != want.reason || bad.Offset < want.offset || !errors.Is(err, os.ErrInvalid) {
			t.Errorf("%s: %#v", filter, err)
		}
	}
	self, err := tracefs.Self()
	if err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(fs.Path(), "instances", self.Group()+"*")); err != nil || len(left) > 0 {
		t.Errorf("instances that are left: %q, %v", left, err)
	}
}

func TestLiveFormat(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	fs := livetest.TracefsMounted(t)
	events, err := fs.Events("sched", "sched_sw*")
	if err != nil {
		t.Fatal(err)
	}
	format, err := fs.Format(events[len(events)-1])
	if err != nil || !strings.Contains(string(format), "print fmt:") {
		t.Errorf("%q, %v", format, err)
	}
}
