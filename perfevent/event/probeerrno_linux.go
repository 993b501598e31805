package event

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"kprof/perfevent/lazyregexp"
	"kprof/perfevent/tracefs"
)

// reasonNotProbed says why the kernel refuses a place that is there: the lists
// that it keeps are long, and read only now.
func (r *Resolver) reasonNotProbed(p Probe) string {
	name, off := p.Symbol, p.Off
	if funcs, err := r.kernelFuncs(); name == "" && err == nil {
		f, _ := funcs.at(p.Addr)
		name, off = f.name, p.Addr-f.addr
	}
	traceable := r.traceable()
	switch {
	case name == "":
	case r.blacklisted()[name]:
		return name + " is on the kernel's list of functions that may not be probed (/sys/kernel/debug/kprobes/blacklist)"
	case traceable != nil && !traceable[name]:
		return name + " is notrace: it is not in available_filter_functions of tracefs, and this kernel probes no others; probe a function that it calls, or its caller"
	case runtime.GOARCH == "arm64" && off > 0 && off <= 8:
		return fmt.Sprintf("%s+%#x belongs to ftrace; probe the entry, or an instruction further on", name, off)
	case p.Return:
		return "a return probe stands at a function's entry"
	}
	return "the place may not be probed; /sys/kernel/debug/kprobes/blacklist lists code that may not"
}

// explainProbe adds to a refusal by tracefs what to do instead.
func (r *Resolver) explainProbe(err error, p Probe) error {
	var refused *tracefs.ProbeError
	if !errors.As(err, &refused) {
		return err
	}
	if p.Raw != "" {
		def, perr := tracefs.ParseProbe(p.Raw)
		switch {
		case perr == nil && def.Kind == tracefs.Tracepoint:
			return err // the kernel says what of it is not there
		case perr == nil && def.User && !isOffset(def.Place) && refused.Reason == "":
			return fmt.Errorf("%w (the kernel takes PATH:0xOFFSET here; uprobe:PATH:SYMBOL and uretprobe: find functions by their names)", err)
		case perr == nil && !def.User:
			p = placeOf(def)
		case perr == nil:
			p = Probe{User: true, Return: def.Return, Path: def.Place[:max(strings.LastIndexByte(def.Place, ':'), 0)]}
		}
	}
	// The offset is that of the place: the kernel does not take the function.
	if p.Symbol != "" && !p.User && (errors.Is(err, unix.ENOENT) || isPlaceReason(refused.Reason)) {
		if _, cerr := r.checkKernelProbe(p); cerr != nil {
			return fmt.Errorf("%w: %w", err, cerr)
		}
	}
	advice := ""
	switch reason := refused.Reason; {
	case errors.Is(err, unix.EEXIST):
		advice = "give it another name"
	case errors.Is(err, unix.EILSEQ):
		advice = "the offset is inside an instruction"
	case !p.User && errors.Is(err, unix.EINVAL) && isPlaceReason(reason):
		advice = r.reasonNotProbed(p)
	case emptied().MatchString(refused.Definition):
		advice = "something is empty there, as a shell leaves $arg1 in double quotes: put the event in single quotes"
	case p.User && !p.Return && strings.Contains(refused.Definition, "$arg") && (reason == "" || strings.HasPrefix(reason, "$arg") || strings.Contains(reason, "variable")):
		advice = "$argN is of functions of the kernel; " + userArgumentPlaces(p.Path)
	case p.Symbol == "" && p.Addr != 0 && strings.Contains(refused.Definition, "$arg") && (strings.HasPrefix(reason, "$arg") || strings.Contains(reason, "variable")):
		advice = "at an address there are registers and no $argN: name the function, or a register"
	case p.Return && strings.Contains(refused.Definition, "$arg") && (strings.HasPrefix(reason, "$arg") || strings.Contains(reason, "argument") || strings.Contains(reason, "variable")):
		advice = "a return probe has $retval, $stackN and $comm, and no arguments: probe the entry for these"
	case strings.HasPrefix(reason, "$retval"):
		advice = "$retval is for kretprobe: and r:"
	case reason == "" && errors.Is(err, unix.EINVAL):
		advice = "this kernel does not say why; see Documentation/trace/kprobetrace.rst for what arguments look like"
	}
	if advice == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, advice)
}

// userArgumentPlaces says where functions of a program get their arguments.
func userArgumentPlaces(path string) string {
	machine, err := machineOf(path)
	if places := arguments[machine]; err == nil && places != nil {
		return "those of a program have their arguments in " + strings.Join(places, ", ") + ", …: as in NAME=" + places[0]
	}
	return "those of a program have their arguments in registers, or on the stack"
}

// isOffset tells whether the kernel takes what follows the path of a place for an offset: it looks
// at the first character (kernel/trace/trace_uprobe.c, __trace_uprobe_create), and says nothing else.
func isOffset(place string) bool {
	after := place[strings.LastIndexByte(place, ':')+1:]
	return after != "" && after[0] >= '0' && after[0] <= '9'
}

// emptied is a fetch argument of which a shell has taken $arg1, $retval and the like out.
var emptied = lazyregexp.New(`\(\)|=(:|\s|$)`)

// isPlaceReason tells what the kernel says of places from what it says of
// arguments (kernel/trace/trace_probe.h, ERRORS). Kernels before 5.2 say nothing.
func isPlaceReason(reason string) bool {
	for _, about := range []string{"Invalid probed address", "not unique", "Failed to register", "must be an function entry", "must be a function entry", "instruction boundary"} {
		if strings.Contains(reason, about) {
			return true
		}
	}
	return false
}

// placeOf is the place of a kernel probe's definition.
func placeOf(def tracefs.Probe) Probe {
	p := Probe{Return: def.Return}
	place := strings.TrimSuffix(def.Place, "%return")
	if module, after, ok := strings.Cut(place, ":"); ok {
		p.Module, place = module, after
	}
	if p.parsePlace(place) != nil {
		return Probe{Return: def.Return}
	}
	return p
}
