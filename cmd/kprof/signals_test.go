//go:build linux

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// recordBusy starts to record a shell that does script, and then works for ever.
// It returns when that is done and samples have been committed.
func recordBusy(t *testing.T, name, script string) (c *exec.Cmd, said *bytes.Buffer) {
	t.Helper()
	ready := name + ".ready"
	c = kprof(t, "record", "-q", "-e", "cpu-clock", "-o", name, "--", "sh", "-c", script+"; : >"+ready+"; while :; do :; done")
	c.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	said = &bytes.Buffer{}
	c.Stderr = said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Kill(-c.Process.Pid, unix.SIGKILL) })
	waitFor(t, "the command", func() bool { _, err := os.Stat(ready); return err == nil })
	waitFor(t, "samples of the command", committed(t, name))
	return c, said
}

// wantWhole wants a recording that was finished, with samples.
func wantWhole(t *testing.T, name string) {
	t.Helper()
	got, truncated := samples(t, name)
	if want := perfSamples(t, name); got != want || got == 0 || truncated {
		t.Errorf("%s: kprof reads %d samples (truncated %v), perf %d", name, got, truncated, want)
	}
}

// TestLiveSignalAlone sends a signal to kprof and not to the command: SIGINT and
// SIGQUIT end both, as with perf record, and do not wait for a command that has not
// got the signal to follow it; others are passed on.
func TestLiveSignalAlone(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	for _, tt := range []struct {
		sig  unix.Signal
		code int
	}{
		{unix.SIGINT, 143}, {unix.SIGQUIT, 143}, {unix.SIGABRT, 143}, {unix.SIGTERM, 143}, {unix.SIGHUP, 129},
	} {
		t.Run(unix.SignalName(tt.sig), func(t *testing.T) {
			// On a busy machine anything may take as long as the grace; not ten times.
			for try := 1; ; try++ {
				name := filepath.Join(t.TempDir(), "alone.data")
				c, said := recordBusy(t, name, "trap 'exit 9' INT QUIT ABRT")
				sent := time.Now()
				if err := c.Process.Signal(tt.sig); err != nil {
					t.Fatal(err)
				}
				_ = c.Wait()
				took := time.Since(sent)
				if code := c.ProcessState.ExitCode(); code != tt.code {
					t.Errorf("exit code %d, want %d\n%s", code, tt.code, said)
				}
				wantWhole(t, name)
				if took < 3*time.Second { // as record.Supervise documents
					return
				}
				if try == 10 {
					t.Fatalf("the end took %v", took)
				}
			}
		})
	}
}

// TestLiveSignalGroup sends signals to kprof and the command, as a terminal and
// service managers do: the command takes its own leave, undisturbed by a second
// signal, and its exit code is passed on.
func TestLiveSignalGroup(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "group.data")
			c, said := recordBusy(t, name, `n=0; trap 'n=$((n+1)); sleep 0.3; exit $((40+n))' INT QUIT TERM`)
			if err := unix.Kill(-c.Process.Pid, sig); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait()
			if code := c.ProcessState.ExitCode(); code != 41 {
				t.Errorf("exit code %d, want the command's 41\n%s", code, said)
			}
			wantWhole(t, name)
		})
	}
}

