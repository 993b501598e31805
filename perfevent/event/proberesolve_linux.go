package event

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kprof/perfevent"
	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/tracefs"
)

// probe resolves a probe: a glob into one for each function, fetch arguments
// and the kernel's own definitions into tracepoints.
func (r *Resolver) probe(ev Event) ([]Event, error) {
	specs, err := r.expand(ev.Source)
	if err != nil {
		return nil, fmt.Errorf("event %q: %w", ev.Source.asked(), err)
	}
	events := make([]Event, len(specs))
	for i, s := range specs {
		one := ev
		one.Name, one.Source, one.Return = s.Text, s, s.Probe.Return
		one.Attr.SamplePeriod = 1
		if events[i], err = r.oneProbe(one); err != nil {
			return nil, fmt.Errorf("event %q: %w", s.asked(), err)
		}
	}
	switch n, p := len(specs), ev.Source.Probe; {
	case n > 1 && p.Provider != "" && !p.isGlobbed():
		events[0].Notes = append(events[0].Notes, fmt.Sprintf("%d places in %s are %s", n, p.Path, p.asked()))
	case n > 1:
		events[0].Notes = append(events[0].Notes, fmt.Sprintf("%d %s match %s", n, p.these(), p.asked()))
	}
	return events, nil
}

func (r *Resolver) oneProbe(ev Event) (Event, error) {
	p := ev.Source.Probe
	tracefsOnly := p.Raw != "" || p.Args != ""
	if tracefsOnly && r.ProbeVia == ProbePMU {
		return ev, errkind.Errorf(perfevent.ErrNotSupported, "fetch arguments and definitions of the kernel's need tracefs")
	}
	if err := r.probePMU(&ev); err != nil {
		return ev, err
	}
	switch {
	case p.User && p.Raw == "" && p.Symbol != "" && p.Provider == "":
		ev.Notes = otherVersions(p)
	case !p.User && p.Raw == "":
		var err error
		if ev.Notes, err = r.checkKernelProbe(p); err != nil {
			return ev, err
		}
	}
	ev.AtEntry = r.atEntry(p)
	if tracefsOnly || r.ProbeVia == ProbeTracefs {
		return r.tracefsProbe(ev)
	}
	if err := r.pmuProbe(&ev); err != nil || ev.Target == "" || !r.Inherit {
		return ev, err
	}
	if r.ProbeVia == ProbeAuto {
		made, err := r.tracefsProbe(ev)
		if err == nil || !errors.Is(err, os.ErrPermission) && !errors.Is(err, os.ErrNotExist) {
			return made, err
		}
	}
	// The kernel reads what config1 points to once more whenever a task passes
	// the event on, and in the memory of that task: fork fails there.
	ev.NotInherited = true
	ev.Notes = append(ev.Notes, "what a recorded task starts is not recorded: a probe of the "+probePMUName(p)+" PMU is not passed on")
	return ev, nil
}

// atEntry reports whether p stands at the first instruction of a function.
func (r *Resolver) atEntry(p Probe) bool {
	if p.Raw != "" {
		def, err := tracefs.ParseProbe(p.Raw)
		if err != nil || def.User || def.Kind != tracefs.Breakpoint {
			return false // the registers of ftrace may lack that of the caller
		}
		p = placeOf(def)
	}
	if p.Symbol != "" || p.User || p.Return {
		return p.Symbol != "" && p.Provider == "" && p.Off == 0 && !p.Return
	}
	funcs, err := r.kernelFuncs()
	if err != nil {
		return false
	}
	f, ok := funcs.at(p.Addr)
	return ok && f.addr == p.Addr
}

