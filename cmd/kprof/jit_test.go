//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// buildJIT compiles testdata/jit.c.
func buildJIT(t *testing.T) string {
	t.Helper()
	livetest.RequirePrograms(t, "gcc")
	prog := filepath.Join(t.TempDir(), "jit")
	if out, err := exec.Command("gcc", "-O1", "-fno-omit-frame-pointer", "-static", "-o", prog, "testdata/jit.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return prog
}

// TestLiveJITDump names code that a program made while it was recorded. With the
// clock that the dump has, by what was at an address at the time, as perf inject
// does; else, as in what kprof records, by what was there last.
func TestLiveJITDump(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	prog := buildJIT(t)
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).Output()
		if err != nil {
			t.Fatalf("%s %q: %v", name, args, err)
		}
		return string(out)
	}
	data, injected := filepath.Join(dir, "perf.data"), filepath.Join(dir, "injected.data")
	run("perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-g", "-e", "cpu-clock:u", "-F", "999", "-o", data, "--", prog, dir)
	run("perf", "inject", "--jit", "-i", data, "-o", injected)

	want := map[string]int{}
	for line := range strings.Lines(run("perf", "script", "-G", "-F", "ip,sym", "-i", injected)) {
		if f := strings.Fields(line); len(f) > 1 {
			want[f[1]]++
		}
	}
	folded, err := kprof(t, "convert", "--lines", "-f", "folded", data).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for line := range strings.Lines(string(folded)) {
		stack, weight, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		frames := strings.Split(stack, ";")
		if leaf := frames[len(frames)-1]; leaf == "first" || leaf == "second" {
			got[leaf] += atoi(t, weight) / 1001001 // ns of a sample
		}
	}
	// Of 999 samples a second, second has those of 0.3 seconds of CPU time, and first
	// of twice as much.
	for _, name := range []string{"first", "second"} {
		if want[name] < 10 || got[name] != want[name] {
			t.Errorf("%s: %d samples, perf inject says %d\n%s", name, got[name], want[name], folded)
		}
	}
	if want["first"] < want["second"] {
		t.Errorf("first ran twice and has %d samples, second %d", want["first"], want["second"])
	}

	// A profile made while recording.
	live := filepath.Join(dir, "live.folded")
	if out, err := kprof(t, "record", "-q", "-e", "cpu-clock:u", "-F", "999", "-o", live, "--", prog, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(live)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(b); !strings.Contains(s, ";second ") || !strings.Contains(s, ";first ") || strings.Contains(s, "[//anon]") {
		t.Errorf("made while recording:\n%s", s)
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
