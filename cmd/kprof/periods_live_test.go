//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"kprof/perfevent/livetest"
)

// TestLivePeriods: each period is a profile, and each exec is in one of them, of which the
// last are kept.
func TestLivePeriods(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	// Before the last there are three periods, however long a disk takes to write them.
	const script = `i=0; while [ $i -lt 99 ]; do /bin/true; sleep 0.01; i=$((i+1)); done
		until set -- x.y.*.folded; [ $# -gt 1 ]; do :; done; /bin/true; sleep 0.01`
	for _, most := range []string{"0", "2"} { // 0 keeps all
		dir := t.TempDir()
		c := kprof(t, "record", "-e", "sched:sched_process_exec", "--every", "200ms", "--switch-max-files", most,
			"-o", filepath.Join(dir, "x.y.folded"), "--", "sh", "-c", script)
		c.Dir = dir
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		execs := map[string]uint64{}
		for _, file := range files {
			if !regexp.MustCompile(`^x\.y\.\d{16}\.folded$`).MatchString(file.Name()) {
				t.Errorf("there is %s", file.Name())
			}
			b, err := os.ReadFile(filepath.Join(dir, file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			lines := foldedLines(t, bytes.NewReader(b))
			for stack, n := range lines {
				comm, _, _ := strings.Cut(stack, ";")
				execs[comm] += n
			}
		}
		switch {
		case most == "2" && len(files) != 2:
			t.Errorf("there are %d files, not the last 2", len(files))
		case most == "2" && (execs["true"] == 0 || execs["true"] >= 100):
			t.Errorf("the last 2 files have %v", execs)
		case most == "0" && (len(files) < 3 || execs["true"] != 100 || execs["sleep"] != 100 || execs["sh"] != 1):
			t.Errorf("%d files have %v, want 100 of true and of sleep, and 1 of sh", len(files), execs)
		}
	}
}

// TestLivePeriodsAsked: a period ends when a signal asks for that, of which SIGHUP is one where
// there is no terminal.
func TestLivePeriodsAsked(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	dir := t.TempDir()
	c := kprof(t, "record", "-a", "-e", "sched:sched_process_exec", "--every", "1h", "-o", filepath.Join(dir, "x.folded"))
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	files := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	waitFor(t, "events", func() bool { // from then on a signal that comes early ends nothing
		open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.Process.Pid))
		return err == nil && slices.ContainsFunc(open, func(fd string) bool {
			to, _ := os.Readlink(fd)
			return to == "anon_inode:[perf_event]"
		})
	})
	for i, sig := range []syscall.Signal{syscall.SIGUSR2, syscall.SIGHUP} {
		waitFor(t, sig.String(), func() bool {
			command(t, nil, "/bin/true") // or there is nothing to write
			if err := c.Process.Signal(sig); err != nil {
				t.Fatalf("%v\n%s", err, &said)
			}
			return files() > i
		})
	}
	before := files()
	command(t, nil, "/bin/true")
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// What ran last is in one more, unless SIGHUP has ended it.
	if err := c.Wait(); err != nil || files() <= before {
		t.Errorf("%d files, and %d at the end: %v\n%s", before, files(), err, &said)
	}
}
