//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/convert/replay"
	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// kprof returns a command that runs this test binary as kprof.
func kprof(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	link := filepath.Join(t.TempDir(), "kprof")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	return exec.Command(link, args...)
}

// samples counts the samples of a recording as kprof reads them.
func samples(t *testing.T, name string) (n int, truncated bool) {
	t.Helper()
	r := perftext.Open(t, name)
	for rec, err := range r.Records() {
		var end *perfdata.TruncatedError
		if errors.As(err, &end) {
			return n, true
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.Type == abi.RecordSample {
			n++
		}
	}
	return n, false
}

// waitFor waits until what holds, for a slow machine long enough.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// startRecording starts a recorder, and waits until there are samples in its file.
func startRecording(t *testing.T, c *exec.Cmd, name string) (said *bytes.Buffer) {
	t.Helper()
	said = &bytes.Buffer{}
	c.Stderr = said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() }) // it has ended, where all is well
	waitFor(t, "samples", committed(t, name))
	return said
}

// committed reports whether a recording that goes on has samples already.
func committed(t *testing.T, name string) func() bool {
	return func() bool {
		if _, err := os.Stat(name); err != nil {
			return false
		}
		r, err := perfdata.Open(name)
		if err != nil {
			return false // its header is being written
		}
		r.Close()
		n, _ := samples(t, name)
		return n > 0
	}
}

var statsSamples = regexp.MustCompile(`SAMPLE events: +(\d+)`)

// perfSamples counts them as perf report --stats does, which must not warn. Of a
// guest's recording it is kprof's own count, which perf is asked for later.
func perfSamples(t *testing.T, name string) int {
	t.Helper()
	if livetest.InGuest() {
		n, _ := samples(t, name)
		livetest.KeepForHost(t, name, n)
		return n
	}
	var out, warnings bytes.Buffer
	c := livetest.PerfCommand(t, "report", "--stats", "-i", name)
	c.Stdout, c.Stderr = &out, &warnings
	if err := c.Run(); err != nil {
		t.Fatalf("perf report: %v\n%s", err, warnings.Bytes())
	}
	if warnings.Len() > 0 {
		t.Errorf("perf report warns:\n%s", warnings.Bytes())
	}
	m := statsSamples.FindSubmatch(out.Bytes())
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLiveKilled kills a recorder at random moments. What it committed is read
// by kprof and by perf, sample by sample; TestLiveKilledLate looks at how old the
// last commit is.
func TestLiveKilled(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.PerfOrHost)
	for _, event := range []string{"cpu-clock", "sched:sched_switch"} {
		t.Run(event, func(t *testing.T) {
			for range 3 {
				name := filepath.Join(t.TempDir(), "killed.data")
				c := kprof(t, "record", "-q", "-a", "-e", event, "-o", name)
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				waitFor(t, "a commit", committed(t, name))
				life := rand.N(1500 * time.Millisecond)
				time.Sleep(life)
				if err := c.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = c.Wait()
				got, truncated := samples(t, name)
				if want := perfSamples(t, name); got != want || got == 0 || !truncated {
					t.Errorf("killed %v after its first commit: kprof reads %d samples (truncated %v), perf %d", life, got, truncated, want)
				}
				if livetest.InGuest() {
					continue
				}
				script, err := livetest.PerfCommand(t, "script", "-G", "-F", "comm", "-i", name).Output()
				if n := bytes.Count(script, []byte("\n")); err != nil || n != got {
					t.Errorf("perf script: %d samples, %v; want %d", n, err, got)
				}
			}
		})
	}
}

