//go:build linux

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// rareCalls are system calls that neither shells, perf, kprof nor Go's runtime make
// without need, each as often as calls makes it.
var rareCalls = []struct {
	name   string
	number uintptr
	args   [3]uintptr
	times  int
}{
	{"getsid", unix.SYS_GETSID, [3]uintptr{}, 101},
	{"getpriority", unix.SYS_GETPRIORITY, [3]uintptr{}, 102},
	{"sched_get_priority_max", unix.SYS_SCHED_GET_PRIORITY_MAX, [3]uintptr{}, 103},
	{"sched_get_priority_min", unix.SYS_SCHED_GET_PRIORITY_MIN, [3]uintptr{}, 104},
	{"sched_rr_get_interval", unix.SYS_SCHED_RR_GET_INTERVAL, [3]uintptr{}, 105},
	{"getitimer", unix.SYS_GETITIMER, [3]uintptr{}, 106},
	{"getresuid", unix.SYS_GETRESUID, [3]uintptr{}, 107},
	{"getresgid", unix.SYS_GETRESGID, [3]uintptr{}, 108},
	{"sched_getparam", unix.SYS_SCHED_GETPARAM, [3]uintptr{}, 109},
	{"getgroups", unix.SYS_GETGROUPS, [3]uintptr{}, 110},
}

// calls is a program that makes these calls.
func calls() {
	for _, c := range rareCalls {
		for range c.times {
			_, _, _ = unix.Syscall(c.number, c.args[0], c.args[1], c.args[2])
		}
	}
}

func rareEvents() []string {
	var flags []string
	for _, c := range rareCalls {
		flags = append(flags, "-e", "syscalls:sys_enter_"+c.name)
	}
	return flags
}

// callsProgram is where calls is found as a program.
func callsProgram(t *testing.T) string {
	t.Helper()
	link := filepath.Join(filepath.Dir(kprof(t).Path), "calls")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// statFields reads what -x, wrote: the fields of each event.
func statFields(t *testing.T, file string) map[string][]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	events := map[string][]string{}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimRight(line, "\n"), ",")
		if len(f) < 3 || strings.HasPrefix(line, "#") {
			continue
		}
		events[f[2]] = f
	}
	return events
}

func statValue(t *testing.T, fields map[string][]string, event string) float64 {
	t.Helper()
	f := fields[event]
	if len(f) != 7 {
		t.Fatalf("%s: %q, want 7 fields", event, f)
	}
	v, err := strconv.ParseFloat(f[0], 64)
	if err != nil {
		t.Fatalf("%s: %v", event, err)
	}
	return v
}

func mustRun(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", c.Args, err, out)
	}
}

// TestLiveStatExact counts a program whose system calls are known, alone and with all
// that the machine does meanwhile.
func TestLiveStatExact(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	program := callsProgram(t)
	for _, target := range [][]string{nil, {"-a"}, {"-a", "--per-cpu"}} {
		out := filepath.Join(t.TempDir(), "out")
		args := append(append([]string{"stat", "-o", out, "--json"}, target...), rareEvents()...)
		mustRun(t, kprof(t, append(args, "--", program)...))
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for line := range strings.Lines(string(b)) {
			var row struct {
				Event  string
				Value  float64
				Status string
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil || row.Status != "counted" {
				t.Fatalf("%s: %v", line, err)
			}
			got[row.Event] += row.Value
		}
		for _, c := range rareCalls {
			n := got["syscalls:sys_enter_"+c.name]
			if target == nil && n != float64(c.times) || n < float64(c.times) {
				t.Errorf("%q: %s %v times, want %d", target, c.name, n, c.times)
			}
		}
	}
}

// TestLiveStatMachineAsPerf has perf count all that happens while kprof does: its time
// holds kprof's, so that it counts at least as much, and kprof at least what the
// program does. As nobody else makes these calls, all three are the same.
func TestLiveStatMachineAsPerf(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf)
	dir := t.TempDir()
	theirs, ours := filepath.Join(dir, "perf"), filepath.Join(dir, "kprof")
	k := kprof(t)
	args := append([]string{"stat", "-a", "-x,", "-o", theirs}, rareEvents()...)
	args = append(args, "--", k.Path, "stat", "-a", "-x,", "-o", ours)
	args = append(append(args, rareEvents()...), "--", callsProgram(t))
	mustRun(t, exec.Command("perf", args...))
	perf, own := statFields(t, theirs), statFields(t, ours)
	for _, c := range rareCalls {
		event := "syscalls:sys_enter_" + c.name
		p, k := statValue(t, perf, event), statValue(t, own, event)
		if k < float64(c.times) || k > p {
			t.Errorf("%s: kprof %v, perf %v, and the program does it %d times", event, k, p, c.times)
		}
	}
}

