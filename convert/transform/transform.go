// Package transform changes which stacks of a Set are shown, and which of their frames.
package transform

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"kprof/convert/stacks"
)

// Op is what is done to stacks.
type Op uint8

const (
	// Focus keeps the stacks that have a frame whose name matches.
	Focus Op = iota
	// Ignore drops the stacks that have such a frame.
	Ignore
	// ShowFrom keeps of each stack the outermost frame that matches and what it calls, and
	// drops stacks without.
	ShowFrom
	// ShowTo keeps of each stack the innermost frame that matches and its callers, and drops
	// stacks without: what the function calls counts as its own.
	ShowTo
	// Hide removes the frames that match: what they cost counts for their callers.
	Hide
	// Show removes all frames but those that match.
	Show
	// CollapseRecursion makes one frame of the calls of a function that matches and of all
	// between them, where it is in a stack several times.
	CollapseRecursion
	// Collapse makes one frame of frames beside each other that are in a mapping, called as
	// in "[libc.so.6]".
	Collapse
	// pruned removes what Prune says.
	pruned
	numOps
)

var opNames = [numOps]string{"focus", "ignore", "show-from", "show-to", "hide", "show", "collapse-recursion", "collapse", "drop-frames"}

func (o Op) String() string {
	if o < numOps {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// Kernel is the mapping of all that is of the kernel, its modules and BPF programs.
const Kernel = "[kernel]"

// Transform is one step.
type Transform struct {
	Op Op
	// Text is a regular expression on the names of functions, or of Collapse the base name of
	// a mapping, or Kernel.
	Text string

	names *regexp.Regexp
	keep  *regexp.Regexp // of names that Prune leaves; nil for none
}

// Parse returns a Transform, whose Text is checked.
func Parse(op Op, text string) (Transform, error) {
	t := Transform{Op: op, Text: text}
	if text == "" {
		return t, fmt.Errorf("%v: nothing is given", op)
	}
	if op == Collapse {
		return t, nil
	}
	var err error
	t.names, err = regexp.Compile(text)
	return t, err
}

// Prune returns what pprof does as it reads a profile that has drop_frames, and may have
// keep_frames: it removes of each stack the outermost frame whose whole name matches drop and
// not keep, and what that calls, unless no frame outside of it is another (Profile.Prune in
// profile/prune.go of github.com/google/pprof). Names are matched without arguments.
func Prune(drop, keep string) (Transform, error) {
	t := Transform{Op: pruned, Text: drop}
	var err error
	if t.names, err = regexp.Compile("^(?:" + drop + ")$"); err == nil && keep != "" {
		t.keep, err = regexp.Compile("^(?:" + keep + ")$")
	}
	return t, err
}

// prunes reports whether a name is one that Prune removes.
func (t *Transform) prunes(name string) bool {
	name = withoutArguments(name)
	return t.names.MatchString(name) && (t.keep == nil || !t.keep.MatchString(name))
}

// withoutArguments returns the name of a function in C++ without its arguments.
func withoutArguments(name string) string {
	name = strings.TrimPrefix(name, ".") // of entry points of PowerPC's first ABI
	for at := 0; ; {
		i := strings.IndexByte(name[at:], '(')
		if i < 0 {
			return name
		}
		at += i
		switch {
		case strings.HasPrefix(name[at:], "(anonymous namespace)"):
			at += len("(anonymous namespace)")
		case strings.HasPrefix(name[at:], "()") && strings.HasSuffix(name[:at], "operator"):
			at += len("()")
		default:
			return name[:at]
		}
	}
}

// NoneError reports that a step left no sample.
type NoneError struct {
	Transform Transform
	Samples   int  // rows before it
	Near      bool // some names would match without regard to case
}

func (e *NoneError) Error() string {
	what := "no stack is left of %d by %v %q"
	if e.Transform.Op == Focus || e.Transform.Op == ShowFrom || e.Transform.Op == ShowTo {
		what = "none of %d stacks has a function that matches (%v %q)"
	}
	return fmt.Sprintf(what, e.Samples, e.Transform.Op, e.Transform.Text)
}

// Apply does the steps to each stack of a Set, one after the other. tags are the locations,
// by number, that stand for labels: their frames are looked for by Focus and Ignore, and stay.
// Where no row is left, it returns a *NoneError. A frame is called as stacks.Names has it, a
// stack without any has one frame "[unknown]" at first.
func Apply(s *stacks.Set, steps []Transform, tags func(loc uint32) bool) error {
	if len(steps) == 0 || s.NumSamples() == 0 {
		return nil
	}
	a := newApplier(s, steps, tags)
	rows := s.NumSamples()
	s.Restack(a.stack)
	if s.NumSamples() > 0 {
		return nil
	}
	last := 0
	for i := range steps {
		if a.left[i] == 0 {
			last = i
			break
		}
	}
	e := &NoneError{Transform: steps[last], Samples: rows}
	if re, err := regexp.Compile("(?i)" + steps[last].Text); err == nil && steps[last].Op != Ignore {
		e.Near = slices.ContainsFunc(a.of.Names, re.MatchString)
	}
	return e
}

func baseName(file string) string { return file[strings.LastIndexByte(file, '/')+1:] }