// TestLiveInterrupt presses Ctrl-C: both kprof and the command are sent SIGINT,
// the command takes its leave and is recorded to its end, and its exit code is
// passed on.
func TestLiveInterrupt(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.PerfOrHost)
	dir := t.TempDir()
	name, ready, mark := filepath.Join(dir, "int.data"), filepath.Join(dir, "ready"), filepath.Join(dir, "left")
	c := kprof(t, "record", "-q", "-e", "cpu-clock", "-o", name, "--",
		"sh", "-c", `trap 'echo bye >`+mark+`; exit 42' INT; : >`+ready+`; while :; do :; done`)
	c.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	var messages bytes.Buffer
	c.Stderr = &messages
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the command", func() bool { _, err := os.Stat(ready); return err == nil })
	waitFor(t, "a commit", committed(t, name))
	if err := unix.Kill(-c.Process.Pid, unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 42 {
		t.Errorf("exit code %d, want the command's 42\n%s", code, messages.Bytes())
	}
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the command did not get the signal: %v", err)
	}
	got, truncated := samples(t, name)
	if want := perfSamples(t, name); got != want || got == 0 || truncated {
		t.Errorf("kprof reads %d samples (truncated %v), perf %d", got, truncated, want)
	}
}

// TestLiveInterruptAll ends a recording of the machine with each signal that
// does: cleanly, with exit code 0.
func TestLiveInterruptAll(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.PerfOrHost)
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		name := filepath.Join(t.TempDir(), "all.data")
		c := kprof(t, "record", "-q", "-a", "-o", name)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "a commit", committed(t, name))
		if err := c.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("%v: %v", sig, err)
		}
		if got, truncated := samples(t, name); got == 0 || truncated {
			t.Errorf("%v: %d samples, truncated %v", sig, got, truncated)
		}
	}
}

// TestLiveNohup goes on recording when the terminal hangs up.
func TestLiveNohup(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.PerfOrHost, livetest.Program("nohup"))
	name := filepath.Join(t.TempDir(), "nohup.data")
	c := kprof(t, "record", "-q", "-a", "-o", name)
	c = exec.Command("nohup", c.Args...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "a commit", committed(t, name))
	before, _ := samples(t, name)
	if err := c.Process.Signal(unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	// Two commits: the signal came before the second.
	for range 2 {
		waitFor(t, "another commit", func() bool {
			now, _ := samples(t, name)
			grown := now > before
			before = now
			return grown || len(ended) > 0
		})
	}
	if len(ended) > 0 {
		t.Fatalf("the recording ended: %v", <-ended)
	}
	if err := c.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestLiveFullDisk keeps what was recorded, and says once why it is no more.
func TestLiveFullDisk(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	dir := t.TempDir()
	// Each of 200,000 calls makes a record of more than 50 bytes: even if most were
	// lost, because the recorder had to wait, what is in a full ring is too much.
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, 0) }) // when what the test has opened is closed
	name := filepath.Join(dir, "full.data")
	c := kprof(t, "record", "-e", "raw_syscalls:sys_enter", "-m", "4M", "--no-symbols", "-o", name, "--",
		"dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=100000", "status=none")
	out, err := c.CombinedOutput()
	if code := c.ProcessState.ExitCode(); code != 1 || bytes.Count(out, []byte("\n")) != 1 ||
		!bytes.Contains(out, []byte(name+": ")) || !bytes.Contains(out, []byte(unix.ENOSPC.Error())) {
		t.Errorf("%v, %q; want one line, with the file and the reason", err, out)
	}
	if got, truncated := samples(t, name); got == 0 || truncated {
		t.Errorf("%d samples, truncated %v", got, truncated)
	}
}

