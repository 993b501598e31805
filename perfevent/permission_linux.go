package perfevent

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
)

// NoLevel is a kernel.perf_event_paranoid that no sysctl sets: only capabilities
// permit what needs it.
const NoLevel = math.MinInt

// MostLevel is the highest kernel.perf_event_paranoid of Linux itself. Above it
// distributions' kernels refuse everything, some of them (Debian's 6.1) whatever
// capabilities there are but CAP_SYS_ADMIN.
const MostLevel = 2

// PermissionError is what a user may not record or count, with what would permit all that
// was asked for.
type PermissionError struct {
	What         string   // "the whole machine", "tracepoints"
	Level        int      // kernel.perf_event_paranoid that would do, or NoLevel
	Now          string   // what it is
	Capabilities []string // of the program, which would do as well: "CAP_PERFMON"; none if only the level is in the way
	Have         []string // those of Capabilities that this process has
	Lower        bool     // the capabilities need a level of at most MostLevel, and it is more
	Unmounted    bool     // tracefs is needed, and not mounted
	Counting     bool     // it was to be counted, not recorded

	// Environment is what forbids it whatever this machine's settings and the
	// user's capabilities are, such as a seccomp filter; usually empty.
	Environment string

	Err error // the kernel's refusal
}

func (e *PermissionError) Error() string {
	doing := "recording"
	if e.Counting {
		doing = "counting"
	}
	if e.Environment != "" {
		return fmt.Sprintf("%s %s is not permitted: %s", doing, e.What, e.Environment)
	}
	level := func(most int) string {
		return fmt.Sprintf("kernel.perf_event_paranoid at most %d (now %s)", most, e.Now)
	}
	needs := strings.Join(e.Capabilities, ", ")
	if n := len(e.Have); n > 0 {
		needs += fmt.Sprintf(" (of which there %s %s)", map[bool]string{true: "is", false: "are"}[n == 1], strings.Join(e.Have, ", "))
	}
	switch {
	case needs == "":
		needs = level(e.Level)
	case e.Level != NoLevel:
		needs += ", or " + level(e.Level)
	case e.Lower:
		needs += " and " + level(MostLevel)
	}
	if e.Unmounted {
		needs = "tracefs, which is not mounted, and " + needs
	}
	return fmt.Sprintf("%s %s needs %s", doing, e.What, needs)
}

func (e *PermissionError) Unwrap() error { return e.Err }

// For is e for all that a recording asks for: what is needed for the event that
// was refused first may not be enough for the next.
func (e *PermissionError) For(asked []Request, of Extent) *PermissionError {
	return e.forState(asked, of, thisState())
}

func (e *PermissionError) forState(asked []Request, of Extent, st *state) *PermissionError {
	whole := *e
	needs := make([]demand, 0, len(asked))
	for _, r := range asked {
		needs = append(needs, r.demand(of.Machine, of.UserOnly, st.readable))
	}
	if of.Foreign {
		needs = append(needs, foreign)
	}
	if len(needs) == 0 {
		return &whole
	}
	whole.set(needs, of.Machine, st)
	return &whole
}

// Extent is what a recording is of, as far as permissions go.
type Extent struct {
	Machine  bool // all tasks, or those of a cgroup
	Foreign  bool // tasks of another user
	UserOnly bool // the kernel is left out
}

// Foreign reports whether any of the tasks is another user's.
func (t *Target) Foreign() bool {
	return slices.ContainsFunc(slices.Concat(t.PIDs, t.TIDs), ForeignTask)
}

// foreign is what tasks of another user take, or those that may not be traced
// (kernel/events/core.c, perf_check_permission).
var foreign = demand{"a task of another user, or one that may not be traced", NoLevel, []string{"CAP_PERFMON", "CAP_SYS_PTRACE"}, false}

// demand is what recording something takes.
type demand struct {
	what   string
	level  int
	caps   []string
	traces bool // with the kernel's tracer, which lockdown forbids
}

