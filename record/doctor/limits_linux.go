package doctor

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Limits below these are worth a word.
const (
	wantRingKB = 2048 // a ring of the default size
	wantHz     = 4000 // the default frequency
	wantFrames = 127
	wantFiles  = 4096
)

func limits() []Finding {
	setting := func(name, unit string, want int, remedy string) Finding {
		f := Finding{What: name, Remedy: remedy}
		n, err := kernelSetting(name)
		if err != nil {
			f.Detail = err.Error()
			return f
		}
		f.OK, f.Detail = n >= want, fmt.Sprintf("%d%s", n, unit)
		return f
	}
	var files unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	return []Finding{
		lockedMemory(),
		setting("perf_event_max_sample_rate", " Hz", wantHz,
			fmt.Sprintf("the kernel lowers it when samples take long; sysctl kernel.perf_event_max_sample_rate=%d", 100000)),
		setting("perf_event_max_stack", " frames", wantFrames,
			fmt.Sprintf("deeper stacks are cut; sysctl kernel.perf_event_max_stack=%d", wantFrames)),
		{
			What: "open files", OK: files.Max >= wantFiles, Detail: fmt.Sprintf("%d, at most %d", files.Cur, files.Max),
			Remedy: "each event takes one for each CPU and task; raise it with ulimit -Hn",
		},
	}
}

// lockedMemory: what a user may lock in rings beyond perf_event_mlock_kb counts
// against RLIMIT_MEMLOCK (kernel/events/core.c, perf_mmap).
func lockedMemory() Finding {
	f := Finding{What: "perf_event_mlock_kb", Remedy: "rings will be smaller and lose more; sysctl kernel.perf_event_mlock_kb, ulimit -l, or CAP_IPC_LOCK"}
	perCPU, err := kernelSetting("perf_event_mlock_kb")
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	var lim unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim)
	locked := fmt.Sprintf("%d kB", lim.Cur>>10)
	if lim.Cur == unix.RLIM_INFINITY {
		locked = "unlimited"
	}
	f.Detail = fmt.Sprintf("%d kB for each CPU, then ulimit -l: %s", perCPU, locked)
	switch {
	case capabilities()>>unix.CAP_IPC_LOCK&1 != 0:
		f.OK = true
		f.Detail += ", which CAP_IPC_LOCK overrides"
	case lim.Cur == unix.RLIM_INFINITY:
		f.OK = true
	default:
		f.OK = perCPU+int(lim.Cur>>10)/runtime.NumCPU() >= wantRingKB
	}
	return f
}