// TestLiveMaxLost: a recording that has lost more than it may fails, with what it has;
// one that lost nothing, or less, does not. The command stops the recorder while it makes
// its calls, so that what the ring does not hold is lost.
func TestLiveMaxLost(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Program("perl"))
	for _, x := range []struct {
		ring, allowed string
		code          int
	}{
		{"4K", "0", 1},
		{"4K", "10000000", 0},
		{"16M", "0", 0}, // which holds all of it
	} {
		name := filepath.Join(t.TempDir(), "calls.data")
		args := []string{"record", "-e", "syscalls:sys_enter_getppid", "-m", x.ring, "--max-lost", x.allowed, "-o", name, "--"}
		args = append(args, "sh", "-c", `kill -STOP $PPID; "$@"; kill -CONT $PPID`, "sh")
		c := kprof(t, append(args, getppids(20, 5000)...)...)
		out, _ := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); code != x.code || strings.Contains(string(out), " were lost, and --max-lost allows "+x.allowed+"\n") != (code == 1) {
			t.Errorf("-m %s --max-lost %s: exit code %d, %s", x.ring, x.allowed, code, out)
		}
		if got, truncated := samples(t, name); got == 0 || truncated {
			t.Errorf("-m %s --max-lost %s: %d samples, truncated %v", x.ring, x.allowed, got, truncated)
		}
	}
}

// TestLiveForks records five hundred short children, each of which execs once. Every sample
// has the name of a program that ran and a mapping, or is counted.
func TestLiveForks(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	script := filepath.Join(t.TempDir(), "forks.sh")
	livetest.WriteFile(t, script, "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done\n")
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprintf("all=%v", all), func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "forks.data")
			args := []string{"record", "-q", "-m", "8M", "-e", "cpu-clock/freq=10000/,sched:sched_process_exec", "-o", name}
			if all {
				args = append(args, "-a")
			}
			c := kprof(t, append(args, "--", "sh", script)...)
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			r := perftext.Open(t, name)
			set, st, err := replay.File(context.Background(), r, replay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var taken, nameless, unmapped uint64
			pids := map[int64]bool{}
			for i := range set.NumSamples() {
				row := set.Sample(i)
				n := uint64(row.Values[0])
				taken += n
				comm, _ := set.Label(row.Labels, "comm")
				pid, _ := set.Label(row.Labels, "pid")
				if comm.Str == "true" {
					pids[pid.Num] = true
				}
				if strings.HasPrefix(comm.Str, ":") {
					nameless += n
				}
				if leaf := set.Locations[set.Stack(row.Stack)[0]]; leaf.Mapping < 0 {
					unmapped += n
				}
			}
			if in := st.Samples[0].Samples + st.Samples[1].Samples; taken != in {
				t.Errorf("%d samples in the Set, %d in the file", taken, in)
			}
			if nameless != st.Unnamed+st.Exited {
				t.Errorf("%d samples without a name, %d counted", nameless, st.Unnamed+st.Exited)
			}
			// Only a task past its exit has no name, and what is interrupted
			// right at a map that is being made no mapping.
			if st.Unnamed != 0 || unmapped*1000 > taken {
				t.Errorf("of %d samples %d have no name and %d leaves no mapping", taken, st.Unnamed, unmapped)
			}
			if len(pids) < 500 {
				t.Errorf("samples of %d children, want 500; %d records lost", len(pids), st.Lost)
			}
		})
	}
}

// TestLiveNotItself records system calls of the whole machine: none of the
// recorder's own gets past the kernel's filter, so the kernel's count is that of
// the samples.
func TestLiveNotItself(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf)
	name := filepath.Join(t.TempDir(), "calls.data")
	c := kprof(t, "record", "-q", "-a", "-e", "raw_syscalls:sys_enter", "-m", "8M", "-o", name, "--",
		"dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=300000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := c.Process.Pid
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	out, err := livetest.PerfCommand(t, "script", "-G", "-F", "pid", "-i", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		calls[f[len(f)-1]]++
	}
	if n := calls[strconv.Itoa(pid)]; n != 0 {
		t.Errorf("%d samples of the recorder's own process", n)
	}
	most := 0
	for _, n := range calls {
		most = max(most, n)
	}
	// What a machine with much else to do lost, it has told.
	r := perftext.Open(t, name)
	_, st, err := replay.File(context.Background(), r, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if lost := int(st.Lost); most+lost < 600000 {
		t.Errorf("dd made %d calls, want its 300,000 reads and as many writes; %d records lost", most, lost)
	}
}
