//go:build !portable

package main

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
	{"CONFIG_CGROUP_PERF", "recording of a cgroup (--cgroup)"},
	{"CONFIG_BPF_SYSCALL", "BPF program to be named"},
	{"CONFIG_DEBUG_INFO_BTF", "kernel type information"},
	{"CONFIG_PROC_FS", "/proc to read processes from"},
}
