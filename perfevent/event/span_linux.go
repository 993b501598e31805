package event

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"kprof/perfevent"
	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/lazyregexp"
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
				s, _ = r.inTask(s)
				s.Rule = rule.Text
				if s.Kind == KindProbe && s.Probe.User && side.Memory != spanrule.NotMemory {
					if s.Probe.Args, err = userArguments(s.Probe); err != nil {
						return nil, fmt.Errorf("%s: %w", rule.Text, err)
					}
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
				if slices.ContainsFunc(specs, func(had Spec) bool { return had.Text == s.Text }) {
					continue // it is start and end
				}
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

// arguments are where functions get their arguments, by architecture: the System V ABIs for AMD64
// and i386, the procedure call standards for AArch64 and Arm, the RISC-V ELF psABI.
var arguments = map[elf.Machine][]string{
	elf.EM_X86_64:  {"%di", "%si", "%dx"},
	elf.EM_386:     {"+4(%sp):u32", "+8(%sp):u32", "+12(%sp):u32"},
	elf.EM_AARCH64: {"%x0", "%x1", "%x2"},
	elf.EM_ARM:     {"%r0", "%r1", "%r2"},
	elf.EM_RISCV:   {"%a0", "%a1", "%a2"},
}

var stackWord = lazyregexp.New(`=\$stack([0-9]+)`)

// userArguments are the fetch arguments of a probe of a program, with what its architecture has
// in the place of $arg1, $arg2 and $arg3, which the kernel does not know in programs. Words of
// i386 have 32 bits, for which a kernel of 64 does not look.
func userArguments(p Probe) (string, error) {
	machine, err := machineOf(p.Path)
	if err != nil {
		return "", err
	}
	places := arguments[machine]
	if places == nil {
		return "", errkind.Errorf(perfevent.ErrNotSupported, "%s is of an architecture (%s) of which it is not known where functions get their arguments", p.Path, strings.TrimPrefix(machine.String(), "EM_"))
	}
	args := p.Args
	for i, place := range places {
		args = strings.ReplaceAll(args, fmt.Sprintf("=$arg%d", i+1), "="+place)
	}
	if machine != elf.EM_386 {
		return args, nil
	}
	args = strings.ReplaceAll(args, "=$retval", "=$retval:u32")
	return stackWord().ReplaceAllStringFunc(args, func(word string) string {
		n, _ := strconv.Atoi(word[len("=$stack"):]) // a slot's
		return fmt.Sprintf("=+%d(%%sp):u32", 4*n)
	}), nil
}

// machineOf is the architecture that a program is of.
func machineOf(path string) (elf.Machine, error) {
	f, e, err := openProgram(path)
	if err != nil {
		return elf.EM_NONE, err
	}
	defer f.Close() // read only: nothing to lose
	return e.Machine, nil
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
