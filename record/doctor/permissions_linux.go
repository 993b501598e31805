package doctor

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"kprof/perfevent"
	"kprof/perfevent/event"

	"golang.org/x/sys/unix"
)

// kernelSetting reads /proc/sys/kernel/NAME.
func kernelSetting(name string) (int, error) {
	b, err := os.ReadFile("/proc/sys/kernel/" + name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

// capabilities are those of the process that are in effect, as bits.
func capabilities() uint64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "CapEff:"); ok {
			set, _ := strconv.ParseUint(strings.TrimSpace(v), 16, 64)
			return set
		}
	}
	return 0
}

func permissions() []Finding {
	set := capabilities()
	has := func(c int) bool { return set>>c&1 != 0 }
	paranoid := Finding{What: "perf_event_paranoid"}
	level, err := kernelSetting("perf_event_paranoid")
	switch {
	case err != nil:
		paranoid.Detail = err.Error()
		paranoid.Remedy = "this kernel is built without perf events (CONFIG_PERF_EVENTS)"
	case has(unix.CAP_SYS_ADMIN):
		paranoid.OK = true
		paranoid.Detail = fmt.Sprintf("%d, which CAP_SYS_ADMIN overrides", level)
	case has(unix.CAP_PERFMON) && (level <= perfevent.MostLevel || new(event.Resolver).Try("cpu-clock", perfevent.Where{CPU: perfevent.AnyCPU}, 0) == nil):
		paranoid.OK = true
		paranoid.Detail = fmt.Sprintf("%d, which CAP_PERFMON overrides", level)
	case has(unix.CAP_PERFMON):
		paranoid.Detail = fmt.Sprintf("%d, which CAP_PERFMON does not override on this kernel", level)
		paranoid.Remedy = fmt.Sprintf("as root: sysctl kernel.perf_event_paranoid=%d", perfevent.MostLevel)
	default:
		paranoid.OK = level < 0
		paranoid.Detail = fmt.Sprintf("%d: %s", level, paranoidMeaning(level))
		paranoid.Remedy = "for more, as root: sysctl kernel.perf_event_paranoid=-1; or for this program alone: " + setcapCommand([]string{"CAP_PERFMON"}, level > perfevent.MostLevel)
	}
	findings := []Finding{paranoid}
	for _, c := range []struct {
		number      int
		name, gives string
	}{
		{unix.CAP_PERFMON, "CAP_PERFMON", "record anything but probes in programs, of anybody"},
		{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "probes in programs, mount tracefs, and all that CAP_PERFMON gives"},
		{unix.CAP_BPF, "CAP_BPF", "ask for BPF programs; their names are in /proc/kallsyms without it"},
		{unix.CAP_SYSLOG, "CAP_SYSLOG", "see kernel addresses where kptr_restrict is 1"},
		{unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "read the maps and files of other users' processes"},
		{unix.CAP_IPC_LOCK, "CAP_IPC_LOCK", "rings of any size"},
	} {
		findings = append(findings, Finding{What: c.name, OK: has(c.number), Detail: c.gives, Remedy: "root has it"})
	}
	return findings
}

// paranoidMeaning is what an unprivileged user may do
// (Documentation/admin-guide/sysctl/kernel.rst, perf_event_paranoid; above 2 is
// a patch of Debian, Ubuntu and Android).
func paranoidMeaning(level int) string {
	switch {
	case level < 0:
		return "everything but probes"
	case level == 0:
		return "all but tracepoints and probes"
	case level == 1:
		return "one's own processes, kernel included"
	case level == 2:
		return "one's own processes, user code only"
	}
	return "nothing is permitted"
}
