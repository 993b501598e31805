package doctor

import (
	"errors"
	"fmt"
	"os"
	"time"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/tracefs"
	"kprof/record"
)

func events() []Finding {
	self := perfevent.Where{CPU: perfevent.AnyCPU}
	machine := perfevent.Where{PID: perfevent.AllTasks}
	try := func(what, detail, name string, w perfevent.Where, flags abi.Flags) Finding {
		f := Finding{What: what, Detail: detail, OK: true}
		if err := new(event.Resolver).Try(name, w, flags); err != nil {
			f.OK, f.Detail = false, err.Error()
			f.Remedy = Remedy(err)
		}
		return f
	}
	tracepoints := try("tracepoints", "sched:sched_switch opens for all tasks", "sched:sched_switch", machine, 0)
	findings := []Finding{
		try("hardware PMU", "cycles counts", "cycles", self, event.UserOnly),
		try("own user code", "cpu-clock:u opens", "cpu-clock", self, event.UserOnly),
		try("own kernel code", "cpu-clock opens", "cpu-clock", self, 0),
		try("the whole machine", "cpu-clock opens for all tasks", "cpu-clock", machine, 0),
	}
	fs, err := tracefs.Find(tracefs.Options{})
	if err != nil {
		f := Finding{What: "tracefs", Detail: err.Error(), Remedy: "as root: mount -t tracefs tracefs /sys/kernel/tracing"}
		if errors.Is(err, os.ErrPermission) {
			f.Remedy = tracepoints.Remedy
		}
		findings = append(findings, f)
	} else {
		findings = append(findings, Finding{What: "tracefs", OK: true, Detail: "readable in " + fs.Path()})
	}
	findings = append(findings, tracepoints)
	if tracepoints.OK {
		findings = append(findings, wakeups())
	}
	var res event.Resolver
	for _, p := range []struct{ pmu, remedy string }{
		{"kprobe", "needs a kernel with CONFIG_KPROBE_EVENTS"},
		{"uprobe", "needs a kernel with CONFIG_UPROBE_EVENTS"},
	} {
		f := Finding{What: p.pmu + " PMU", Remedy: p.remedy}
		if n, err := res.PMUType(p.pmu); err != nil {
			f.Detail = "this kernel has none"
		} else {
			f.OK, f.Detail = true, fmt.Sprintf("PMU number %d", n)
		}
		findings = append(findings, f)
		if f.OK {
			findings = append(findings, probeOverhead(p.pmu))
		}
	}
	breakpoints := try("breakpoints", event.SomeBreakpoint+" opens, and hits are counted", event.SomeBreakpoint, self, event.UserOnly)
	if n, err := event.BreakpointHits(1); breakpoints.OK && err == nil && n == 0 {
		breakpoints.OK, breakpoints.Detail = false, event.SomeBreakpoint+" opens, but this processor never stops at one, as those of some virtual machines"
	}
	return append(findings, breakpoints)
}

// wakeups says whether recordings of tasks have who woke these.
func wakeups() Finding {
	f := Finding{What: "wake-ups of tasks", Detail: "sched:sched_waking is sampled for the task that is woken"}
	sampled, err := record.SamplesWakeups()
	switch {
	case err != nil:
		f.Detail = err.Error()
	case sampled:
		f.OK = true
	default:
		f.Detail = "this kernel counts sched:sched_waking and its like for the task that is woken, and samples none"
		f.Remedy = "each hit is recorded on all CPUs instead; with a period or a frequency, record all CPUs"
	}
	return f
}

// probeOverhead says by how much a probe slows down what it is on.
func probeOverhead(pmu string) Finding {
	f := Finding{What: pmu + " hit"}
	o, err := event.ProbeOverheads(pmu == "uprobe")
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	f.OK, f.Detail = true, fmt.Sprintf("costs %s through the PMU, and %s for each further CPU", costText(o.PMU), costText(o.FurtherCPU))
	if o.NoTracefs != nil {
		f.Detail += fmt.Sprintf("; through tracefs: %v", o.NoTracefs)
	} else {
		f.Detail += fmt.Sprintf("; %s through tracefs", costText(o.Tracefs))
	}
	return f
}

func costText(d time.Duration) string { return d.Round(10 * time.Nanosecond).String() }
