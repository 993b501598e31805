package spanrule

import (
	"errors"
	"fmt"
	"strings"

	"kprof/perfevent/format/expr"
)

// custom reads EVENT..EVENT [by KEY[..KEY], …] [nested] [holds BYTES]. Without a key it is
// the task.
func (r *Rule) custom(body string) error {
	body, value, held := strings.Cut(body, holds)
	if held {
		x, err := expr.Parse(strings.TrimSpace(value))
		if err != nil {
			return err
		}
		r.Value = x
	}
	body, r.Nested = strings.CutSuffix(strings.TrimRight(body, " \t"), " nested")
	events, by, keyed := strings.Cut(body, " by ")
	from, to, err := cutEvents(strings.TrimSpace(events))
	if err != nil {
		return err
	}
	start, end := Side{Event: from, Spec: from}, Side{Event: to, Spec: to}
	if from == to {
		return fmt.Errorf("%s cannot be start and end", from)
	}
	start.Task, end.Task = !keyed, !keyed
	r.Between = keyed
	if keyed {
		keys := splitKeys(by)
		if len(keys) > maxKeys {
			return fmt.Errorf("more than %d keys", maxKeys)
		}
		for _, key := range keys {
			a, b, two := strings.Cut(key, "..")
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

// cutEvents cuts EVENT..EVENT, whose paths may begin with two dots.
func cutEvents(s string) (from, to string, err error) {
	for at := 0; ; {
		n := strings.Index(s[at:], "..")
		if n < 0 {
			return "", "", errors.New("wants EVENT..EVENT by KEY")
		}
		at += n
		if !strings.HasPrefix(s[at+2:], "/") {
			from, to = strings.TrimSpace(s[:at]), strings.TrimSpace(s[at+2:])
			break
		}
		at += 2
	}
	for _, e := range []string{from, to} {
		switch {
		case e == "":
			return "", "", errors.New("wants EVENT..EVENT by KEY")
		case strings.ContainsAny(e, " \t,") || strings.Contains(e, "..") && !strings.Contains(e, "../"):
			return "", "", fmt.Errorf("%q is not the name of one event", e)
		}
	}
	return from, to, nil
}

// splitKeys splits at the commas that are in no brackets and in no string.
func splitKeys(s string) (keys []string) {
	depth, from := 0, 0
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '{' || c == '[':
			depth++
		case c == ')' || c == '}' || c == ']':
			depth--
		case c == ',' && depth <= 0:
			keys = append(keys, s[from:i])
			from = i + 1
		}
	}
	return append(keys, s[from:])
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