// TestLiveSignalMachine ends a recording of the machine by the signals that make
// Go programs print their stacks and exit with 2; SIGUSR1 and SIGUSR2 end nothing.
func TestLiveSignalMachine(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	for _, sig := range []unix.Signal{unix.SIGQUIT, unix.SIGABRT} {
		name := filepath.Join(t.TempDir(), "machine.data")
		c := kprof(t, "record", "-q", "-a", "-e", "cpu-clock", "-o", name)
		said := startRecording(t, c, name)
		for _, none := range []unix.Signal{unix.SIGUSR1, unix.SIGUSR2} {
			if err := c.Process.Signal(none); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := samples(t, name)
		waitFor(t, "more samples", func() bool { now, _ := samples(t, name); return now > before })
		if err := c.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil || bytes.Contains(said.Bytes(), []byte("goroutine")) {
			t.Errorf("%v: %v\n%s", sig, err, said)
		}
		wantWhole(t, name)
	}
}

// TestReaderGone: who reads what is printed has seen enough, as head does. That is no
// failure to speak of: the exit code is that of a program that dies of SIGPIPE.
func TestReaderGone(t *testing.T) {
	for _, args := range [][]string{{"report"}, {"report", "--tree"}, {"script"}, {"convert", "-f", "folded", "-o", "-"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		c := kprof(t, append(args, root+"/testdata/demo.data")...)
		var said bytes.Buffer
		c.Stdout, c.Stderr = w, &said
		_ = c.Run()
		w.Close()
		if code := c.ProcessState.ExitCode(); code != exitUnread && args[0] != "script" || strings.Contains(said.String(), "pipe") {
			t.Errorf("kprof %q: exit code %d, %s", args, code, &said)
		}
	}
}

// TestLiveNoReader: who reads the recording goes, before it begins or while it
// lasts. That is told; a command that runs goes on, and its exit code is passed on.
func TestLiveNoReader(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	for _, tt := range []struct{ read, code int }{{0, 1}, {1, 7}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		gone := filepath.Join(t.TempDir(), "gone")
		c := kprof(t, "record", "-q", "-e", "cpu-clock", "-o", "-", "--",
			"sh", "-c", "while [ ! -e "+gone+" ]; do :; done; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 7")
		var said bytes.Buffer
		c.Stdout, c.Stderr = w, &said
		if tt.read == 0 {
			r.Close()
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if tt.read > 0 {
			if _, err := io.ReadFull(r, make([]byte, tt.read)); err != nil {
				t.Fatal(err)
			}
			r.Close()
		}
		livetest.WriteFile(t, gone, "")
		_ = c.Wait()
		if code := c.ProcessState.ExitCode(); code != tt.code || !strings.Contains(said.String(), "broken pipe") {
			t.Errorf("the reader took %d bytes: exit code %d, want %d\n%s", tt.read, code, tt.code, &said)
		}
	}
}

// TestLiveNothingOfCommand: of a command whose end has ended the recording it is not said that it
// goes on, although the kernel may tell the end of its tasks before that of its process.
func TestLiveNothingOfCommand(t *testing.T) {
	livetest.Require(t, livetest.Root)
	for range 10 {
		out := filepath.Join(t.TempDir(), "none.svg")
		said, err := kprof(t, "record", "--call-graph", "auto", "-e", "cpu-clock:u", "-F", "10", "-o", out, "--", "true").CombinedOutput()
		if err != nil || bytes.Contains(said, []byte("goes on")) {
			t.Errorf("%v\n%s", err, said)
		}
	}
}

// TestLiveFullDiskReported: the disk is full while the command runs. That is told
// while it runs, it goes on, and its exit code is passed on.
func TestLiveFullDiskReported(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	dir := t.TempDir()
	disk, goOn, messages := filepath.Join(dir, "disk"), filepath.Join(dir, "go"), filepath.Join(dir, "messages")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, 0) }) // when what the test has opened is closed
	stderr, err := os.Create(messages)
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	name := filepath.Join(disk, "full.data")
	c := kprof(t, "record", "-m", "1M", "-e", "raw_syscalls:sys_enter", "--no-symbols", "-o", name, "--",
		"sh", "-c", "dd if=/dev/zero of=/dev/null bs=1 count=400000 status=none; while [ ! -e "+goOn+" ]; do sleep 0.1; done; exit 7")
	c.Stderr = stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	waitFor(t, "the message", func() bool {
		said, err := os.ReadFile(messages)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(said, []byte(unix.ENOSPC.Error())) && bytes.Contains(said, []byte("not recorded any more"))
	})
	if got, truncated := samples(t, name); got == 0 || truncated {
		t.Errorf("while the command goes on: %d samples, truncated %v", got, truncated)
	}
	livetest.WriteFile(t, goOn, "")
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d, want the command's 7", code)
	}
}
