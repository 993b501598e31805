package bootlog

import (
	"strings"

	"kprof/convert/stacks"
)

// Subsystem is what a call belongs to: its module, or else the first word of its
// name, by which functions of the kernel tell theirs; of a probe its driver.
func (c *Call) Subsystem() string {
	switch {
	case c.Kind == Probe && c.Driver != "":
		return c.Driver
	case c.Kind == Probe:
		return "probe"
	case c.Module != "":
		return c.Module
	}
	name := strings.TrimLeft(c.Name, "_0123456789")
	for {
		word, rest, more := strings.Cut(name, "_")
		if !more || rest == "" || word != "init" && word != "do" && word != "register" && word != "late" && word != "early" {
			return word
		}
		name = rest
	}
}

// Title is the name of a call for people: "probe 0000:00:01.1 (ata_piix)".
func (c *Call) Title() string {
	switch {
	case c.Kind == Probe && c.Driver != "":
		return "probe " + c.Name + " (" + c.Driver + ")"
	case c.Kind == Probe:
		return "probe " + c.Name
	case c.Kind == PM:
		return c.Device + " " + c.Name
	case c.Module != "":
		return c.Name + " [" + c.Module + "]"
	}
	return c.Name
}

// frame is the name of a call among stacks: without what only some kernels tell, and without the
// running numbers of async calls (kernel/async.c, next_cookie), so that the stacks of several
// boots can be compared.
func (c *Call) frame() string {
	switch c.Kind {
	case Probe:
		return "probe " + c.Name
	case Async:
		unnumbered := *c
		unnumbered.Name = strings.TrimPrefix(strings.TrimLeft(c.Name, "0123456789"), "_")
		return unnumbered.Title()
	}
	return c.Title()
}

// ByLevel is a comment of Sets in which the outermost frame of initcalls, which have the comm
// InitcallComm, is their level: those of kernels that tell levels.
const (
	ByLevel      = "initcalls are by level"
	InitcallComm = "boot"
)

// Set returns the calls as stacks of one event, "boot", with their number and the time
// that they took themselves. A stack has the level, as far as it is told, the
// subsystem of an initcall, and the calls from the outermost to the innermost; labels are the caller's
// pid, and as comm "boot", "probe", "async" or "pm" of the outermost.
func (l *Log) Set() *stacks.Set {
	s := stacks.New()
	event := s.AddEvent(stacks.Event{Name: "boot", Values: []stacks.ValueType{{Type: "calls", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}}})
	kernel := s.AddMapping(stacks.Mapping{File: "[kernel.kallsyms]", Kind: stacks.KindKernel, HasFunctions: true})
	locations := map[string]uint32{}
	location := func(name string) uint32 {
		id, ok := locations[name]
		if !ok {
			id = s.AddLocation(kernel, 0, stacks.KindKernel)
			s.SetLines(id, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name, SystemName: name})})
			locations[name] = id
		}
		return id
	}
	var stack []uint32
	levels := false
	for i := range l.Calls {
		c, outer := &l.Calls[i], i
		stack = stack[:0]
		for at := i; at >= 0 && len(stack) < maxOuter; at = l.Calls[at].Parent {
			stack = append(stack, location(l.Calls[at].frame()))
			outer = at
		}
		o := &l.Calls[outer]
		comm := InitcallComm
		if o.Kind != Initcall {
			comm = o.Kind.String()
		}
		if o.Kind == Initcall {
			stack = append(stack, location(o.Subsystem()))
		}
		if o.Level != "" {
			levels = levels || o.Kind == Initcall
			stack = append(stack, location(o.Level))
		}
		labels := []stacks.Label{{Key: "comm", Str: comm}}
		if c.PID != 0 {
			labels = append(labels, stacks.Label{Key: "pid", Num: int64(c.PID)})
		}
		s.Add(event, s.Intern(stack), s.InternLabels(labels), 1, int64(c.Self))
	}
	s.DurationNanos = int64(l.Last - l.First)
	if release := l.Release(); release != "" {
		s.Comments = append(s.Comments, "kernel: "+release)
	}
	if levels {
		s.Comments = append(s.Comments, ByLevel)
	}
	if l.Command != "" {
		s.Comments = append(s.Comments, "command: "+l.Command)
	}
	return s
}
