//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// getppids is a command that makes a number of system calls so many times, between which it
// sleeps for a millisecond.
func getppids(times, number int) []string {
	return []string{"perl", "-e", fmt.Sprintf("for (1..%d) { getppid for 1..%d; select(undef, undef, undef, 0.001) }", times, number)}
}

var (
	tracedTime = regexp.MustCompile(`\] +(\d+\.\d{9}): `)
	tracedLost = regexp.MustCompile(`^CPU:\d+ \[LOST (\d+) EVENTS\]$`)
)

// traced is what a trace says: how many events, how many of them earlier than the one
// before, how many were lost, and in how many places between two events.
type traced struct{ events, backwards, lost, places int }

func readTrace(t *testing.T, text []byte) (r traced) {
	last, gap := "", false
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		line := s.Text()
		if m := tracedLost.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			r.lost += n
			gap = r.events > 0
			continue
		}
		m := tracedTime.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%q", line)
		}
		at := strings.Repeat("0", 20-len(m[1])) + m[1]
		if at < last {
			r.backwards++
		}
		if gap {
			r.places++
		}
		last, gap = at, false
		r.events++
	}
	return r
}

// TestLiveTrace: tens of thousands of events a second are listed in order while they
// happen, none is lost, and memory stays small. The rings hold all of them, so that none is
// where this machine stops for a second either.
func TestLiveTrace(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Program("perl"))
	livetest.ChangeMachine(t) // all that call perl are listed
	const times, number = 2000, 50
	out := trace(t, kprof, times, number, "-m", "16M")
	if r := readTrace(t, out); r.events != times*number || r.backwards > 0 || r.lost > 0 {
		t.Errorf("%+v, want %d events", r, times*number)
	}
	// With rings of the usual size, whose pages count, which are not enlarged; and with what
	// a recording beside takes, which has the kernel's symbols.
	for _, flags := range [][]string{{"-m", "8M"}, {"-m", "8M", "-o", filepath.Join(t.TempDir(), "calls.data")}} {
		out, memory, _ := measurement(t, trace(t, measured, times, number, flags...))
		if r := readTrace(t, out); r.events+r.lost < times*number || r.backwards > 0 {
			t.Errorf("%q: %+v, want %d events", flags, r, times*number)
		}
		if t.Logf("%q: %d MB", flags, memory>>20); memory > 96<<20 {
			t.Errorf("%q: it took %d MB", flags, memory>>20)
		}
	}
}

// TestLiveTraceRecords: what is recorded beside is what is listed.
func TestLiveTraceRecords(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Program("perl"))
	livetest.ChangeMachine(t) // all that call perl are listed
	data := filepath.Join(t.TempDir(), "calls.data")
	out := trace(t, kprof, 100, 50, "-o", data)
	again, err := kprof(t, "script", "--where", `comm == "perl"`, "--ns", data).Output()
	if err != nil || !bytes.Equal(again, out) {
		t.Errorf("script lists %d lines of what was recorded, %v; trace %d", bytes.Count(again, []byte("\n")), err, bytes.Count(out, []byte("\n")))
	}
}

// TestLiveTraceMarkerOff: where the kernel's tracer is off, nothing gets into trace_marker, and
// that is said; but not where it is on.
func TestLiveTraceMarkerOff(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	for _, on := range []bool{false, true} {
		t.Run(fmt.Sprint("tracing ", on), func(t *testing.T) {
			livetest.SetTracing(t, on)
			said, _ := kprof(t, "trace", "--marker", "--", "true").CombinedOutput() // it fails where nothing was written
			if want := "the kernel's tracer is off"; strings.Contains(string(said), want) == on {
				t.Errorf("%s", said)
			}
		})
	}
}

// trace traces the calls of getppids on the whole machine, and returns what kprof, or what
// runs it, prints.
func trace(t *testing.T, run func(*testing.T, ...string) *exec.Cmd, times, number int, flags ...string) []byte {
	t.Helper()
	args := append([]string{"trace", "-a", "-e", "syscalls:sys_enter_getppid", "--where", `comm == "perl"`, "--ns"}, flags...)
	cmd := run(t, append(append(args, "--"), getppids(times, number)...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.Bytes())
	}
	t.Log(errs.String())
	return out
}

// TestLiveTraceLost: what does not fit into a ring is told where it is missing, and all is
// accounted for.
func TestLiveTraceLost(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Program("perl"))
	const times, number = 20, 20000
	cmd := kprof(t, append([]string{"trace", "-e", "syscalls:sys_enter_getppid", "-m", "8K", "--ns", "--"}, getppids(times, number)...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.Bytes())
	}
	r := readTrace(t, out)
	// Records of other kinds are lost too: a few of a program that starts.
	if r.lost == 0 || r.places == 0 || r.backwards > 0 || r.events+r.lost < times*number || r.events+r.lost > times*number+200 {
		t.Errorf("%+v, want %d\n%s", r, times*number, errs.Bytes())
	}
	if !strings.Contains(errs.String(), "lost "+strconv.Itoa(r.lost)+" records") {
		t.Errorf("%d lost, told is\n%s", r.lost, errs.Bytes())
	}
}

// TestLiveTraceReader: whoever reads slowly, or no more, does not make trace fail.
func TestLiveTraceReader(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Program("perl"))
	cmd := kprof(t, append([]string{"trace", "-e", "syscalls:sys_enter_getppid", "--ns", "--"}, getppids(100, 1000)...)...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	b := make([]byte, 100)
	if _, err := r.Read(b); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if err := cmd.Wait(); err != nil || strings.Contains(errs.String(), "broken pipe") {
		t.Errorf("%v\n%s", err, errs.Bytes())
	}
}
