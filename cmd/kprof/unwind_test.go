//go:build linux

package main

import (
	"bytes"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// buildDeep compiles testdata/deep.c as distributions compile programs, with one more
// flag if there is one.
func buildDeep(t *testing.T, flag string) string {
	t.Helper()
	livetest.RequirePrograms(t, "gcc")
	prog := filepath.Join(t.TempDir(), "deep")
	args := strings.Fields("-O2 -fomit-frame-pointer -fno-optimize-sibling-calls " + flag)
	if out, err := exec.Command("gcc", append(args, "-o", prog, "testdata/deep.c")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return prog
}

// TestLiveStackCopies walks the copies of stacks that perf record --call-graph dwarf
// makes: to the lines of perf, and as the program is built, through signal handlers
// too.
func TestLiveStackCopies(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	prog := buildDeep(t, "")
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
	want := scriptLines(t, bytes.NewReader(command(t, nil, "perf", "script", "--no-inline", "-i", data)), true)
	got := foldedLines(t, strings.NewReader(strings.Join(lines, "\n")+"\n"))
	compareCopied(t, want, got)

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

// compareCopied compares lines of copied stacks. Few of perf's, up to one in a hundred, are only the
// innermost frames of kprof's: see TestLiveWalksOfPerf.
func compareCopied(t *testing.T, want *scriptFold, got map[string]uint64) {
	t.Helper()
	own := *want // others are compared with it too
	want = &own
	want.lines, want.atStart = maps.Clone(want.lines), maps.Clone(want.atStart)
	var all, cut uint64
	for _, n := range got {
		all += n
	}
	missing, extra := subtract(want.lines, got)
	for line, n := range missing {
		comm, inner, _ := strings.Cut(line, ";")
		for whole, m := range extra {
			if n > 0 && strings.HasPrefix(whole, comm+";") && strings.HasSuffix(whole, ";"+inner) {
				take := min(n, m)
				n, extra[whole], got[whole], want.lines[line] = n-take, m-take, got[whole]-take, want.lines[line]-take
				cut += take
			}
		}
	}
	for _, lines := range []map[string]uint64{want.lines, got} {
		maps.DeleteFunc(lines, func(_ string, n uint64) bool { return n == 0 })
	}
	if cut > 2+all/100 {
		t.Errorf("of %d perf has the innermost frames of %d", all, cut)
	}
	compareFolded(t, want, got)
}

// TestLiveStackCopiesPipe walks the copies in a recording that perf wrote to a pipe, out
// of a file, which is read twice, and out of a pipe, round by round: to the lines of perf.
func TestLiveStackCopiesPipe(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	prog := buildDeep(t, "")
	pipe := filepath.Join(t.TempDir(), "perf.pipe")
	command(t, nil, "sh", "-c", "perf record -q -e cpu-clock:u -F 1999 --call-graph dwarf,16384 -o - -- "+prog+" > "+pipe)
	want := scriptLines(t, bytes.NewReader(command(t, nil, "perf", "script", "--no-inline", "-i", pipe)), true)
	recording, err := os.ReadFile(pipe)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, "-"} {
		cmd := kprof(t, "convert", "-f", "folded", name)
		cmd.Stdin = io.MultiReader(bytes.NewReader(recording)) // a pipe
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		got := foldedLines(t, bytes.NewReader(out))
		compareCopied(t, want, got)
	}
}

// TestLiveStackCopiesNarrow walks the copies of a program of 32 bits, which perf does
// not, through the kernel's function for system calls too.
func TestLiveStackCopiesNarrow(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("programs of 32 bits are built for amd64 only")
	}
	livetest.Require(t, livetest.Root, livetest.Perf, gcc32)
	livetest.RequireKernel(t, livetest.Narrow)
	prog := buildDeep(t, "-m32")
	data := filepath.Join(t.TempDir(), "perf.data")
	command(t, nil, "perf", "record", "-q", "-e", "cpu-clock:u", "-F", "1999", "--call-graph", "dwarf,16384", "-o", data, "--", prog)
	out, err := kprof(t, "convert", "-f", "folded", data).Output()
	if err != nil {
		t.Fatal(err)
	}
	// The C library has no symbols.
	sorting := regexp.MustCompile(`^deep;_start;[^ ]*;main;(descend;){4,8}work;[^ ]*;compare(;[^ ]*)? (\d+)$`)
	var compared, whole int
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, ";compare") {
			compared++
			if sorting.MatchString(strings.TrimSpace(line)) {
				whole++
			}
		}
	}
	if compared < 5 || whole != compared {
		t.Errorf("%d lines in compare, %d of them whole:\n%.3000s", compared, whole, out)
	}
}

// gcc32 is a gcc that makes programs of 32 bits.
func gcc32() string {
	cmd := exec.Command("gcc", "-m32", "-x", "c", "-o", "/dev/null", "-")
	cmd.Stdin = strings.NewReader("int main(void) { return 0; }")
	if cmd.Run() != nil {
		return "a gcc that makes programs of 32 bits (gcc-multilib)"
	}
	return ""
}

// TestLiveStackCopiesCut: copies that are too short are told.
func TestLiveStackCopiesCut(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	prog := buildDeep(t, "")
	data := filepath.Join(t.TempDir(), "perf.data")
	command(t, nil, "perf", "record", "-q", "-e", "cpu-clock:u", "--call-graph", "dwarf,256", "-o", data, "--", prog)
	const want = "user stacks to the end: the copy that was recorded is too short, or a file is missing"
	cmd := kprof(t, "convert", "-f", "folded", data)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if out, err := cmd.Output(); err != nil || !strings.Contains(stderr.String(), want) || len(out) == 0 {
		t.Errorf("%v: %s\nwant %q", err, stderr.String(), want)
	}
}
