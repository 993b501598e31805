package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// buildDeep compiles testdata/deep.c as distributions compile programs.
func buildDeep(t *testing.T) string {
	t.Helper()
	livetest.RequirePrograms(t, "gcc")
	prog := filepath.Join(t.TempDir(), "deep")
	if out, err := exec.Command("gcc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-o", prog, "testdata/deep.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return prog
}

// TestLiveStackCopies walks the copies of stacks that perf record --call-graph dwarf
// makes: to the lines of perf, and as the program is built, through signal handlers
// too.
func TestLiveStackCopies(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	prog := buildDeep(t)
	record := func(args ...string) (data string, lines []string) {
		t.Helper()
		data = filepath.Join(t.TempDir(), "perf.data")
		command(t, nil, "perf", append([]string{"record", "-q", "-e", "cpu-clock:u", "-F", "1999", "--call-graph", "dwarf,16384", "-o", data, "--", prog}, args...)...)
		folded, err := kprof(t, "convert", "-f", "folded", data).Output()
		if err != nil {
			t.Fatal(err)
		}
		return data, strings.Split(strings.TrimSpace(string(folded)), "\n")
	}

	data, lines := record()
	want, err := foldScript(bytes.NewReader(command(t, nil, "perf", "script", "--no-inline", "-i", data)), true)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readFolded(strings.NewReader(strings.Join(lines, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	compareFolded(t, want, got)

	// perf (6.1) knows no name for the frame that the kernel makes for a handler.
	_, lines = record("signals")
	sorting := regexp.MustCompile(`^deep;_start;[^ ]*;main;(descend;){4,8}work;[^ ]*;compare(;[^ ]*)? \d+$`)
	handling := regexp.MustCompile(`^deep;_start;[^ ]*;main(;[^ ]*)?;__restore_rt;on_alarm \d+$`)
	var inCompare, inHandler, whole int
	for _, line := range lines {
		switch {
		case strings.Contains(line, ";on_alarm"):
			inHandler++
			if handling.MatchString(line) {
				whole++
			}
		case strings.Contains(line, ";compare"):
			inCompare++
			if sorting.MatchString(line) {
				whole++
			} else {
				t.Errorf("not the program's stack: %s", line)
			}
		}
	}
	if inCompare < 10 || inHandler < 1 || whole < inCompare+inHandler*3/4 {
		t.Errorf("%d lines in compare, %d in on_alarm, %d of both whole:\n%.3000s", inCompare, inHandler, whole, strings.Join(lines, "\n"))
	}
}

// TestLiveStackCopiesCut: copies that are too short, or that arrive through a pipe, whose
// machine is known too late, are told.
func TestLiveStackCopiesCut(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	prog := buildDeep(t)
	dir := t.TempDir()
	data, pipe := filepath.Join(dir, "perf.data"), filepath.Join(dir, "perf.pipe")
	command(t, nil, "perf", "record", "-q", "-e", "cpu-clock:u", "--call-graph", "dwarf,256", "-o", data, "--", prog)
	command(t, nil, "sh", "-c", "perf record -q -e cpu-clock:u --call-graph dwarf,4096 -o - -- "+prog+" > "+pipe)
	for name, want := range map[string]string{
		data: "user stacks to the end: the copy that was recorded is too short, or a file is missing",
		pipe: " without user callers: copies of stacks (--call-graph dwarf) are walked in file mode only",
	} {
		cmd := kprof(t, "convert", "-f", "folded", name)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if out, err := cmd.Output(); err != nil || !strings.Contains(stderr.String(), want) || len(out) == 0 {
			t.Errorf("%s: %v: %s\nwant %q", filepath.Base(name), err, stderr.String(), want)
		}
	}
}
