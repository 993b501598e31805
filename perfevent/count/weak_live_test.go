//go:build linux

package count

import (
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// TestLiveWeak: a group that the kernel refuses, since only its leader can be pinned, is counted event by
// event if it is weak; else the member is left out.
func TestLiveWeak(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, weak := range []bool{false, true} {
		specs := "{cs," + getppid + ",page-faults:D}"
		if weak {
			specs += ":W"
		}
		s := open(t, Options{Groups: groups(t, specs), Target: Target{TIDs: []int{unix.Gettid()}}})
		events := s.Events()
		if refused := events[2].Refused != nil; refused == weak {
			t.Errorf("weak %v: %v", weak, events[2].Refused)
		}
		if apart := events[0].Group != events[1].Group && events[1].Group != events[2].Group; apart != weak {
			t.Errorf("weak %v: groups %d, %d, %d", weak, events[0].Group, events[1].Group, events[2].Group)
		}
		if notes := s.Notes(); weak && (len(notes) != 1 || !strings.Contains(notes[0], "event by event: page-faults:D: ")) {
			t.Errorf("%q", notes)
		}
		got := totals(t, s, callGetppid)
		wantHits(t, specs, got[1], hits)
		if got[2].Counted() != weak {
			t.Errorf("weak %v: page-faults %+v", weak, got[2])
		}
	}
}
