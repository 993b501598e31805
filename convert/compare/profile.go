package compare

import (
	"fmt"
	"slices"
	"strings"

	"kprof/convert"
	"kprof/convert/diff"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
)

// eventName returns the name of an event of a profile, "" if it is not known: profiles of
// pprof have the names of values, and folded stacks have none.
func eventName(p *convert.Profile, event int) string {
	s := p.Set
	e := &s.Events[event]
	if p.Events != nil || isBoot(e) {
		return e.Name
	}
	// Those that convert wrote name theirs, in their order.
	names := p.CommentedEvents()
	if len(names) == len(s.Events) {
		return names[event]
	}
	// With several events pprof's values are named after them.
	if slices.Contains(names, e.Name) || len(s.Events) > 1 && len(s.Mappings) > 0 || isCounted(e.Name) {
		return e.Name
	}
	return ""
}

// isCounted tells events of which each occurrence is a sample, by their names: tracepoints
// and probes, "syscalls:sys_enter_read".
func isCounted(name string) bool {
	system, event, ok := strings.Cut(name, ":")
	return ok && len(event) > 3 && system != "" && !strings.ContainsAny(name, "/ ") && !abi.IsModifiers(event)
}

// isBoot tells the event of a boot log: see bootlog.Log.Set.
func isBoot(e *stacks.Event) bool {
	return len(e.Values) == 2 && e.Values[0] == stacks.ValueType{Type: "calls", Unit: "count"} &&
		e.Values[1] == stacks.ValueType{Type: "time", Unit: "nanoseconds"}
}

// machineOf is what the profile's comments say of where it was recorded: those that
// convert writes.
func machineOf(p *convert.Profile) (m diff.Machine) {
	for _, c := range p.Set.Comments {
		what, value, _ := strings.Cut(c, ": ")
		switch what {
		case "host":
			m.Host = value
		case "kernel":
			m.Kernel, m.Arch, _ = strings.Cut(value, " ")
		case "cpu":
			m.CPU = value
		}
	}
	for i := range p.Set.Mappings {
		if k := &p.Set.Mappings[i]; k.Kind == stacks.KindKernel && k.BuildID != "" {
			m.BuildID = k.BuildID
		}
	}
	return m
}

// lostOf is the number of records or samples that the profile lacks.
func lostOf(p *convert.Profile) uint64 {
	if n := p.Stats.Lost + p.Stats.LostSamples; n > 0 {
		return n
	}
	var sum uint64
	for _, c := range p.Set.Comments {
		var n uint64
		if _, err := fmt.Sscanf(c, "warning: lost %d", &n); err == nil {
			sum += n
		}
	}
	return sum
}
