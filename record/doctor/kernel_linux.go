package doctor

import (
	"os"

	"kprof/perfevent"
	"kprof/perfevent/procfs"
)

// kernel tells which kernel options are missing that a recording could use, and
// which parts of perf_event_open(2) this kernel does not have yet.
func kernel(release string) []Finding {
	findings := []Finding{}
	config, from, err := procfs.ReadKernelConfig(os.DirFS("/"), release)
	if err != nil {
		findings = append(findings, Finding{What: "configuration", Detail: err.Error(), Remedy: "what the kernel was built with is not known"})
	} else {
		missing := 0
		for _, o := range wantedOptions {
			if v := config[o.name]; v != "y" && v != "m" {
				missing++
				findings = append(findings, Finding{What: o.name, Detail: "not set", Remedy: "without it there is no " + o.gives})
			}
		}
		if missing == 0 {
			findings = append(findings, Finding{What: "configuration", OK: true, Detail: from + " has all that recordings can use"})
		}
	}
	features, err := perfevent.ProbeFeatures()
	if err != nil {
		return append(findings, Finding{What: "processes", Detail: err.Error()})
	}
	for _, m := range features.Missing {
		findings = append(findings, Finding{What: "processes", Detail: m})
	}
	if len(features.Missing) == 0 {
		findings = append(findings, Finding{What: "processes", OK: true, Detail: "names, maps and build ids of processes, as they change"})
	}
	lost := Finding{What: "lost samples", OK: features.ReadLost, Detail: "counted for each event"}
	if !lost.OK {
		lost.Detail, lost.Remedy = "not counted for each event", "PERF_FORMAT_LOST needs Linux 6.0"
	}
	return append(findings, lost)
}

// wantedOptions are the kernel options that recordings make use of.
var wantedOptions = []struct{ name, gives string }{
	{"CONFIG_PERF_EVENTS", "recording at all"},
	{"CONFIG_KALLSYMS", "name of kernel functions"},
	{"CONFIG_EVENT_TRACING", "tracepoint"},
	{"CONFIG_FTRACE_SYSCALLS", "tracepoint of system calls (syscalls:*)"},
	{"CONFIG_FUNCTION_TRACER", "ftrace:function"},
	{"CONFIG_FUNCTION_GRAPH_TRACER", "function graph"},
	{"CONFIG_KPROBES", "probe on kernel functions"},
	{"CONFIG_KPROBE_EVENTS", "event of kernel probes (kprobe:FUNC)"},
	{"CONFIG_UPROBE_EVENTS", "event of user probes (uprobe:PATH:SYMBOL)"},
	{"CONFIG_HAVE_HW_BREAKPOINT", "breakpoint event (mem:ADDR)"},
	{"CONFIG_CGROUP_PERF", "recording of a cgroup"},
	{"CONFIG_BPF_SYSCALL", "BPF program to be named"},
	{"CONFIG_DEBUG_INFO_BTF", "kernel type information"},
	{"CONFIG_PROC_FS", "/proc to read processes from"},
}
