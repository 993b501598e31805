package event

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"kprof/perfevent"
	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/spanrule"
	"kprof/perfevent/syscalls"
)

// SpanSpecs are the events of a rule of spans on this machine: those of the first family
// that it has.
func (r *Resolver) SpanSpecs(rule *spanrule.Rule) ([]Spec, error) {
	filter, err := rule.Filter(syscalls.Of(runtime.GOARCH))
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, f := range rule.Families {
		var specs []Spec
		places := map[place]bool{}
		lacks := ""
		for i, sides := range [][]spanrule.Side{f.Starts, f.Ends} {
			n := 0
			for _, side := range sides {
				s, err := ParseSpec(side.Spec)
				if err != nil {
					return nil, err
				}
				if s.Kind == KindProbe && s.Probe.User && side.Memory != spanrule.NotMemory {
					s.Probe.Args = userArguments(s.Probe.Args, runtime.GOARCH)
					off, err := probeOffset(s.Probe.Path, s.Probe)
					at := place{off, s.Probe.Return}
					switch {
					case side.Optional && (errors.Is(err, os.ErrNotExist) || err == nil && places[at]):
						continue // or another name of the same function
					case err != nil:
						return nil, fmt.Errorf("%s: %w", rule.Text, err)
					}
					places[at] = true
				}
				switch has, err := r.hasTracepoint(&s); {
				case err != nil:
					return nil, fmt.Errorf("event %q: %w", side.Spec, perfevent.DeniedTracefs(err, s.Class()))
				case !has && side.Optional:
					continue
				case !has:
					lacks = side.Event
					continue
				}
				n++
				s.Filter = filter
				if i == 1 && s.Kind == KindProbe && !s.Probe.User {
					s.Probe.MaxActive = rule.MaxActive()
				}
				specs = append(specs, s)
			}
			if n == 0 && lacks == "" {
				lacks = sides[0].Event
			}
		}
		if lacks == "" {
			return specs, nil
		}
		if !slices.Contains(missing, lacks) {
			missing = append(missing, lacks)
		}
	}
	return nil, errkind.Errorf(os.ErrNotExist, "%s: this kernel has no event %s", rule.Text, strings.Join(missing, ", nor "))
}

// place is where a probe of a program is.
type place struct {
	off  uint64
	exit bool
}

// registers are those in which functions get their arguments, by architecture: the System V
// ABI for AMD64, the procedure call standards for AArch64 and Arm, the RISC-V ELF psABI.
var registers = map[string][]string{
	"amd64":   {"%di", "%si", "%dx"},
	"arm64":   {"%x0", "%x1", "%x2"},
	"arm":     {"%r0", "%r1", "%r2"},
	"riscv64": {"%a0", "%a1", "%a2"},
	"386":     {"$stack1", "$stack2", "$stack3"},
}

// userArguments puts registers in the place of $arg1, $arg2 and $arg3, which the kernel does
// not know in programs.
func userArguments(args, arch string) string {
	for i, reg := range registers[arch] {
		args = strings.ReplaceAll(args, fmt.Sprintf("=$arg%d", i+1), "="+reg)
	}
	return args
}

// hasTracepoint reports whether a tracepoint is there. What is no tracepoint says so itself
// when it is opened.
func (r *Resolver) hasTracepoint(s *Spec) (bool, error) {
	if s.Kind != KindTracepoint {
		return true, nil
	}
	fs, err := r.Tracefs()
	if err != nil {
		return false, err
	}
	if _, err = fs.Events(s.System, s.Name); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
