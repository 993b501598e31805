package doctor

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
func tracing() []Finding {
	fs, err := tracefs.Find(tracefs.Options{})
	if err != nil {
		return nil // told as "tracefs"
	}
	available, err := os.ReadFile(filepath.Join(fs.Path(), "available_tracers"))
	if err != nil {
		return []Finding{{What: "tracers", Detail: err.Error(), Remedy: "needs root"}}
	}
	var all []Finding
	for _, t := range []struct{ name, option, gives string }{
		{"function", "CONFIG_FUNCTION_TRACER", "ftrace:function, calls of any function"},
		{"function_graph", "CONFIG_FUNCTION_GRAPH_TRACER", "calls with what they call and how long they take"},
	} {
		f := Finding{What: t.name + " tracer", Detail: t.gives}
		if f.OK = slices.Contains(strings.Fields(string(available)), t.name); !f.OK {
			f.Detail, f.Remedy = "not in available_tracers", "needs a kernel with "+t.option
		}
		all = append(all, f)
	}
	for _, e := range []struct{ what, system, option, gives string }{
		{"initcall events", "initcall", "CONFIG_TRACEPOINTS", "how long parts of the kernel take to initialize"},
		{"register access (rwmmio)", "rwmmio", "CONFIG_TRACE_MMIO_ACCESS, on arm64", "reads and writes of device registers"},
		{"contended locks", "lock", "CONFIG_LOCKDEP or Linux 5.19", "lock:contention_begin and lock:contention_end"},
	} {
		f := Finding{What: e.what, Detail: e.gives}
		if _, err := os.Stat(filepath.Join(fs.Path(), "events", e.system)); err != nil {
			f.Detail, f.Remedy = "no events "+e.system+":*", "needs a kernel with "+e.option
		} else {
			f.OK = true
		}
		all = append(all, f)
	}
	return append(all, dynamicEvents(fs)...)
}

// dynamicEvents tells what may be written into dynamic_events, from the README
// that the kernel keeps beside it (kernel/trace/trace.c, readme_msg).
func dynamicEvents(fs *tracefs.FS) []Finding {
	readme, err := os.ReadFile(filepath.Join(fs.Path(), "README"))
	if err != nil {
		return []Finding{{What: "dynamic events", Detail: err.Error(), Remedy: "needs root"}}
	}
	var all []Finding
	for _, p := range []struct{ what, mark, gives, remedy string }{
		{"fprobe", "f[:[<group>/]", "entry and return of functions, arguments on return too", "needs Linux 6.5 and CONFIG_FPROBE_EVENTS"},
		{"probes' BTF arguments", "<argname>", "arguments of functions by name, by the kernel itself", "needs Linux 6.6 and CONFIG_PROBE_EVENTS_BTF_ARGS; kprobe: with names of arguments works without it"},
		{"synthetic events", "synthetic_events", "pairs of events", "needs a kernel with CONFIG_SYNTH_EVENTS"},
		{"histograms", "hist:keys", "sums in the kernel", "needs a kernel with CONFIG_HIST_TRIGGERS"},
	} {
		f := Finding{What: p.what, OK: strings.Contains(string(readme), p.mark), Detail: p.gives, Remedy: p.remedy}
		if !f.OK {
			f.Detail = fmt.Sprintf("not in %s/README", fs.Path())
		}
		all = append(all, f)
	}
	return all
}
