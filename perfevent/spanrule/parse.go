package spanrule

import (
	"errors"
	"fmt"
	"strings"

	"kprof/perfevent/format/expr"
)

// cutName cuts NAME= from before a rule of events. name is empty where there is none.
func cutName(body string) (name, rest string) {
	name, rest, _ = strings.Cut(body, "=")
	name = strings.TrimSpace(name)
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return "", body
		}
	}
	if name == "" {
		return "", body
	}
	return name, rest
}

// custom reads EVENT [if CONDITION]..EVENT [if CONDITION] [by KEY[..KEY], …] [nested] [holds BYTES].
// Without a key it is the task.
func (r *Rule) custom(body string) error {
	body, value, held := cutOutside(body, holds)
	if held {
		x, err := expr.Parse(strings.TrimSpace(value))
		if err != nil {
			return err
		}
		r.Value = x
	}
	body, r.Nested = strings.CutSuffix(strings.TrimRight(body, " \t"), " nested")
	events, by, keyed := cutOutside(body, " by ")
	start, end, err := cutEvents(strings.TrimSpace(events))
	if err != nil {
		return err
	}
	end.Again = start.Event == end.Event && start.condition() == end.condition()
	start.Task, end.Task = !keyed, !keyed
	r.Between = keyed
	if keyed {
		keys := splitKeys(by)
		if len(keys) > maxKeys {
			return fmt.Errorf("more than %d keys", maxKeys)
		}
		for _, key := range keys {
			a, b, two := cutOutside(key, "..")
			if !two {
				b = a
			}
			x, err := expr.Parse(strings.TrimSpace(a))
			if err != nil {
				return err
			}
			y, err := expr.Parse(strings.TrimSpace(b))
			if err != nil {
				return err
			}
			start.Key, end.Key = append(start.Key, x), append(end.Key, y)
		}
	}
	r.Families = []Family{{[]Side{start}, []Side{end}}}
	return nil
}

// holds stands between a rule and how many bytes a start takes, which its end gives back.
const holds = " holds "

// Holding returns the text of a rule of EVENT..EVENT whose starts take as many bytes as the
// value of an expression, until their ends.
func Holding(rule, value string) string { return rule + holds + value }

// cutEvents cuts EVENT [if CONDITION]..EVENT [if CONDITION], in which paths may begin with two dots.
func cutEvents(s string) (from, to Side, err error) {
	at := 0
	for {
		n := outside(s[at:], "..")
		if n < 0 {
			return from, to, errNoEvents
		}
		if at += n; !strings.HasPrefix(s[at+2:], "/") {
			break
		}
		at += 2
	}
	if from, err = oneSide(strings.TrimSpace(s[:at])); err == nil {
		to, err = oneSide(strings.TrimSpace(s[at+2:]))
	}
	return from, to, err
}

var errNoEvents = errors.New("wants EVENT..EVENT by KEY")

// oneSide reads EVENT [if CONDITION].
func oneSide(text string) (Side, error) {
	e, condition, conditional := strings.Cut(text, " if ")
	e = strings.TrimSpace(e)
	switch {
	case e == "":
		return Side{}, errNoEvents
	case e[0] == '=' || strings.ContainsAny(e, " \t,") || strings.Contains(e, "..") && !strings.Contains(e, "../"):
		return Side{}, fmt.Errorf("%q is not the name of one event", e)
	}
	side := Side{Event: e, Spec: e}
	if conditional {
		x, err := expr.Parse(strings.TrimSpace(condition))
		if err != nil {
			return Side{}, err
		}
		side.If = x
	}
	return side, nil
}

// condition is the text of If.
func (s *Side) condition() string {
	if s.If == nil {
		return ""
	}
	return s.If.String()
}

// splitKeys splits at the commas that are in no brackets and in no string.
func splitKeys(s string) (keys []string) {
	for {
		key, rest, more := cutOutside(s, ",")
		if keys = append(keys, key); !more {
			return keys
		}
		s = rest
	}
}

// cutOutside is strings.Cut at a separator that is in no brackets and in no string.
func cutOutside(s, sep string) (before, after string, found bool) {
	if i := outside(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// outside is the first index of a separator that is in no brackets and in no string, -1 for none.
func outside(s, sep string) int {
	depth := 0
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case depth <= 0 && strings.HasPrefix(s[i:], sep):
			return i
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '{' || c == '[':
			depth++
		case c == ')' || c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

// maxActive is how many calls of a function at once a return probe shall see: by default
// the kernel takes ten, or two for each CPU, and misses the others.
const maxActive = 4096

// function reads [MODULE:]FUNCTION [ARGUMENTS], or uprobe:PATH:SYMBOL [ARGUMENTS].
func (r *Rule) function(body string) error {
	place, args, _ := strings.Cut(body, " ")
	args = strings.TrimSpace(args)
	entry, exit := "kprobe:", "kretprobe:"
	if rest, ok := strings.CutPrefix(place, "uprobe:"); ok {
		entry, exit, place = "uprobe:", "uretprobe:", rest
		if i := strings.LastIndexByte(place, ':'); i <= 0 || i == len(place)-1 {
			return errors.New("wants uprobe:PATH:SYMBOL")
		}
	} else {
		place = strings.TrimPrefix(place, "kprobe:")
		if strings.Count(place, ":") > 1 || strings.HasPrefix(place, ":") || strings.HasSuffix(place, ":") {
			return errors.New("wants FUNCTION or MODULE:FUNCTION")
		}
	}
	switch {
	case place == "":
		return errors.New("no function is named")
	case strings.ContainsAny(place, "+,"):
		return errors.New("a span is of one whole function, without an offset")
	}
	r.Name, _, _ = strings.Cut(r.Text, " ")
	r.Nested = true
	side := func(kind, args string) Side {
		return Side{
			Event: kind + place, Spec: kind + place + " " + args, Task: true, Place: mustExpr(placeField),
		}
	}
	r.Fields = append(fetched(args), "ret")
	start := side(entry, strings.TrimSpace(placeField+"=$stack "+args))
	end := side(exit, placeField+"=$stack ret=$retval")
	r.Families = []Family{{[]Side{start}, []Side{end}}}
	return nil
}

// fetched are the names of fields that fetch arguments make, as the kernel and package event
// name those without: arg2 behind the stack pointer, how->flags:x32 flags.
func fetched(args string) (names []string) {
	for i, arg := range strings.Fields(args) {
		name, _, named := strings.Cut(arg, "=")
		if !named {
			name, _, _ = strings.Cut(arg, ":")
			name = name[strings.LastIndexAny(name, ".>")+1:]
		}
		if !named && strings.ContainsAny(arg[:1], "$%@+-\\") {
			name = fmt.Sprintf("arg%d", i+2)
		}
		names = append(names, name)
	}
	return names
}

// placeField is the field of a function's probes that has the stack pointer.
const placeField = "kprof_sp"

// MaxActive is how many calls at once the return probes of the rule shall see.
func (r *Rule) MaxActive() int { return maxActive }

func mustExpr(text string) *expr.Expr {
	x, err := expr.Parse(text)
	if err != nil {
		panic(err) // a constant of this package, see TestTable
	}
	return x
}
