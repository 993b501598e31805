package spanrule

import (
	"fmt"
	"slices"
	"strings"

	"kprof/perfevent/format/expr"
	"kprof/perfevent/spelling"
	"kprof/perfevent/syscalls"
)

// Prefix is how rules begin.
const Prefix = "span:"

// Rule says what spans are made of.
type Rule struct {
	Text string // as written
	Name string // what its spans are called: Text without fetch arguments, or the name that it gives

	// Families are the pairs of events that say the same, best first: the first that a
	// kernel, or a recording, has is taken.
	Families []Family
	// Fields are those that probes of the rule fetch, by the names that were given: what a
	// function is called with, and ret, what it returns.
	Fields []string
	// Value is how many bytes a start takes and its end gives back, of rules of what is held;
	// nil where a span is a time. Keys of 0 are then of nothing.
	Value *expr.Expr
	// Pages says that Value is pages instead of bytes.
	Pages bool
	// Nested says that spans of one key lie within each other, so that an end is that of
	// the latest. Else a start takes the place of an earlier one.
	Nested bool
	// Between says that another task may end a span than began it, so that those of the
	// recorder are needed too.
	Between bool

	syscalls []string // names of system calls to take; none for all
}

// Family is events that begin spans, and those that end them.
type Family struct {
	Starts, Ends []Side
}

// Side is one event of a rule.
type Side struct {
	// Event is what a recording calls it, "raw_syscalls:sys_enter" or "kprobe:vfs_read",
	// with a * for what varies: a start and an end belong together only where that is
	// the same.
	Event string
	// Spec is what records it, in the language of event.ParseSpec.
	Spec     string
	Optional bool // not every kernel, or program, has it
	// Loose is an end that also ends what is not of the rule: without a start it is nothing.
	Loose bool
	// If is what must hold of the event for it to be this side; nil for nothing.
	If *expr.Expr
	// Again is an end that is the next start as well, so that the first of them ends nothing.
	Again bool

	// Memory is for rules of what a program has allocated: what of a call this is. Of such
	// Bytes is how many it is to give, of an Allocates.
	Memory Memory
	Bytes  *expr.Expr

	// What both sides must have in common: the task that runs, the CPU, and the values
	// of expressions, in which pid, tid, comm, cpu and time alone are fields of the event
	// where it has such a field, and only else the sample's own.
	Task, CPU bool
	Key       []*expr.Expr
	// Check is what both sides must have in common for the end to be that of the start:
	// where they differ, the end of the start was not seen. An end for which it is -1
	// does not tell. Nil for nothing.
	Check *expr.Expr
	// Place is where on its stack the task is, by which calls within each other are told
	// apart; nil where that is not known.
	Place *expr.Expr
	// Labels are fields that spans are labelled with.
	Labels []Label
}

// Label makes a label of a field.
type Label struct {
	Key, Field string
	As         Meaning
}

// Meaning is what the number of a field stands for.
type Meaning uint8

const (
	Plain   Meaning = iota // the number, or what the event's format makes of it
	Syscall                // a system call
	Code                   // an address of the kernel's code
	Errno                  // an error, if it is from -4095 to -1; else there is no label
	Varying                // of no field: what the * of the event's name stands for; no other Label of the Key is known
)

// maxKeys is how many expressions a key may have.
const maxKeys = 3

// ParseError reports a rule that cannot be read.
type ParseError struct {
	Rule, Reason string
	Near         []string // names of rules that may have been meant
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("rule %q: %s%s", e.Rule, e.Reason, spelling.Question(e.Near))
}

