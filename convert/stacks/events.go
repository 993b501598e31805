package stacks

import (
	"slices"
	"strings"
)

// DropLastColumn removes the last column of an event. Add must not be called for
// the event any more.
func (s *Set) DropLastColumn(event int) {
	e := &s.Events[event]
	e.Values = e.Values[:len(e.Values)-1]
}

// Most returns the event with the most samples, by the sums of the first columns;
// the first of several with as many.
func (s *Set) Most() int {
	most, sum := 0, int64(-1)
	for i, n := range s.SampleCounts() {
		if n > sum {
			most, sum = i, n
		}
	}
	return most
}

// SampleCounts are the sums of the first columns of all events: of recordings, how
// many samples each has.
func (s *Set) SampleCounts() []int64 {
	counts := make([]int64, len(s.Events))
	for i := range s.rows.n {
		r := s.rows.at(i)
		if n := len(s.Events[r.event].Values); n > 0 {
			counts[r.event] += s.rows.valuesAt(r.value, n)[0]
		}
	}
	return counts
}

// MapEvents replaces the events: rows of event i become rows of event to[i] of the
// new ones, and are dropped where that is -1. Those of equal stacks and labels are
// added up. An event must have as many columns as what becomes of it.
func (s *Set) MapEvents(events []Event, to []int) {
	s.rebuild(events, func(event int, _ LabelsID) int { return to[event] })
}

// ChooseEvents keeps the events that patterns ask for, as Choose does. Events of a
// hybrid machine are one, if they have the same columns. Events keep their order.
func (s *Set) ChooseEvents(patterns []string) error {
	names := make([]EventName, len(s.Events))
	for i, e := range s.Events {
		names[i] = EventName{Name: e.Name, Family: Family(e.Name, nil)}
		for j := range i {
			if names[j].Family == names[i].Family && len(s.Events[j].Values) != len(e.Values) {
				names[i].Family = ""
			}
		}
	}
	choices, err := Choose(names, patterns)
	if err != nil {
		return err
	}
	if len(choices) == len(s.Events) {
		return nil
	}
	to := make([]int, len(s.Events))
	for i := range to {
		to[i] = -1
	}
	var events []Event
	for _, c := range choices {
		for _, e := range c.Events {
			to[e] = len(events)
		}
		events = append(events, s.Events[c.Events[0]].renamed(c.Name))
	}
	s.MapEvents(events, to)
	if !slices.ContainsFunc(events, func(e Event) bool { return e.hasType(s.DefaultType) }) {
		s.DefaultType = ""
	}
	return nil
}

func (e *Event) hasType(name string) bool {
	return slices.ContainsFunc(e.Values, func(v ValueType) bool { return v.Type == name })
}

// renamed returns the event under another name, also in its columns.
func (e *Event) renamed(name string) Event {
	r := Event{Name: name, Values: slices.Clone(e.Values), Instants: e.Instants, UnknownPeriods: e.UnknownPeriods}
	for i, v := range r.Values {
		if rest, ok := strings.CutPrefix(v.Type, e.Name); ok && (rest == "" || rest[0] == '.') {
			r.Values[i].Type = name + rest
		}
	}
	return r
}

// SamplesOf stands behind an event's name in that of the column with the number of
// its samples, where a profile has several events.
const SamplesOf = ".samples"

// Family returns the name of an event without that of its PMU, "cycles:P" of
// "cpu_core/cycles/P", if several PMUs of a machine may count it alike: if its PMU is
// one of those given, or called as those of hybrid CPUs are. "" otherwise.
func Family(name string, pmus []string) string {
	m := pmuTerm().FindStringSubmatch(name)
	if m == nil || !isCorePMU(m[1], pmus) || m[2] == "" || strings.ContainsAny(m[2], "=,/") {
		return ""
	}
	return m[2] + strings.TrimSuffix(":"+m[3], ":")
}

// corePMUs are how the PMUs of CPUs begin where there are several kinds of CPU in a
// machine (Intel's, Arm's and Apple's drivers in Linux).
var corePMUs = []string{"cpu_", "armv7_", "armv8_", "armv9_", "apple_"}

func isCorePMU(pmu string, pmus []string) bool {
	return slices.Contains(pmus, pmu) || slices.ContainsFunc(corePMUs, func(p string) bool { return strings.HasPrefix(pmu, p) })
}
