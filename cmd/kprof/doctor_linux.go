//go:build !portable

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/procfs"
	"kprof/perfevent/tracefs"
	"kprof/symbolize/kallsyms"
)

func newDoctor() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what this kernel and this user may record",
		Long: `Doctor tries what a recording may need and says for each whether it is there
(OK) or not (no), and how to get it. With record and its flags behind it, it says
whether just that can be recorded.`,
		Example: `  kprof doctor
  kprof doctor | grep ' no ' || true    # only what is missing
  kprof doctor record -a`,
		Args: maxArgs(0),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return writeFindingsJSON(os.Stdout, examine())
			}
			return writeFindings(textOutput(os.Stdout), examine())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON: a list of group, what, ok, detail and remedy")
	c.AddCommand(newDoctorRecord())
	return c
}

func writeFindingsJSON(w io.Writer, findings []finding) error {
	type row struct {
		Group  string `json:"group"`
		What   string `json:"what"`
		OK     bool   `json:"ok"`
		Detail string `json:"detail"`
		Remedy string `json:"remedy,omitempty"`
	}
	rows := make([]row, len(findings))
	for i, f := range findings {
		rows[i] = row{f.group, f.what, f.ok, f.detail, f.remedy}
		if f.ok {
			rows[i].Remedy = ""
		}
	}
	return writeJSON(w, rows)
}

// finding is the answer to one question.
type finding struct {
	group  string
	what   string
	ok     bool
	detail string // what is so
	remedy string // how to get the rest; only where ok is false
}

func writeFindings(w io.Writer, findings []finding) error {
	bw := bufio.NewWriter(w)
	group := ""
	for _, f := range findings {
		if f.group != group {
			group = f.group
			fmt.Fprintf(bw, "%s\n", group)
		}
		mark := "OK"
		if !f.ok {
			mark = "no"
		}
		fmt.Fprintf(bw, "  %s  %-26s  %s", mark, f.what, f.detail)
		if !f.ok && f.remedy != "" {
			fmt.Fprintf(bw, "; %s", f.remedy)
		}
		fmt.Fprintln(bw)
	}
	return bw.Flush()
}

// examine answers all questions.
func examine() []finding {
	var uts unix.Utsname
	_ = unix.Uname(&uts)
	release := unix.ByteSliceToString(uts.Release[:])
	var all []finding
	add := func(group string, fs ...finding) {
		for _, f := range fs {
			f.group = group
			all = append(all, f)
		}
	}
	add(fmt.Sprintf("permissions of uid %d", os.Geteuid()), permissions()...)
	add("events", events()...)
	add("tracing", tracing()...)
	add("names", names()...)
	add("limits", limits()...)
	add(fmt.Sprintf("kernel %s %s", release, unix.ByteSliceToString(uts.Machine[:])), kernel(release)...)
	return all
}

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

