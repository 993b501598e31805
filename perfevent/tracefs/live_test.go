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
	fs, err := tracefs.Find(tracefs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadDir(filepath.Join(fs.Path(), "instances"))
	if err != nil {
		t.Fatal(err)
	}
	event := tracefs.Event{System: "sched", Name: "sched_switch"}
	if err := fs.CheckFilter(event, `prev_pid > 0 && COMM != "kprof-1" || common_flags & 24`); err != nil {
		t.Error(err)
	}
	err = fs.CheckFilter(event, "prev_pid > 0 && nofield == 1")
	var bad *tracefs.FilterError
	if !errors.As(err, &bad) || bad.Reason != "Field not found" || bad.Offset < 16 || !errors.Is(err, os.ErrInvalid) {
		t.Errorf("%#v", err)
	}
	after, err := os.ReadDir(filepath.Join(fs.Path(), "instances"))
	if err != nil || len(after) != len(before) {
		t.Errorf("%d instances, %d before, %v", len(after), len(before), err)
	}
}

func TestLiveFormat(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	fs, err := tracefs.Find(tracefs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	events, err := fs.Events("sched", "sched_sw*")
	if err != nil {
		t.Fatal(err)
	}
	format, err := fs.Format(events[len(events)-1])
	if err != nil || !strings.Contains(string(format), "print fmt:") {
		t.Errorf("%q, %v", format, err)
	}
}