// TestLiveStatAsPerf has perf and kprof count the same processes at the same time, from
// before their first instruction that matters until they have exited: what each counts
// is the same, to the last event.
func TestLiveStatAsPerf(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf)
	dir := t.TempDir()
	gate, done := filepath.Join(dir, "gate"), filepath.Join(dir, "done")
	theirs, ours := filepath.Join(dir, "perf"), filepath.Join(dir, "kprof")
	for _, fifo := range []string{gate, done} {
		if err := unix.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// It holds done open until it has exited, and all that it started.
	end, err := os.OpenFile(done, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	load := exec.Command("sh", "-c", "read go <"+gate+"; for i in 1 2 3 4 5 6 7 8 9 10; do ls -lR /etc >/dev/null 2>&1; (true); done")
	load.Stdout = end
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	defer load.Wait()
	defer load.Process.Kill()
	waitFor(t, "the load to wait", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", load.Process.Pid))
		_, after, _ := strings.Cut(string(stat), ") ")
		return err == nil && strings.HasPrefix(after, "S")
	})

	events := []string{
		"page-faults", "minor-faults", "major-faults", "context-switches", "cpu-migrations", "task-clock",
		"syscalls:sys_enter_openat", "syscalls:sys_exit_openat", "syscalls:sys_enter_getdents64", "syscalls:sys_enter_mmap",
		"sched:sched_process_fork", "sched:sched_process_exec", "sched:sched_process_exit",
		"{syscalls:sys_enter_write,syscalls:sys_enter_close}", "page-faults:u",
	}
	args := []string{"stat", "-x,", "-p", strconv.Itoa(load.Process.Pid)}
	for _, e := range events {
		args = append(args, "-e", e)
	}
	both := append(append([]string{}, args...), "-o", theirs, "--", kprof(t).Path)
	both = append(append(both, args...), "-o", ours, "--", "sh", "-c", "exec 3<"+done+"; echo go >"+gate+"; cat <&3")
	counting := exec.Command("perf", both...)
	var said bytes.Buffer
	counting.Stdout, counting.Stderr = &said, &said
	if err := counting.Start(); err != nil {
		t.Fatal(err)
	}
	if err := load.Wait(); err != nil { // to be reaped, so that both see that it has gone
		t.Error(err)
	}
	end.Close()
	if err := counting.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}

	perf, own := statFields(t, theirs), statFields(t, ours)
	if len(perf) != len(events)+1 || len(own) != len(perf) {
		t.Fatalf("perf tells of %d events, kprof of %d, want %d", len(perf), len(own), len(events)+1)
	}
	some := 0
	for event, theirs := range perf {
		p, k := statValue(t, perf, event), statValue(t, own, event)
		if event == "task-clock" {
			// Two clocks, each read at each switch, one after the other: an
			// interrupt in between is on one of them only.
			if k < p*0.9-10 || k > p*1.1+10 {
				t.Errorf("%s: kprof %v ms, perf %v ms", event, k, p)
			}
			continue
		}
		if p != k {
			t.Errorf("%s: kprof %v, perf %v", event, k, p)
		}
		if p > 0 {
			some++
		}
		for _, i := range []int{1, 2, 4} { // unit, event, share
			if own[event][i] != theirs[i] {
				t.Errorf("%s: kprof %q, perf %q", event, own[event], theirs)
			}
		}
	}
	if some < 10 {
		t.Errorf("only %d events happened at all", some)
	}
}

// TestLiveStatSignal: Ctrl-C ends the counting, and what was counted is printed.
func TestLiveStatSignal(t *testing.T) {
	livetest.Require(t, livetest.Root)
	for _, tt := range []struct {
		args []string
		code int
		out  bool // the counts are on standard output
	}{
		{[]string{"-a"}, 0, true},
		{[]string{"-a", "-I", "50"}, 0, true},
		{[]string{"--", "sh", "-c", ": >READY; while :; do :; done"}, 128 + int(unix.SIGTERM), false},
	} {
		ready := filepath.Join(t.TempDir(), "ready")
		for i := range tt.args {
			tt.args[i] = strings.ReplaceAll(tt.args[i], "READY", ready)
		}
		c := kprof(t, append([]string{"stat", "-e", "cpu-clock"}, tt.args...)...)
		c.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
		var out, said bytes.Buffer
		c.Stdout, c.Stderr = &out, &said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer unix.Kill(-c.Process.Pid, unix.SIGKILL)
		seen := 0
		waitFor(t, "the counting", func() bool {
			if !tt.out {
				_, err := os.Stat(ready)
				return err == nil
			}
			if handlesSignal(c.Process.Pid, unix.SIGINT) && opensEvents(c.Process.Pid) {
				seen++
			}
			return seen > 5 // all are open and count a while after the first
		})
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		if code := c.ProcessState.ExitCode(); code != tt.code {
			t.Errorf("%q: exit code %d, want %d\n%s", tt.args, code, tt.code, &said)
		}
		printed := &said
		if tt.out {
			printed = &out
		}
		if !strings.Contains(printed.String(), "CPUs utilized") {
			t.Errorf("%q: nothing was printed:\n%s%s", tt.args, &out, &said)
		}
	}
}

