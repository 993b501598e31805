package perfevent

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
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

// maxSampleRate is kernel.perf_event_max_sample_rate in Hz. The kernel lowers
// it by itself when samples take too long.
func maxSampleRate() uint64 { return sysctlNumber("perf_event_max_sample_rate", 100000) }

// MaxSampleRate is the highest frequency that the kernel takes, in Hz: the
// value of kernel.perf_event_max_sample_rate.
func MaxSampleRate() uint64 { return maxSampleRate() }

// Capabilities that matter here (include/uapi/linux/capability.h).
const (
	capSysAdmin = unix.CAP_SYS_ADMIN
	capPerfmon  = unix.CAP_PERFMON
	capIPCLock  = unix.CAP_IPC_LOCK
)

// hasCap reports whether the calling thread has a capability in effect.
func hasCap(capability int) bool {
	b, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return err == nil && set>>capability&1 != 0
		}
	}
	return false
}

// hintPermission says what would permit to open e there
// (Documentation/admin-guide/perf-security.rst).
func hintPermission(e *Event, w Where) string {
	paranoid := sysctl("perf_event_paranoid")
	if hasCap(capPerfmon) || hasCap(capSysAdmin) {
		switch {
		case w.Cgroup == nil && w.PID > 0:
			return "needs the right to ptrace the task: its owner, or CAP_SYS_PTRACE"
		case e.Attr.Type == abi.TypeTracepoint:
			return "the kernel may be locked down, which forbids ftrace:function and probes (see /sys/kernel/security/lockdown or dmesg)"
		}
		return "the capability is there; a seccomp filter or a container may forbid perf_event_open"
	}
	limit := 1 // kernel samples of one's own tasks
	switch {
	case e.Attr.Type == abi.TypeTracepoint || e.Attr.Type == abi.TypeBreakpoint && e.Attr.Flags&abi.FlagExcludeKernel == 0 || e.isProbe():
		limit = -1
	case w.PID == AllTasks || w.Cgroup != nil:
		limit = 0
	case e.Attr.Flags&abi.FlagExcludeKernel != 0:
		limit = 2
	}
	if now, err := strconv.Atoi(paranoid); err == nil && now <= limit && w.Cgroup == nil && w.PID > 0 {
		return "the task is another user's, or may not be traced: needs CAP_PERFMON, which root has"
	}
	hint := fmt.Sprintf("needs CAP_PERFMON, or kernel.perf_event_paranoid at most %d (now %s): run as root, or sysctl kernel.perf_event_paranoid=%[1]d", limit, paranoid)
	if limit == 1 {
		hint += "; with :u it needs neither"
	}
	return hint
}

// hintTracefs is what to add to an error of tracefs, after a blank.
func hintTracefs(err error) string {
	switch {
	case errors.Is(err, os.ErrPermission):
		return fmt.Sprintf(" (needs root: tracefs is closed to uid %d; or mount -o remount,gid=GROUP,mode=750 /sys/kernel/tracing)", os.Geteuid())
	case errors.Is(err, unix.ENODEV):
		return " (this kernel is built without tracing, CONFIG_FTRACE)"
	}
	return ""
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
