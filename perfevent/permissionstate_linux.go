package perfevent

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// state is what decides about this process's permissions.
type state struct {
	paranoid   string // kernel.perf_event_paranoid
	effective  Capabilities
	bounds     Capabilities // what any program may get
	noNewPrivs bool
	namespace  bool // a user namespace other than the machine's
	locked     bool // lockdown forbids tracing
	seccomp    bool
	old        bool       // before Linux 5.8, which has CAP_PERFMON
	errno      unix.Errno // of a perf_event_open that no kernel takes: EINVAL
	mounted    bool       // tracefs is, or may be below debugfs
	readable   bool       // tracepoints' numbers are
}

func thisState() *state {
	st := &state{
		paranoid: sysctl("perf_event_paranoid"), noNewPrivs: status("NoNewPrivs") == "1", seccomp: status("Seccomp") == "2",
		effective: statusSet("CapEff"), bounds: statusSet("CapBnd"), mounted: true, readable: tracefsReadable(),
		old: !KnowsCapability(unix.CAP_PERFMON),
	}
	// Flags that no kernel knows are EINVAL, before anything else is looked at
	// (kernel/events/core.c, perf_event_open).
	_, _, st.errno = unix.Syscall6(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, ^uintptr(0), 0)
	if b, err := os.ReadFile("/proc/self/uid_map"); err == nil {
		st.namespace = strings.Join(strings.Fields(string(b)), " ") != "0 0 4294967295"
	}
	if b, err := os.ReadFile("/sys/kernel/security/lockdown"); err == nil {
		st.locked = strings.Contains(string(b), "[confidentiality]")
	}
	if b, err := os.ReadFile("/proc/self/mounts"); err == nil {
		st.mounted = strings.Contains(string(b), " tracefs ") || strings.Contains(string(b), " debugfs ")
	}
	return st
}

// environment says what around the process forbids to record, whatever its user
// does, or "": a seccomp filter, a container that withholds capabilities, a user
// namespace in which root has no rights outside, a kernel that is locked down.
func (st *state) environment(caps []string, level int, traces, machine bool) string {
	docker := "docker run --cap-add"
	if machine {
		docker = "docker run --pid=host --cap-add" // else the kernel does not tell whose samples are
	}
	onHost := "record on the host"
	if level != NoLevel {
		onHost += fmt.Sprintf(", or set kernel.perf_event_paranoid=%d there", level)
	}
	withheld := slices.IndexFunc(caps, func(c string) bool { return !st.bounds.has(c) })
	switch {
	case st.errno == unix.ENOSYS && !st.seccomp:
		return "this kernel is built without perf events (CONFIG_PERF_EVENTS)"
	case st.errno != unix.EINVAL:
		return fmt.Sprintf("a seccomp filter forbids perf_event_open, as container runtimes set one: whoever runs the container must allow it (%s PERFMON --security-opt seccomp=unconfined)", docker)
	case st.locked && traces:
		return "the kernel is locked down (see /sys/kernel/security/lockdown), which forbids kprobes and tracefs: boot with lockdown=none, or without Secure Boot"
	case st.namespace:
		return "in a user namespace, as of a rootless container, capabilities do not count: " + onHost
	case withheld >= 0:
		return fmt.Sprintf("%s is withheld from this container or service, and from all that it starts: whoever runs it must add it (%s %s); or %s",
			caps[withheld], docker, strings.TrimPrefix(caps[withheld], "CAP_"), onHost)
	}
	return ""
}

func tracefsReadable() bool {
	for _, path := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if f, err := os.Open(path + "/events/sched/sched_switch/id"); err == nil {
			f.Close() // read only: nothing to lose
			return true
		}
	}
	return false
}

// capabilityNumbers are those that a recording may take
// (include/uapi/linux/capability.h).
var capabilityNumbers = map[string]int{
	"CAP_PERFMON":         unix.CAP_PERFMON,
	"CAP_SYS_ADMIN":       unix.CAP_SYS_ADMIN,
	"CAP_SYS_PTRACE":      unix.CAP_SYS_PTRACE,
	"CAP_SYSLOG":          unix.CAP_SYSLOG,
	"CAP_DAC_OVERRIDE":    unix.CAP_DAC_OVERRIDE,
	"CAP_DAC_READ_SEARCH": unix.CAP_DAC_READ_SEARCH,
}

func (set Capabilities) has(name string) bool { return set>>capabilityNumbers[name]&1 != 0 }

// statusSet is a set of capabilities of /proc/self/status.
func statusSet(field string) Capabilities {
	set, _ := strconv.ParseUint(status(field), 16, 64) // none, if it cannot be read
	return Capabilities(set)
}

// status is a field of /proc/self/status.
func status(field string) string {
	b, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
