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
