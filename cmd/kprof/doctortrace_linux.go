//go:build !portable

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kprof/perfevent/tracefs"
)

// tracing tells what this kernel's tracer can do, from the tracer itself: its
// configuration may say yes where boot parameters or lockdown say no.
func tracing() []finding {
	fs, err := tracefs.Find(tracefs.Options{})
	if err != nil {
		return nil // told as "tracefs"
	}
	available, err := os.ReadFile(filepath.Join(fs.Path(), "available_tracers"))
	if err != nil {
		return []finding{{what: "tracers", detail: err.Error(), remedy: "needs root"}}
	}
	var all []finding
	for _, t := range []struct{ name, option, gives string }{
		{"function", "CONFIG_FUNCTION_TRACER", "ftrace:function, calls of any function"},
		{"function_graph", "CONFIG_FUNCTION_GRAPH_TRACER", "calls with what they call and how long they take"},
	} {
		f := finding{what: t.name + " tracer", detail: t.gives}
		if f.ok = slices.Contains(strings.Fields(string(available)), t.name); !f.ok {
			f.detail, f.remedy = "not in available_tracers", "needs a kernel with "+t.option
		}
		all = append(all, f)
	}
	for _, e := range []struct{ what, system, option, gives string }{
		{"initcall events", "initcall", "CONFIG_TRACEPOINTS", "how long parts of the kernel take to initialize"},
		{"register access (rwmmio)", "rwmmio", "CONFIG_TRACE_MMIO_ACCESS, on arm64", "reads and writes of device registers"},
		{"contended locks", "lock", "CONFIG_LOCKDEP or Linux 5.19", "lock:contention_begin and lock:contention_end"},
	} {
		f := finding{what: e.what, detail: e.gives}
		if _, err := os.Stat(filepath.Join(fs.Path(), "events", e.system)); err != nil {
			f.detail, f.remedy = "no events "+e.system+":*", "needs a kernel with "+e.option
		} else {
			f.ok = true
		}
		all = append(all, f)
	}
	return append(all, dynamicEvents(fs)...)
}

// dynamicEvents tells what may be written into dynamic_events, from the README
// that the kernel keeps beside it (kernel/trace/trace.c, readme_msg).
func dynamicEvents(fs *tracefs.FS) []finding {
	readme, err := os.ReadFile(filepath.Join(fs.Path(), "README"))
	if err != nil {
		return []finding{{what: "dynamic events", detail: err.Error(), remedy: "needs root"}}
	}
	var all []finding
	for _, p := range []struct{ what, mark, gives, remedy string }{
		{"fprobe", "f[:[<group>/]", "entry and return of functions, arguments on return too", "needs Linux 6.5 and CONFIG_FPROBE_EVENTS"},
		{"probes' BTF arguments", "<argname>", "arguments of functions by name, by the kernel itself", "needs Linux 6.6 and CONFIG_PROBE_EVENTS_BTF_ARGS; kprof reads BTF itself"},
		{"synthetic events", "synthetic_events", "pairs of events", "needs a kernel with CONFIG_SYNTH_EVENTS"},
		{"histograms", "hist:keys", "sums in the kernel", "needs a kernel with CONFIG_HIST_TRIGGERS"},
	} {
		f := finding{what: p.what, ok: strings.Contains(string(readme), p.mark), detail: p.gives, remedy: p.remedy}
		if !f.ok {
			f.detail = fmt.Sprintf("not in %s/README", fs.Path())
		}
		all = append(all, f)
	}
	return all
}
