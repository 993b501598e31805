package record

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kprof/perfevent/livetest"
)

// TestLiveCgroupsRemoved: it is noted that a cgroup was removed, also where another is at its path,
// and when none is left the recording ends.
func TestLiveCgroupsRemoved(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Cgroup2)
	var dirs []string
	var groups []*os.File
	for i := range 2 {
		dir := filepath.Join(livetest.CgroupRoot(), fmt.Sprintf("kprof-removed-%d-%d", os.Getpid(), i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(dir) }) // where it is left
		dirs, groups = append(dirs, dir), append(groups, livetest.Open(t, os.Open, dir))
	}
	again := func(dir string) {
		t.Helper()
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	target := Target{Cgroups: groups}
	s := open(t, Options{Specs: specs(t, "cpu-clock"), Target: target, NoCallchain: true})
	again(dirs[0])
	var c cgroups
	now := time.Now()
	if c.look(s, now) || len(c.removed) != 1 || !slices.Equal(s.opts.Target.Cgroups, groups[1:]) || target.Cgroups[0] != groups[0] {
		t.Errorf("one was removed: %q, left %v", c.removed, s.opts.Target.Cgroups)
	}
	again(dirs[1])
	if c.look(s, now.Add(cgroupInterval-1)) {
		t.Error("it is asked again too soon")
	}
	st, err := s.Run(t.Context(), newSink(t)) // until both are gone
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(st.Notes, "\n")
	if want := "cgroup " + dirs[1] + " was removed while recording: it is recorded up to there\nthe recording has ended, as no cgroup is left of those to record"; !strings.Contains(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
}

// TestCgroupNotes: of many cgroups that were removed some are named.
func TestCgroupNotes(t *testing.T) {
	c := cgroups{removed: slices.Repeat([]string{"/x"}, maxCgroupNotes+5)}
	if notes := c.reports(); len(notes) != maxCgroupNotes+1 || notes[maxCgroupNotes] != "5 more cgroups were removed while recording" {
		t.Errorf("%q", notes)
	}
}
