package event

import (
	"fmt"
	"strings"

	"kprof/perfevent/abi"
)

// modifierLetters are the modifiers known here; perf has more (P S W I e b).
const modifierLetters = "ukhpGHD"

// Modifiers are the letters after an event:
//
//	u k h  count in user, kernel, hypervisor mode only; several add up
//	G H    count in guests, on the host only
//	p      want a precise instruction pointer, pp and ppp more so
//	D      pinned: always on the PMU
type Modifiers struct {
	Flags   abi.Flags // exclude_* and pinned, precise_ip included
	ChoseGH bool      // G, H or u said something about guests: leave exclude_guest alone
}

func parseModifiers(s string) (Modifiers, error) {
	var m Modifiers
	if !isIn(modifierLetters, s) {
		return m, fmt.Errorf("modifiers %q: known are %s", s, strings.Join(strings.Split(modifierLetters, ""), " "))
	}
	for _, c := range strings.ReplaceAll(modifierLetters, "p", "") {
		if strings.Count(s, string(c)) > 1 {
			return m, fmt.Errorf("modifiers %q: %c is there twice", s, c)
		}
	}
	precise := strings.Count(s, "p")
	if precise > 3 {
		return m, fmt.Errorf("modifiers %q: precision ends at ppp", s)
	}
	const modes = abi.FlagExcludeUser | abi.FlagExcludeKernel | abi.FlagExcludeHV
	has := func(c string) bool { return strings.Contains(s, c) }
	if strings.ContainsAny(s, "ukh") {
		m.Flags |= modes
	}
	for c, bit := range map[string]abi.Flags{"u": abi.FlagExcludeUser, "k": abi.FlagExcludeKernel, "h": abi.FlagExcludeHV} {
		if has(c) {
			m.Flags &^= bit
		}
	}
	if has("G") != has("H") {
		m.ChoseGH = true
		if has("G") {
			m.Flags |= abi.FlagExcludeHost
		} else {
			m.Flags |= abi.FlagExcludeGuest
		}
	} else if has("G") {
		m.ChoseGH = true
	}
	if has("D") {
		m.Flags |= abi.FlagPinned
	}
	m.Flags = m.Flags.WithPrecise(precise)
	return m, nil
}
