package stacks

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/lazyregexp"
)

// EventName is what an event of an input is called.
type EventName struct {
	Name  string // which no other event of the input has
	Plain string // as recorded, which others may have too; "" for Name
	// Family is what PMUs of a hybrid machine count alike: the event's name without
	// that of its PMU. "" for an event that belongs to none.
	Family string
}

// Choice is one or several events of an input that are shown as one event.
type Choice struct {
	Name   string
	Events []int // indices of the input's events, in ascending order
}

// UnknownEventError says that a pattern matches no event.
type UnknownEventError struct {
	Pattern string
	Names   []string // of all events there are
}

func (e *UnknownEventError) Error() string {
	return fmt.Sprintf("it has no event %q, but %s", e.Pattern, strings.Join(e.Names, ", "))
}

// Choose returns the events that patterns ask for, all of them if there are no
// patterns, in the order of the input. Events of one family are one choice, as
// perf adds up those of hybrid machines, unless a pattern asks for one of them.
//
// A pattern is a name, a list of names with commas (those within pmu/…/ belong to
// the name), or a glob as in [path.Match] in which * also matches a slash. A name
// means, whichever is found first: the events called so; those recorded under that
// name; those with that short name, which is without PMU, modifiers and, of a
// tracepoint, its system. The only errors are of a pattern: *UnknownEventError for
// one that matches nothing.
func Choose(names []EventName, patterns []string) ([]Choice, error) {
	all := families(names)
	if len(patterns) == 0 {
		return all, nil
	}
	c := chooser{names: names, families: all}
	for _, p := range patterns {
		list := []string{p}
		if c.matching(p) == nil { // a name may have commas of its own
			list = SplitEvents(p)
		}
		for _, p := range list {
			found := c.matching(p)
			if found == nil {
				e := &UnknownEventError{Pattern: p}
				for _, f := range all {
					e.Names = append(e.Names, f.Name)
				}
				return nil, e
			}
			c.take(found)
		}
	}
	slices.SortFunc(c.chosen, func(a, b Choice) int { return cmp.Compare(a.Events[0], b.Events[0]) })
	return c.chosen, nil
}

// families are all events, those of one family together.
func families(names []EventName) []Choice {
	var all []Choice
	at := map[string]int{}
	for i, n := range names {
		taken := n.Family == "" || slices.ContainsFunc(names, func(o EventName) bool { return o.Name == n.Family && o.Family != n.Family })
		if j, known := at[n.Family]; known && !taken {
			all[j].Events = append(all[j].Events, i)
			all[j].Name = n.Family
			continue
		}
		if !taken {
			at[n.Family] = len(all)
		}
		all = append(all, Choice{Name: n.Name, Events: []int{i}})
	}
	return all
}

type chooser struct {
	names    []EventName
	families []Choice
	chosen   []Choice
}

// take adds choices. Events that have been chosen by themselves stay apart.
func (c *chooser) take(choices []Choice) {
	for _, add := range choices {
		add.Events = slices.DeleteFunc(slices.Clone(add.Events), func(e int) bool {
			return slices.ContainsFunc(c.chosen, func(had Choice) bool { return slices.Contains(had.Events, e) })
		})
		switch len(add.Events) {
		case 0:
			continue
		case 1:
			add.Name = c.names[add.Events[0]].Name
		}
		c.chosen = append(c.chosen, add)
	}
}

// matching returns what a pattern without a list means, nil for nothing.
func (c *chooser) matching(pattern string) []Choice {
	match := func(name string) bool { return name == pattern }
	if strings.ContainsAny(pattern, "*?[") {
		match = func(name string) bool { return name == pattern || glob(pattern, name) }
	}
	for _, called := range []func(EventName) string{
		func(n EventName) string { return n.Name },
		func(n EventName) string { return n.Plain },
		func(n EventName) string { return shortName(n.Name) },
	} {
		var found []Choice
		for _, f := range c.families {
			if whole := (EventName{Name: f.Name, Plain: f.Name}); match(called(whole)) {
				found = append(found, f)
				continue
			}
			for _, e := range f.Events {
				if match(called(c.names[e])) {
					found = append(found, Choice{Name: c.names[e].Name, Events: []int{e}})
				}
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// glob is path.Match without a meaning for slashes.
func glob(pattern, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok && err == nil
}

// pmuTerm is an event by its PMU: "cpu/event=0x3c/u".
var pmuTerm = lazyregexp.New(`^([\w.*?\[\]-]+)/(.*)/([A-Za-z]*)$`)

// numbered is a name with a number that tells it from equal ones.
var numbered = lazyregexp.New(`^(.+)(#\d+)$`)

// shortName is what of an event's name people call it by, with its number.
func shortName(name string) string {
	if m := numbered().FindStringSubmatch(name); m != nil {
		return shortName(m[1]) + m[2]
	}
	if m := pmuTerm().FindStringSubmatch(name); m != nil {
		if strings.Contains(m[2], "=") { // "cpu-clock/period=1000/", or an encoding
			return m[1]
		}
		return m[2]
	}
	switch before, after, ok := strings.Cut(name, ":"); {
	case !ok:
		return name
	case abi.IsModifiers(after):
		return before
	case !strings.ContainsAny(after, ":/"):
		return after // of a tracepoint
	}
	return name
}

// SplitEvents splits a list of events at its commas, but for those within pmu/…/.
func SplitEvents(list string) []string {
	var events []string
	for from, i := 0, 0; ; i++ {
		if i < len(list) && (list[i] != ',' || openTerm().MatchString(list[from:i])) {
			continue
		}
		i = min(i, len(list))
		if part := strings.TrimSpace(list[from:i]); part != "" {
			events = append(events, part)
		}
		if from = i + 1; i == len(list) {
			return events
		}
	}
}

// openTerm is the beginning of pmu/…/.
var openTerm = lazyregexp.New(`^\s*[\w.*?\[\]-]+/[^/]*$`)
