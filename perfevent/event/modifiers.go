package event

import (
	"fmt"
	"strings"

	"kprof/perfevent/abi"
)

// modifierLetters are the modifiers known here.
const modifierLetters = "ukhpPGHDIeWX"

// perfsModifiers are those that perf alone has, with why not.
var perfsModifiers = map[rune]string{
	'S': "samples have no values of other counters here",
	'b': "counting by BPF programs is perf's",
	'R': "latencies of retirement are measured by perf alone",
}

// Modifiers are the letters after an event:
//
//	u k h  count in user, kernel, hypervisor mode only; several add up
//	G H    count in guests, on the host only
//	p      want a precise instruction pointer, pp and ppp more so
//	P      want it as precise as the CPU has it
//	D      pinned: always on the PMU
//	e      exclusive: alone on the PMU
//	I      not while the CPU is idle
//	W      weak: a group that does not fit on the PMU is counted event by event
//	X      not in another group than it was written in, which it never is here
type Modifiers struct {
	Flags   abi.Flags // exclude_* and pinned, precise_ip included
	ChoseGH bool      // G, H or u said something about guests: leave exclude_guest alone

	MostPrecise bool // P
	Weak        bool // W
}

func parseModifiers(s string) (Modifiers, error) {
	var m Modifiers
	for _, c := range s {
		if why := perfsModifiers[c]; why != "" && isIn(modifierLetters+"SbR", s) {
			return m, fmt.Errorf("modifiers %q: kprof has no %c: %s", s, c, why)
		}
	}
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
	for c, bit := range map[string]abi.Flags{"D": abi.FlagPinned, "e": abi.FlagExclusive, "I": abi.FlagExcludeIdle} {
		if has(c) {
			m.Flags |= bit
		}
	}
	if m.MostPrecise = has("P"); m.MostPrecise && precise > 0 {
		return m, fmt.Errorf("modifiers %q: P and p exclude each other", s)
	}
	m.Weak = has("W")
	m.Flags = m.Flags.WithPrecise(precise)
	return m, nil
}
