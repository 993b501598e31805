//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestLiveQuietPeriods: a period in which nothing is of what is asked for does not end the recording:
// what comes later is in a file. Why the first one has none is told at once.
func TestLiveQuietPeriods(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.RequirePrograms(t, "perl", "sh")
	livetest.UseMachine(t)
	dir := t.TempDir()
	// The shell's system calls come from its functions, perl's from its own: each period
	// has calls, the first ones none of perl.
	script := `i=0; while [ $i -lt 40 ]; do kill -0 $$; i=$((i+1)); perl -e 'select(undef, undef, undef, 0.02)'; done; perl -e 'getppid for 1..9'`
	_, said, code := outcome(t, dir, "record", "-e", "syscalls:sys_enter_kill,syscalls:sys_enter_getppid", "-c", "1", "--every", "100ms", "--tagroot", "comm", "--focus", "^perl$",
		"-o", "quiet.folded", "--", "sh", "-c", script)
	files, err := filepath.Glob(filepath.Join(dir, "quiet.*.folded"))
	if code != 0 || err != nil || len(files) == 0 {
		t.Fatalf("exit code %d, %q, %v: %s", code, files, err, said)
	}
	if strings.Count(said, "no file for this period, nor for others like it: no stack is left of ") != 1 || strings.Count(said, " by --focus '^perl$'") != 1 {
		t.Errorf("%s", said)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "perl;") {
			t.Errorf("%s, %v", text, err)
		}
	}
}