// demand returns what r takes (Documentation/admin-guide/perf-security.rst; for
// probes kernel/events/core.c, perf_kprobe_event_init, which no level permits;
// for tracepoints kernel/trace/trace_event_perf.c, perf_trace_event_perm). tracefs
// says that it can be read.
func (r Request) demand(machine, user, tracefs bool) demand {
	switch {
	case r.Class == ClassTracefsProbe:
		return demand{"probes with arguments", NoLevel, []string{"CAP_PERFMON", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_SYSLOG"}, true}
	case r.Class == ClassUserProbe: // perf_uprobe_event_init
		return demand{"probes in programs", NoLevel, []string{"CAP_SYS_ADMIN"}, true}
	case r.Class == ClassProbe:
		return demand{"probes", NoLevel, []string{"CAP_PERFMON", "CAP_SYSLOG"}, true}
	case r.Class == ClassKernelMemory:
		return demand{"accesses to the kernel's memory", NoLevel, []string{"CAP_SYS_ADMIN"}, false}
	case r.Class == ClassTracepoint && !tracefs:
		// Their numbers are in files that only root reads.
		return demand{"tracepoints", NoLevel, []string{"CAP_PERFMON", "CAP_DAC_READ_SEARCH"}, true}
	case r.Class == ClassTracepoint:
		return demand{"tracepoints", -1, []string{"CAP_PERFMON"}, true}
	case machine:
		return demand{"the whole machine", 0, []string{"CAP_PERFMON"}, false}
	case user || r.UserOnly:
		return demand{"user code", 2, []string{"CAP_PERFMON"}, false}
	}
	return demand{"kernel stacks", 1, []string{"CAP_PERFMON"}, false}
}

// set fills in what all of needs take together, for a process in state st; machine says that
// all tasks are recorded.
func (e *PermissionError) set(needs []demand, machine bool, st *state) {
	e.Level, e.Capabilities, e.Have, e.Now = math.MaxInt, nil, nil, st.paranoid
	traces := false
	for _, n := range needs {
		if n.level < e.Level {
			e.Level, e.What = n.level, n.what
		}
		for _, c := range n.caps {
			if c == "CAP_PERFMON" && st.old {
				c = "CAP_SYS_ADMIN"
			}
			if !slices.Contains(e.Capabilities, c) {
				e.Capabilities = append(e.Capabilities, c)
			}
		}
		traces = traces || n.traces
	}
	now, err := strconv.Atoi(e.Now)
	have := !slices.ContainsFunc(e.Capabilities, func(c string) bool { return !st.effective.has(c) })
	above := err == nil && now > MostLevel
	e.Lower, e.Unmounted = false, false
	if e.Environment = st.environment(e.Capabilities, e.Level, traces, machine); e.Environment != "" {
		return
	}
	switch {
	case have && above:
		e.Level, e.Capabilities = MostLevel, nil
	case have:
		e.Environment = "the capabilities are there; a security module may forbid it (see dmesg)"
	case err == nil && e.Level == MostLevel && now >= MostLevel:
		// Debian's 6.12 refuses some user code at 2 too (seen, not explained).
		e.Level = 1
	case err == nil && e.Level != NoLevel && now <= e.Level:
		// The level is not what is in the way.
		e.What, e.Level, e.Capabilities = foreign.what, foreign.level, foreign.caps
	}
	e.Have = slices.DeleteFunc(slices.Clone(e.Capabilities), func(c string) bool { return !st.effective.has(c) })
	if e.Level == NoLevel && !have {
		e.Lower = above && !slices.Contains(e.Capabilities, "CAP_SYS_ADMIN")
		e.Unmounted = !st.mounted && slices.ContainsFunc(e.Capabilities, func(c string) bool { return strings.HasPrefix(c, "CAP_DAC_") })
		if st.noNewPrivs {
			e.Environment = "this process runs with no_new_privs, as containers, services and sandboxes may, so that capabilities of a program do not count: record as root, outside of it"
		}
	}
}

// denied is the refusal of e at w.
func denied(err error, e *Event, w Where) *PermissionError {
	p := &PermissionError{Err: err}
	asked := Request{Class: e.Class, UserOnly: e.Attr.Flags&abi.FlagExcludeKernel != 0}
	st := thisState()
	machine := w.PID == AllTasks || w.Cgroup != nil
	needs := []demand{asked.demand(machine, false, st.readable)}
	if w.PID > 0 && w.Cgroup == nil && ForeignTask(w.PID) {
		needs = append(needs, foreign)
	}
	p.set(needs, machine, st)
	return p
}

// ForeignTask reports whether a process or thread is another user's.
func ForeignTask(pid int) bool {
	var st unix.Stat_t
	return unix.Stat(fmt.Sprintf("/proc/%d", pid), &st) == nil && int(st.Uid) != os.Geteuid()
}

// DeniedTracefs makes of the refusal of a file of tracefs, which an event of that
// class takes, a PermissionError; other errors stay as they are.
func DeniedTracefs(err error, c Class) error {
	if !errors.Is(err, os.ErrPermission) {
		return err
	}
	p := &PermissionError{Err: err}
	st := thisState()
	p.set([]demand{Request{Class: c}.demand(false, false, st.readable)}, false, st)
	return p
}

// KernelDenied reports whether this user may sample user code of own tasks, but no
// kernel code.
func KernelDenied() bool {
	e := sidebandEvent(0)
	if c, err := Open(&e, Where{CPU: AnyCPU}); err == nil {
		_ = c.Close() // nothing was written
		return false
	} else if !errors.Is(err, os.ErrPermission) {
		return false
	}
	e.Attr.Flags |= abi.FlagExcludeKernel | abi.FlagExcludeHV
	c, err := Open(&e, Where{CPU: AnyCPU})
	if err != nil {
		return false
	}
	_ = c.Close() // nothing was written
	return true
}

// UserOnly makes e leave the kernel out, and its name say so as perf's does. It
// reports whether that could be done: not of tracepoints, probes and breakpoints
// on the kernel, nor where the kernel alone was asked for.
func (e *Event) UserOnly() bool {
	if e.Attr.Flags&abi.FlagExcludeKernel != 0 {
		return true
	}
	if e.Class != ClassOther || e.Attr.Flags&abi.FlagExcludeUser != 0 {
		return false
	}
	e.Attr.Flags |= abi.FlagExcludeKernel | abi.FlagExcludeHV
	switch {
	case strings.HasSuffix(e.Name, "/"), strings.Contains(e.Name, ":") && e.Attr.Type != abi.TypeBreakpoint:
		e.Name += "u"
	default:
		e.Name += ":u"
	}
	return true
}