// probePMU finds the number of the PMU for ev's probe. A kernel that has none
// has no such probes in tracefs either, but for those by way of ftrace, which it
// says itself.
func (r *Resolver) probePMU(ev *Event) (err error) {
	if def, err := tracefs.ParseProbe(ev.Source.Probe.Raw); err == nil && def.Kind != tracefs.Breakpoint {
		return r.takesProbe(def)
	}
	pmu, what := probePMUName(ev.Source.Probe), "CONFIG_KPROBE_EVENTS"
	if pmu == "uprobe" {
		what = "CONFIG_UPROBE_EVENTS"
	}
	if ev.Attr.Type, err = r.PMUType(pmu); errors.Is(err, os.ErrNotExist) {
		return errkind.Errorf(perfevent.ErrNotSupported, "this kernel has no %s PMU (%s)", pmu, what)
	}
	return err
}

// takesProbe refuses the kinds of probes that this kernel does not have, of which it
// says no more than that the argument is invalid.
func (r *Resolver) takesProbe(def tracefs.Probe) error {
	fs, err := r.Tracefs()
	if err != nil {
		return perfevent.DeniedTracefs(err, perfevent.ClassTracefsProbe)
	}
	if !fs.TakesProbes(def.Kind) {
		return errkind.Errorf(perfevent.ErrNotSupported, "this kernel has no probes by way of ftrace (f and t: Linux 6.5 with CONFIG_FPROBE_EVENTS); write p or r for a kprobe")
	}
	return nil
}

func probePMUName(p Probe) string {
	if p.isUser() {
		return "uprobe"
	}
	return "kprobe"
}

// pmuProbe fills in the rest of the attribute of a probe for the kprobe and
// uprobe PMUs (kernel/events/core.c, perf_kprobe_event_init and its uprobe
// twin): config1 points to the function or path, config2 is the offset, or the
// address when there is no function; one bit of config asks for the return.
func (r *Resolver) pmuProbe(ev *Event) (err error) {
	p := ev.Source.Probe
	pmu := probePMUName(p)
	if p.Return {
		b, err := os.ReadFile(r.pmuPath(pmu, "format", "retprobe"))
		if err != nil {
			return fmt.Errorf("PMU %s has no return probes: %w", pmu, err)
		}
		if err := setField(&ev.Attr, strings.TrimSpace(string(b)), 1); err != nil {
			return fmt.Errorf("PMU %s: %w", pmu, err)
		}
	}
	if !p.User {
		ev.Target, ev.Attr.Config2 = p.Symbol, p.Addr+p.Off
		if p.Module != "" {
			ev.Target = p.Module + ":" + p.Symbol
		}
		// An address needs no pointer.
		if funcs, err := r.kernelFuncs(); r.Inherit && p.Symbol != "" && err == nil {
			if found := funcs.named(p.Symbol, p.Module); len(found) == 1 && found[0].addr != 0 {
				ev.Target, ev.Attr.Config2 = "", found[0].addr+p.Off
			}
		}
		return nil
	}
	// The path is looked up by the kernel relative to our own root and
	// directory; what is stored in a file later should not depend on that.
	if ev.Target, err = filepath.Abs(p.Path); err != nil {
		return err
	}
	if ev.Attr.Config2, err = probeOffset(ev.Target, p); err != nil || p.Counter == 0 {
		return err
	}
	b, err := os.ReadFile(r.pmuPath(pmu, "format", "ref_ctr_offset"))
	if err != nil {
		return fmt.Errorf("PMU %s has no semaphores (Linux 4.20 has): %w", pmu, err)
	}
	return setField(&ev.Attr, strings.TrimSpace(string(b)), p.Counter)
}

// openRegular opens path for reading if it is a regular file; a FIFO must not
// make us wait.
func openRegular(path string) (*os.File, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return os.Open(path)
}

// openProgram opens the ELF file at path, if it is a regular file. Whoever uses e closes f
// thereafter.
func openProgram(path string) (f *os.File, e *elf.File, err error) {
	if f, err = openRegular(path); err != nil {
		return nil, nil, err
	}
	if e, err = elf.NewFile(f); err != nil {
		f.Close() // read only: nothing to lose
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, e, nil
}
