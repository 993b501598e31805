package syscalls_test

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/syscalls"
)

// TestHost: the table of this machine has the numbers that programs for it are compiled with.
func TestHost(t *testing.T) {
	table := syscalls.Of(runtime.GOARCH)
	for name, want := range map[string]uint64{
		"getppid": unix.SYS_GETPPID, "read": unix.SYS_READ, "perf_event_open": unix.SYS_PERF_EVENT_OPEN,
		"statx": unix.SYS_STATX, "clone3": unix.SYS_CLONE3, "futex_waitv": unix.SYS_FUTEX_WAITV,
	} {
		if n, ok := table.Number(name); !ok || n != want {
			t.Errorf("%s is %d, want %d", name, n, want)
		}
	}
}
