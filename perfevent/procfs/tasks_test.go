package procfs_test

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/fstest"

	"kprof/perfevent/procfs"
)

// proc has a process that ends while it is looked at, and names that are no task's.
var proc = fstest.MapFS{
	"1/comm":          {Data: []byte("init\n")},
	"1/task/1/comm":   {Data: []byte("init\n")},
	"20/comm":         {Data: []byte(" a b\nc\n")},
	"20/task/20/comm": {Data: []byte("a\n")},
	"20/task/21/comm": {Data: []byte("b\n")},
	"21/status":       {Data: []byte("Name:\tb\nState:\tS (sleeping)\nTgid:\t20\nNgid:\t0\nPid:\t21\n")},
	"3/status":        {Data: []byte("")},
	"-4/comm":         {Data: []byte("no\n")},
	"self/comm":       {Data: []byte("no\n")},
	"uptime":          {Data: []byte("1 2\n")},
}

func TestProcesses(t *testing.T) {
	got, err := procfs.Processes(proc)
	want := []procfs.Process{{PID: 1, Comm: "init"}, {PID: 20, Comm: " a b\nc"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := procfs.Processes(fstest.MapFS{}); err != nil {
		t.Errorf("of none: %v", err)
	}
}

func TestThreads(t *testing.T) {
	got, err := procfs.Threads(proc, 1)
	if want := []int{20, 21}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// TestRuns: lines of Linux 6.18, of a name with brackets, of a process that sleeps (flags
// PF_RANDOMIZE), is at its end (PF_EXITING besides), and is being read while that goes.
func TestRuns(t *testing.T) {
	stat := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	proc := fstest.MapFS{
		"1/stat": stat("1 (a) Z (4) S 0 1 1 0 -1 4194304 2 0 0 0 0 0\n"),
		"2/stat": stat("2 (sleep) Z 1 2 2 0 -1 4194308 2 0 0 0 0 0\n"),
		"3/stat": stat("3 (sleep"),
	}
	for id, want := range map[int]bool{1: true, 2: false, 3: false, 4: false} {
		if got := procfs.Runs(proc, id); got != want {
			t.Errorf("%d: %v", id, got)
		}
	}
}

func TestProcessOf(t *testing.T) {
	if pid, err := procfs.ProcessOf(proc, 21); pid != 20 || err != nil {
		t.Errorf("%d, %v, want 20", pid, err)
	}
	if _, err := procfs.ProcessOf(proc, 22); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("of a thread that is gone: %v", err)
	}
	if _, err := procfs.ProcessOf(proc, 3); err == nil || errors.Is(err, syscall.ESRCH) {
		t.Errorf("of one that does not tell: %v", err)
	}
}