// TestLiveStatOutput: counts are written as all outputs are, and with -I each as it comes.
func TestLiveStatOutput(t *testing.T) {
	livetest.Require(t, livetest.Root)
	dir := t.TempDir()
	out, kept := filepath.Join(dir, "counts"), filepath.Join(dir, "kept")
	livetest.WriteFile(t, out, "last week's\n")
	if err := os.Link(out, kept); err != nil {
		t.Fatal(err)
	}
	mustRun(t, kprof(t, "stat", "-x,", "-o", out, "-e", "cpu-clock", "--", "true"))
	st, err := os.Stat(out)
	if err != nil || st.Mode() != 0o600 || len(statFields(t, out)) != 1 {
		t.Errorf("%v, %v: %v", st, err, statFields(t, out))
	}
	if b, err := os.ReadFile(kept); err != nil || string(b) != "last week's\n" {
		t.Errorf("the file that was there now holds %q, %v", b, err)
	}

	shared, victim := filepath.Join(t.TempDir(), "shared"), filepath.Join(dir, "victim")
	livetest.WriteFile(t, victim, "")
	link := filepath.Join(shared, "counts")
	if err := cmp.Or(os.Mkdir(shared, 0o700), os.Chmod(shared, 0o777|os.ModeSticky), os.Symlink(victim, link), os.Lchown(link, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	said, err := kprof(t, "stat", "-o", link, "--", "true").CombinedOutput()
	if b, _ := os.ReadFile(victim); err == nil || !strings.Contains(string(said), "is a link of user 65534") || len(b) > 0 {
		t.Errorf("a link of somebody else's: %v, %s%s", err, said, b)
	}

	c := kprof(t, "stat", "-a", "-x,", "-I", "50", "-o", out, "-e", "cpu-clock")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	waitFor(t, "three intervals", func() bool {
		b, err := os.ReadFile(out)
		return err == nil && bytes.Count(b, []byte("cpu-clock")) > 3
	})
	if err := cmp.Or(c.Process.Signal(os.Interrupt), c.Wait()); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); left != nil {
		t.Errorf("left are %q", left)
	}
}

// handlesSignal reports whether a process has a handler for a signal.
func handlesSignal(pid int, sig unix.Signal) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), "SigCgt:\t")
	mask, err := strconv.ParseUint(rest[:min(16, len(rest))], 16, 64)
	return err == nil && mask>>(sig-1)&1 == 1
}

// opensEvents reports whether a process has counters.
func opensEvents(pid int) bool {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); to == "anon_inode:[perf_event]" {
			return true
		}
	}
	return false
}

// TestLiveStatOffline: a CPU that goes and comes back is told.
func TestLiveStatOffline(t *testing.T) {
	livetest.Require(t, livetest.Root)
	cpu, set := setOnline(t)
	for _, events := range []string{"cpu-clock", "{cpu-clock,cs}"} {
		for _, back := range []bool{false, true} {
			c := kprof(t, "stat", "-a", "-e", events)
			var out, said bytes.Buffer
			c.Stdout, c.Stderr = &out, &said
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			defer c.Process.Kill()
			waitFor(t, "the counting", func() bool { return opensEvents(c.Process.Pid) && handlesSignal(c.Process.Pid, unix.SIGINT) })
			time.Sleep(500 * time.Millisecond) // all are open a while after the first
			set("0")
			if back {
				set("1")
			}
			if err := c.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if err := c.Wait(); err != nil {
				t.Errorf("%v\n%s", err, &said)
			}
			if want := fmt.Sprintf("cpu %d went offline: it is counted up to there", cpu); !strings.Contains(said.String(), want) {
				t.Errorf("%s, back %v: nothing about %q:\n%s%s", events, back, want, &said, &out)
			}
			set("1")
		}
	}
}
