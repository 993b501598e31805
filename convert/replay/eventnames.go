package replay

import (
	"fmt"
	"slices"
	"strings"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// eventNames are the names of a recording's events, each its own, for which some of
// the recorded ones are not enough: several of one name are told apart by PMU, else
// by period or frequency, else by a number.
//
//	cycles on two PMUs         cpu_core/cycles/, cpu_atom/cycles/
//	cpu-clock at two periods   cpu-clock/period=1000/, cpu-clock/freq=99/
//	otherwise                  cpu-clock, cpu-clock#2
//
// An event and its twin that copies stacks (abi.CopiesSuffix) are one.
func eventNames(events []*perfdata.Event, host *perfdata.Host) []stacks.EventName {
	names := make([]stacks.EventName, len(events))
	same := map[string][]int{}
	for i, e := range events {
		names[i] = stacks.EventName{Name: e.Name, Plain: e.Name, Family: stacks.Family(e.Name, corePMUs(host))}
		same[e.Name] = append(same[e.Name], i)
	}
	for i, e := range events {
		// Who recorded copied stacks for a time, in the place of callers.
		plain, copies := strings.CutSuffix(e.Name, abi.CopiesSuffix)
		if list := same[plain]; copies && e.Attr.SampleStackUser > 0 && len(list) == 1 && events[list[0]].Attr.SampleStackUser == 0 {
			names[i].Plain, names[i].Family, names[list[0]].Family = plain, plain, plain
		}
	}
	taken := make(map[string]bool, len(events))
	for name, list := range same {
		taken[name] = len(list) == 1
	}
	for i, e := range events {
		list := same[e.Name]
		if len(list) == 1 {
			continue
		}
		if differ(events, list, pmuOf) { // the same is counted by several PMUs
			names[i].Family = e.Name
		}
		names[i].Name = distinctName(events, host, list, i)
		for n := slices.Index(list, i) + 1; taken[names[i].Name]; n++ {
			names[i].Name = fmt.Sprintf("%s#%d", e.Name, n)
		}
		taken[names[i].Name] = true
	}
	return names
}

// distinctName returns a name for one of the events that share theirs, which another
// may have all the same.
func distinctName(events []*perfdata.Event, host *perfdata.Host, list []int, i int) string {
	e := events[i]
	name, modifiers, _ := strings.Cut(e.Name, ":")
	plain := !strings.Contains(e.Name, "/") && e.Attr.Type != abi.TypeTracepoint
	switch {
	case plain && differ(events, list, pmuOf) && pmuName(host, pmuOf(e)) != "":
		return fmt.Sprintf("%s/%s/%s", pmuName(host, pmuOf(e)), name, modifiers)
	case plain && differ(events, list, periodTerm):
		return fmt.Sprintf("%s/%s/%s", name, periodTerm(e), modifiers)
	}
	return e.Name
}

// differ reports whether all of some events differ in what of says.
func differ[T comparable](events []*perfdata.Event, list []int, of func(*perfdata.Event) T) bool {
	seen := map[T]bool{}
	for _, i := range list {
		seen[of(events[i])] = true
	}
	return len(seen) == len(list)
}

// pmuOf returns the PMU that counts an event: of the generic ones of a hybrid machine
// it is in the upper half of the config (PERF_PMU_TYPE_SHIFT, perf_event.h).
func pmuOf(e *perfdata.Event) abi.Type {
	if t := abi.Type(e.Attr.Config >> 32); (e.Attr.Type == abi.TypeHardware || e.Attr.Type == abi.TypeHWCache) && t != 0 {
		return t
	}
	return e.Attr.Type
}

func pmuName(host *perfdata.Host, t abi.Type) string {
	for _, p := range host.PMUs {
		if p.Type == t {
			return p.Name
		}
	}
	return ""
}

// corePMUs are the PMUs of a hybrid machine's kinds of CPU.
func corePMUs(host *perfdata.Host) []string {
	var pmus []string
	for _, h := range host.Hybrid {
		pmus = append(pmus, h.PMU)
	}
	return pmus
}

// periodTerm is how perf is told to sample an event so.
func periodTerm(e *perfdata.Event) string {
	if e.Attr.Flags&abi.FlagFreq != 0 {
		return fmt.Sprintf("freq=%d", e.Attr.SamplePeriod)
	}
	return fmt.Sprintf("period=%d", e.Attr.SamplePeriod)
}

// eventNaming is what the events of a recording are called and which are taken. In a pipe
// more may come, and names.
type eventNaming struct {
	host *perfdata.Host // of the recording

	events  []string // as recorded, for which the rest was made
	names   []stacks.EventName
	choices []stacks.Choice
	choice  []int // by index of event; -1 for one that is not taken
	err     error // of the patterns
}

// update follows the events.
func (n *eventNaming) update(events []*perfdata.Event, patterns []string) {
	if len(n.events) == len(events) && !slices.ContainsFunc(events, func(e *perfdata.Event) bool { return n.events[e.Index] != e.Name }) {
		return
	}
	n.events = n.events[:0]
	for _, e := range events {
		n.events = append(n.events, e.Name)
	}
	n.names = eventNames(events, n.host)
	n.choices, n.err = stacks.Choose(n.names, patterns)
	n.choice = slices.Repeat([]int{-1}, len(events))
	for c := range n.choices {
		for _, e := range n.choices[c].Events {
			n.choice[e] = c
		}
	}
}

// takes reports whether an event is one to take. It is called for each sample, so
// names that change are seen only when events are added, and at the end.
func (n *eventNaming) takes(events []*perfdata.Event, patterns []string, index int) bool {
	if len(n.events) != len(events) {
		n.update(events, patterns)
	}
	return n.choice[index] >= 0
}

// mergeChoices makes one event of those of the Set that are shown as one, and names
// all. It returns the index of the first event of the recording for each of the Set, -1 for
// those that are made of pairs.
func (r *rows) mergeChoices(st *Stats) (first []int, err error) {
	n := &r.naming
	n.update(r.events.Events, r.opts.Events)
	if n.err != nil {
		return nil, n.err
	}
	var events []stacks.Event
	const ofPairs = -2
	to := slices.Repeat([]int{ofPairs}, len(r.set.Events))
	at := slices.Repeat([]int{-1}, len(n.choices)) // by choice
	for i, c := range r.columns {
		switch {
		case c < 0:
			continue
		case n.choice[i] < 0, r.withoutMatch(i): // of a name that came late, for one
			to[c], r.columns[i] = -1, -1
			continue
		}
		ch := n.choice[i]
		if at[ch] < 0 {
			at[ch] = len(events)
			e := r.set.Events[c]
			e.Name = n.choices[ch].Name
			events = append(events, e)
			first = append(first, i)
		}
		to[c], r.columns[i] = at[ch], at[ch]
	}
	for c, e := range r.set.Events {
		if to[c] == ofPairs {
			to[c] = len(events)
			st.SpanEvents = append(st.SpanEvents, to[c])
			events, first = append(events, e), append(first, -1)
		}
	}
	for i := range st.Durations {
		st.Durations[i].Event = to[st.Durations[i].Event]
	}
	for i := range st.Calls {
		st.Calls[i].Event = to[st.Calls[i].Event]
	}
	if len(events) == len(to) && slices.IsSorted(to) {
		r.set.Events = events
	} else {
		r.set.MapEvents(events, to)
	}
	return first, nil
}

// withoutMatch reports whether an event has no sample that matches, or that has a value,
// and others have.
func (r *rows) withoutMatch(i int) bool {
	return r.fields.selects() && r.stats.taken[i] == 0 && slices.ContainsFunc(r.stats.taken, func(n uint64) bool { return n > 0 })
}

// shown returns what the Set's event of an event is called, "" if it is not taken.
func (n *eventNaming) shown(index int) string {
	if c := n.choice[index]; c >= 0 {
		return n.choices[c].Name
	}
	return ""
}