// Parse reads a rule. Its errors are of type *ParseError.
func Parse(text string) (*Rule, error) {
	text = strings.TrimSpace(text)
	body, ok := strings.CutPrefix(text, Prefix)
	fail := func(format string, args ...any) (*Rule, error) {
		return nil, &ParseError{Rule: text, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case !ok:
		return fail("wants %sNAME, %sFUNCTION or %sEVENT..EVENT by KEY", Prefix, Prefix, Prefix)
	case len(text) > maxText || strings.ContainsAny(text, "\x00\n"):
		return fail("wants one line of at most %d bytes", maxText)
	}
	rule := &Rule{Text: text, Name: text}
	if strings.Contains(eventsOf(body), "..") {
		rule.Name, _, _ = cutOutside(text, holds)
		name, body := cutName(body)
		if named(name) != nil {
			return fail("%s is another rule's name", name)
		}
		if name != "" {
			rule.Name = Prefix + name
		}
		if err := rule.custom(body); err != nil {
			return fail("%v", err)
		}
		return rule, nil
	}
	name, rest, more := strings.Cut(body, ":")
	if name == "malloc" && more {
		if err := rule.malloc(rest); err != nil {
			return fail("%v", err)
		}
		return rule, nil
	}
	if e := named(name); e != nil {
		if more && !e.syscalls {
			return fail("%s takes nothing behind its name", name)
		}
		rule.Families, rule.Between, rule.Nested = e.families(), e.between, e.nested
		if e.value != "" {
			rule.Value, rule.Pages = mustExpr(e.value), e.pages
		}
		for _, n := range strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == ':' }) {
			if !known(n) {
				return nil, &ParseError{Rule: text, Reason: fmt.Sprintf("no architecture has a system call %q", n), Near: spelling.Closest(n, syscalls.Of("x86_64").Names())}
			}
			rule.syscalls = append(rule.syscalls, n)
		}
		return rule, nil
	}
	if err := rule.function(body); err != nil {
		return fail("%v", err)
	}
	return rule, nil
}

const maxText = 4096

// eventsOf is what of a rule's text names events: paths may have dots.
func eventsOf(body string) string {
	events, _, _ := cutOutside(body, " by ")
	return strings.ReplaceAll(events, "../", "/")
}

// known reports whether some architecture has a system call of a name.
func known(name string) bool {
	return slices.ContainsFunc([]string{"x86_64", "aarch64", "i386", "arm", "ppc64", "s390x"}, func(m string) bool {
		_, ok := syscalls.Of(m).Number(name)
		return ok
	})
}

// Takes reports whether the rule is of a system call, whose name is empty if it is not known.
func (r *Rule) Takes(name string) bool {
	return len(r.syscalls) == 0 || slices.Contains(r.syscalls, name)
}

// Filter is what the kernel shall let pass of the events of the rule, in the language of
// its filters; empty for all. An error names the system call that a machine does not have.
func (r *Rule) Filter(t *syscalls.Table) (string, error) {
	var all []string
	for _, name := range r.syscalls {
		n, ok := t.Number(name)
		if !ok {
			return "", &ParseError{Rule: r.Text, Reason: fmt.Sprintf("this machine has no system call %q", name), Near: spelling.Closest(name, t.Names())}
		}
		all = append(all, fmt.Sprintf("id == %d", n))
	}
	if slices.ContainsFunc(r.syscalls, func(name string) bool { return strings.HasSuffix(name, "sigreturn") }) {
		all = append(all, "id == -1") // which is what these end with, and no other call
	}
	return strings.Join(all, " || "), nil
}

// NamesCode reports whether spans have a label that is a function of the kernel.
func (r *Rule) NamesCode() bool {
	return slices.ContainsFunc(r.Families, func(f Family) bool {
		return slices.ContainsFunc(slices.Concat(f.Starts, f.Ends), func(s Side) bool {
			return slices.ContainsFunc(s.Labels, func(l Label) bool { return l.As == Code })
		})
	})
}

// Never reports whether a system call does not return.
func Never(name string) bool { return name == "exit" || name == "exit_group" }

// Matches reports whether an event of a recording is one that a Side names, and what its *
// stands for.
func (s *Side) Matches(event string) (varying string, ok bool) {
	if event, _, _ = strings.Cut(event, " "); event == s.Event {
		return "", true
	}
	before, after, globbed := strings.Cut(s.Event, "*")
	if !globbed {
		return "", false
	}
	// As the kernel's globs, of which names of functions need no more than *.
	parts := strings.Split(after, "*")
	rest, ok := strings.CutPrefix(event, before)
	if !ok {
		return "", false
	}
	varying = rest
	for i, p := range parts {
		if i == len(parts)-1 {
			if !strings.HasSuffix(rest, p) {
				return "", false
			}
			break
		}
		at := strings.Index(rest, p)
		if at < 0 {
			return "", false
		}
		rest = rest[at+len(p):]
	}
	return varying, true
}