func permissions() []finding {
	set := capabilities()
	has := func(c int) bool { return set>>c&1 != 0 }
	paranoid := finding{what: "perf_event_paranoid"}
	level, err := kernelSetting("perf_event_paranoid")
	switch {
	case err != nil:
		paranoid.detail = err.Error()
		paranoid.remedy = "this kernel is built without perf events (CONFIG_PERF_EVENTS)"
	case has(unix.CAP_SYS_ADMIN):
		paranoid.ok = true
		paranoid.detail = fmt.Sprintf("%d, which CAP_SYS_ADMIN overrides", level)
	case has(unix.CAP_PERFMON) && (level <= perfevent.MostLevel || new(event.Resolver).Try("cpu-clock", perfevent.Where{CPU: perfevent.AnyCPU}, 0) == nil):
		paranoid.ok = true
		paranoid.detail = fmt.Sprintf("%d, which CAP_PERFMON overrides", level)
	case has(unix.CAP_PERFMON):
		paranoid.detail = fmt.Sprintf("%d, which CAP_PERFMON does not override on this kernel", level)
		paranoid.remedy = fmt.Sprintf("as root: sysctl kernel.perf_event_paranoid=%d", perfevent.MostLevel)
	default:
		paranoid.ok = level < 0
		paranoid.detail = fmt.Sprintf("%d: %s", level, paranoidMeaning(level))
		paranoid.remedy = "for more, as root: sysctl kernel.perf_event_paranoid=-1; or for kprof alone: " + setcapCommand([]string{"CAP_PERFMON"}, level > perfevent.MostLevel)
	}
	findings := []finding{paranoid}
	for _, c := range []struct {
		number      int
		name, gives string
	}{
		{unix.CAP_PERFMON, "CAP_PERFMON", "record anything but probes in programs, of anybody"},
		{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "probes in programs, mount tracefs, and all that CAP_PERFMON gives"},
		{unix.CAP_BPF, "CAP_BPF", "ask for BPF programs; kprof only needs /proc/kallsyms for their names"},
		{unix.CAP_SYSLOG, "CAP_SYSLOG", "see kernel addresses where kptr_restrict is 1"},
		{unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "read the maps and files of other users' processes"},
		{unix.CAP_IPC_LOCK, "CAP_IPC_LOCK", "rings of any size"},
	} {
		findings = append(findings, finding{what: c.name, ok: has(c.number), detail: c.gives, remedy: "root has it"})
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

func events() []finding {
	self := perfevent.Where{CPU: perfevent.AnyCPU}
	machine := perfevent.Where{PID: perfevent.AllTasks}
	try := func(what, detail, name string, w perfevent.Where, flags abi.Flags) finding {
		f := finding{what: what, detail: detail, ok: true}
		if err := new(event.Resolver).Try(name, w, flags); err != nil {
			f.ok, f.detail = false, err.Error()
			f.remedy = strings.TrimPrefix(permissionRemedy(err), "; ")
		}
		return f
	}
	tracepoints := try("tracepoints", "sched:sched_switch opens for all tasks", "sched:sched_switch", machine, 0)
	findings := []finding{
		try("hardware PMU", "cycles counts", "cycles", self, event.UserOnly),
		try("own user code", "cpu-clock:u opens", "cpu-clock", self, event.UserOnly),
		try("own kernel code", "cpu-clock opens", "cpu-clock", self, 0),
		try("the whole machine", "cpu-clock opens for all tasks", "cpu-clock", machine, 0),
	}
	fs, err := tracefs.Find(tracefs.Options{})
	if err != nil {
		f := finding{what: "tracefs", detail: err.Error(), remedy: "as root: mount -t tracefs tracefs /sys/kernel/tracing"}
		if errors.Is(err, os.ErrPermission) {
			f.remedy = tracepoints.remedy
		}
		findings = append(findings, f)
	} else {
		findings = append(findings, finding{what: "tracefs", ok: true, detail: "readable in " + fs.Path()})
	}
	findings = append(findings, tracepoints)
	var res event.Resolver
	for _, p := range []struct{ pmu, remedy string }{
		{"kprobe", "needs a kernel with CONFIG_KPROBE_EVENTS"},
		{"uprobe", "needs a kernel with CONFIG_UPROBE_EVENTS"},
	} {
		f := finding{what: p.pmu + " PMU", remedy: p.remedy}
		if n, err := res.PMUType(p.pmu); err != nil {
			f.detail = "this kernel has none"
		} else {
			f.ok, f.detail = true, fmt.Sprintf("PMU number %d", n)
		}
		findings = append(findings, f)
		if f.ok {
			findings = append(findings, probeOverhead(p.pmu))
		}
	}
	return append(findings, try("breakpoints", event.SomeBreakpoint+" opens", event.SomeBreakpoint, self, event.UserOnly))
}

// probeOverhead says by how much a probe slows down what it is on.
func probeOverhead(pmu string) finding {
	f := finding{what: pmu + " hit"}
	o, err := event.ProbeOverheads(pmu == "uprobe")
	if err != nil {
		f.detail = err.Error()
		return f
	}
	f.ok, f.detail = true, fmt.Sprintf("costs %s through the PMU, and %s for each further CPU", costText(o.PMU), costText(o.FurtherCPU))
	if o.NoTracefs != nil {
		f.detail += fmt.Sprintf("; through tracefs: %v", o.NoTracefs)
	} else {
		f.detail += fmt.Sprintf("; %s through tracefs", costText(o.Tracefs))
	}
	return f
}

func costText(d time.Duration) string { return d.Round(10 * time.Nanosecond).String() }

func names() []finding {
	kptr := finding{what: "kptr_restrict", remedy: "sysctl kernel.kptr_restrict=0, or run as root"}
	if level, err := kernelSetting("kptr_restrict"); err != nil {
		kptr.detail = err.Error()
	} else {
		kptr.ok = level == 0
		kptr.detail = fmt.Sprintf("%d", level)
		if level == 1 && capabilities()>>unix.CAP_SYSLOG&1 != 0 {
			kptr.ok = true
			kptr.detail += ", which CAP_SYSLOG overrides"
		}
	}
	return []finding{kptr, kernelSymbols(), readable("kernel build id", "/sys/kernel/notes", "kernels cannot be told apart"),
		readable("kernel types (BTF)", "/sys/kernel/btf/vmlinux", "needs a kernel with CONFIG_DEBUG_INFO_BTF")}
}

func kernelSymbols() finding {
	f := finding{what: "kernel symbols"}
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		f.detail, f.remedy = err.Error(), "needs a kernel with CONFIG_KALLSYMS"
		return f
	}
	defer file.Close()
	switch _, err := kallsyms.Parse(file); {
	case err == nil:
		f.ok, f.detail = true, "/proc/kallsyms has addresses"
	case errors.Is(err, kallsyms.ErrRestricted):
		f.detail, f.remedy = kernelHidden, kernelHiddenRemedy
	default:
		f.detail = err.Error()
	}
	return f
}

func readable(what, path, remedy string) finding {
	f, err := os.Open(path)
	if err != nil {
		return finding{what: what, detail: err.Error(), remedy: remedy}
	}
	f.Close()
	return finding{what: what, ok: true, detail: path}
}

// Limits below these are worth a word.
const (
	wantRingKB = 2048 // a ring of the default size
	wantHz     = 4000 // the default frequency
	wantFrames = 127
	wantFiles  = 4096
)

func limits() []finding {
	setting := func(name, unit string, want int, remedy string) finding {
		f := finding{what: name, remedy: remedy}
		n, err := kernelSetting(name)
		if err != nil {
			f.detail = err.Error()
			return f
		}
		f.ok, f.detail = n >= want, fmt.Sprintf("%d%s", n, unit)
		return f
	}
	var files unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	return []finding{
		lockedMemory(),
		setting("perf_event_max_sample_rate", " Hz", wantHz,
			fmt.Sprintf("the kernel lowers it when samples take long; sysctl kernel.perf_event_max_sample_rate=%d", 100000)),
		setting("perf_event_max_stack", " frames", wantFrames,
			fmt.Sprintf("deeper stacks are cut; sysctl kernel.perf_event_max_stack=%d", wantFrames)),
		{
			what: "open files", ok: files.Max >= wantFiles, detail: fmt.Sprintf("%d, at most %d", files.Cur, files.Max),
			remedy: "each event takes one for each CPU and task; raise it with ulimit -Hn",
		},
	}
}

// lockedMemory: what a user may lock in rings beyond perf_event_mlock_kb counts
// against RLIMIT_MEMLOCK (kernel/events/core.c, perf_mmap).
func lockedMemory() finding {
	f := finding{what: "perf_event_mlock_kb", remedy: "rings will be smaller and lose more; sysctl kernel.perf_event_mlock_kb, ulimit -l, or CAP_IPC_LOCK"}
	perCPU, err := kernelSetting("perf_event_mlock_kb")
	if err != nil {
		f.detail = err.Error()
		return f
	}
	var lim unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim)
	locked := fmt.Sprintf("%d kB", lim.Cur>>10)
	if lim.Cur == unix.RLIM_INFINITY {
		locked = "unlimited"
	}
	f.detail = fmt.Sprintf("%d kB for each CPU, then ulimit -l: %s", perCPU, locked)
	switch {
	case capabilities()>>unix.CAP_IPC_LOCK&1 != 0:
		f.ok = true
		f.detail += ", which CAP_IPC_LOCK overrides"
	case lim.Cur == unix.RLIM_INFINITY:
		f.ok = true
	default:
		f.ok = perCPU+int(lim.Cur>>10)/runtime.NumCPU() >= wantRingKB
	}
	return f
}

