//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

var partName = regexp.MustCompile(`^x\.data\.\d{16}$`)

// partsOf are the files of a recording, the oldest first.
func partsOf(t *testing.T, dir string) (files []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !partName.MatchString(e.Name()) {
			t.Errorf("there is %s", e.Name())
		}
		files = append(files, filepath.Join(dir, e.Name()))
	}
	return files
}

// execsOf are the programs that a recording of sched_process_exec has, as kprof names the
// tasks and as perf does, which read the same.
func execsOf(t *testing.T, name string) (comms []string) {
	t.Helper()
	out := string(command(t, nil, kprof(t).Path, "script", "--event", "sched:sched_process_exec", name))
	perf := string(command(t, nil, "perf", "script", "-F", "comm", "-i", name))
	for line := range strings.Lines(out) {
		comms = append(comms, strings.Fields(line)[0])
	}
	if theirs := strings.Fields(perf); !slices.Equal(comms, theirs) {
		t.Errorf("%s: kprof names %q, perf %q", name, comms, theirs)
	}
	return comms
}

// TestLiveParts: a recording is many files, made when a signal asks, when an event happens,
// at a size or a time. Each exec is in one of them, with the name that its task has.
func TestLiveParts(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf)
	// The shell and its parents were there before any file but the first began.
	// What is asked for is there before it is asked for again.
	const script = `i=0
while [ $i -lt 75 ]; do
	/bin/true
	i=$((i+1))
	case $i in 25|50)
		set -- x.data.*; [ -e "$1" ] || shift; there=$#
		kill -USR2 $PPID; /bin/sleep 0
		until set -- x.data.*; [ -e "$1" ] && [ $# -gt $there ]; do :; done
	esac
done`
	for _, flags := range [][]string{
		{"--switch-output"},
		{"--switch-output=4K"},
		{"--every", "100ms"},
		{"--flight", "1h"},
		{"--flight", "64M", "--on", `sched:sched_process_exit if comm ~ "sle*"`},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			dir := t.TempDir()
			args := append([]string{"record", "-e", "sched:sched_process_exec", "-o", filepath.Join(dir, "x.data")}, flags...)
			c := kprof(t, append(args, "--", "sh", "-c", script)...)
			c.Dir = dir
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			execs := map[string]int{}
			files := partsOf(t, dir)
			for _, name := range files {
				mustBePrivate(t, name)
				if !bytes.Contains(out, []byte(" in "+name+" (")) {
					t.Errorf("%s is not told:\n%s", name, out)
				}
				if strings.Contains(strings.Join(flags, " "), "--on") {
					if got, want := perfSamples(t, name), bytes.Count(command(t, nil, kprof(t).Path, "script", name), []byte("\n")); got != want {
						t.Errorf("%s: kprof lists %d samples, perf has %d", name, want, got)
					}
					continue
				}
				if n, _ := samples(t, name); n == 0 {
					continue // of what only names and maps came in
				}
				for _, comm := range execsOf(t, name) {
					execs[comm]++
				}
			}
			if len(files) < 3 {
				t.Errorf("%d files\n%s", len(files), out)
			}
			if len(execs) > 0 && (execs["true"] != 75 || execs["sleep"] != 2 || execs["sh"] != 1 || len(execs) != 3) {
				t.Errorf("%v", execs)
			}
		})
	}
}

// TestLivePartsMoved: files that somebody takes away while they are written end no recording.
func TestLivePartsMoved(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	const script = `for i in 1 2 3; do
	until set -- x.data.*; [ -e "$1" ]; do :; done
	rm -f "$@"
done
/bin/true`
	dir := t.TempDir()
	c := kprof(t, "record", "-e", "sched:sched_process_exec", "-o", filepath.Join(dir, "x.data"), "--every", "100ms", "--switch-max-files", "2", "--", "sh", "-c", script)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
