package perfevent

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// sysctl reads kernel.NAME; "unknown" when it cannot be read.
func sysctl(name string) string {
	b, err := os.ReadFile("/proc/sys/kernel/" + name)
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

func sysctlNumber(name string, otherwise uint64) uint64 {
	v, err := strconv.ParseUint(sysctl(name), 10, 64)
	if err != nil {
		return otherwise
	}
	return v
}

// MaxStack is how many addresses of a stack the kernel takes at most, and unless asked for less:
// kernel.perf_event_max_stack, which does not change while there is an event with callchains.
func MaxStack() uint64 { return sysctlNumber("perf_event_max_stack", 127) }

// maxSampleRate is kernel.perf_event_max_sample_rate in Hz. The kernel lowers
// it by itself when samples take too long.
func maxSampleRate() uint64 { return sysctlNumber("perf_event_max_sample_rate", 100000) }

// MaxSampleRate is the highest frequency that the kernel takes, in Hz: the
// value of kernel.perf_event_max_sample_rate.
func MaxSampleRate() uint64 { return maxSampleRate() }

// Capabilities that matter here (include/uapi/linux/capability.h).
const (
	capIPCLock = unix.CAP_IPC_LOCK
)

// hasCap reports whether the calling thread has a capability in effect.
func hasCap(capability int) bool {
	return statusSet("CapEff")>>capability&1 != 0
}

// hintRing says why a ring of size bytes could not be mapped: what is above
// perf_event_mlock_kb per user counts against RLIMIT_MEMLOCK
// (kernel/events/core.c, perf_mmap).
func hintRing(size int) string {
	if hasCap(capIPCLock) {
		return ""
	}
	var lim unix.Rlimit
	memlock := "unknown"
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim) == nil {
		memlock = fmt.Sprintf("%d kB", lim.Cur>>10)
		if lim.Cur == unix.RLIM_INFINITY {
			memlock = "unlimited"
		}
	}
	return fmt.Sprintf("rings of %d kB for each CPU need CAP_IPC_LOCK, or fit into kernel.perf_event_mlock_kb (%s for each CPU and user) and ulimit -l (%s)",
		size>>10, sysctl("perf_event_mlock_kb"), memlock)
}

func hintFileLimit() string {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return "too many open files"
	}
	return fmt.Sprintf("each event takes a file for each CPU and task, and ulimit -n is %d, at most %d; record fewer events, tasks or CPUs", lim.Cur, lim.Max)
}

// RaiseFileLimit raises the number of files the process may have open as far
// as it may, for the rare recording that needs tens of thousands. Children
// inherit it: launch them before. It reports whether there is room now that
// was not there before.
func RaiseFileLimit() bool {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil {
		return false
	}
	if lim.Cur < lim.Max {
		lim.Cur = lim.Max
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &lim) == nil
	}
	b, err := os.ReadFile("/proc/sys/fs/nr_open")
	if err != nil {
		return false
	}
	most, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || most <= lim.Max {
		return false
	}
	lim = unix.Rlimit{Cur: most, Max: most} // needs CAP_SYS_RESOURCE
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &lim) == nil
}
