package count

import (
	"fmt"
	"strings"

	"kprof/perfevent/event"
)

// Group is one or several events, as one -e has them between commas.
type Group struct {
	Specs []event.Spec
	// Together: they are on the PMU at the same time or not at all, as those in
	// braces are, so that their ratios hold.
	Together bool
	// Weak: they are counted each by itself where the machine refuses them together.
	Weak bool
}

// ParseGroups parses the argument of one -e: what event.ParseSpecs does, each a
// group by itself, and {EVENT,EVENT,…} for those that are to be counted together.
// Modifiers behind the brace, as in {cycles,instructions}:u, are those of each event
// that has none of its own; W, there or behind an event of it, makes the group weak.
func ParseGroups(arg string) ([]Group, error) {
	var groups []Group
	for rest := strings.TrimSpace(arg); ; {
		var g []Group
		var err error
		if strings.HasPrefix(rest, "{") {
			g, rest, err = cutBraces(rest)
		} else {
			var plain string
			if plain, rest = cutPlain(rest); rest == "," {
				return nil, fmt.Errorf("events %q: nothing after the last comma", arg)
			}
			var specs []event.Spec
			specs, err = event.ParseSpecs(plain)
			for _, s := range specs {
				g = append(g, Group{Specs: []event.Spec{s}})
			}
		}
		if err != nil {
			return nil, err
		}
		groups = append(groups, g...)
		if rest == "" {
			return groups, nil
		}
		rest = strings.TrimSpace(rest[1:]) // the comma
	}
}

// cutPlain cuts arg before the comma that a brace follows.
func cutPlain(arg string) (plain, rest string) {
	for i := 0; i < len(arg); i++ {
		if arg[i] == ',' && strings.HasPrefix(strings.TrimLeft(arg[i+1:], " \t"), "{") {
			return arg[:i], arg[i:]
		}
	}
	return arg, ""
}

// cutBraces cuts {EVENT,…}[:MODIFIERS] off the start of arg; rest begins with a
// comma or is empty.
func cutBraces(arg string) (_ []Group, rest string, err error) {
	end := strings.IndexByte(arg, '}')
	if end < 0 {
		return nil, "", fmt.Errorf("events %q: no } after {", arg)
	}
	inside, modifiers := arg[1:end], ""
	modifiers, rest = arg[end+1:], ""
	if comma := strings.IndexByte(modifiers, ','); comma >= 0 {
		modifiers, rest = modifiers[:comma], modifiers[comma:]
	}
	modifiers, colon := strings.CutPrefix(strings.TrimSpace(modifiers), ":")
	if colon != (modifiers != "") {
		return nil, "", fmt.Errorf("events %q: after } only a colon with modifiers, or a comma", arg)
	}
	if strings.Contains(inside, "{") {
		return nil, "", fmt.Errorf("events %q: a group in a group", arg)
	}
	specs, err := event.ParseSpecs(inside)
	if err != nil {
		return nil, "", err
	}
	weak := strings.Contains(modifiers, "W")
	modifiers = strings.ReplaceAll(modifiers, "W", "")
	for i := range specs {
		weak = weak || specs[i].Modifiers.Weak
		if modifiers != "" {
			if specs[i], err = withModifiers(specs[i], modifiers); err != nil {
				return nil, "", err
			}
		}
	}
	return []Group{{Specs: specs, Together: len(specs) > 1, Weak: weak && len(specs) > 1}}, rest, nil
}

// withModifiers is s as it would be had the modifiers been written behind it.
func withModifiers(s event.Spec, modifiers string) (event.Spec, error) {
	if s.Modifiers != (event.Modifiers{Weak: s.Modifiers.Weak}) {
		return s, nil
	}
	if s.Kind == event.KindProbe {
		return s, fmt.Errorf("event %q: a probe takes no modifiers, those of its group", s.Text)
	}
	if strings.HasSuffix(s.Text, "/") || s.Modifiers.Weak {
		return event.ParseSpec(s.Text + modifiers)
	}
	return event.ParseSpec(s.Text + ":" + modifiers)
}