// kernel tells which kernel options are missing that a recording could use, and
// which parts of perf_event_open(2) this kernel does not have yet.
func kernel(release string) []finding {
	findings := []finding{}
	config, from, err := procfs.ReadKernelConfig(os.DirFS("/"), release)
	if err != nil {
		findings = append(findings, finding{what: "configuration", detail: err.Error(), remedy: "what the kernel was built with is not known"})
	} else {
		missing := 0
		for _, o := range wantedOptions {
			if v := config[o.name]; v != "y" && v != "m" {
				missing++
				findings = append(findings, finding{what: o.name, detail: "not set", remedy: "without it there is no " + o.gives})
			}
		}
		if missing == 0 {
			findings = append(findings, finding{what: "configuration", ok: true, detail: from + " has all that kprof can use"})
		}
	}
	features, err := perfevent.ProbeFeatures()
	if err != nil {
		return append(findings, finding{what: "processes", detail: err.Error()})
	}
	for _, m := range features.Missing {
		findings = append(findings, finding{what: "processes", detail: m})
	}
	if len(features.Missing) == 0 {
		findings = append(findings, finding{what: "processes", ok: true, detail: "names, maps and build ids of processes, as they change"})
	}
	lost := finding{what: "lost samples", ok: features.ReadLost, detail: "counted for each event"}
	if !lost.ok {
		lost.detail, lost.remedy = "not counted for each event", "PERF_FORMAT_LOST needs Linux 6.0"
	}
	return append(findings, lost)
}
