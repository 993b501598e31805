package trace

import (
	"slices"
	"strconv"
	"strings"

	"kprof/convert/span"
	"kprof/convert/trace/ftracetext"
)

// isRepeated reports whether a field behind one has its name.
func isRepeated(fields []ftracetext.Field, i int) bool {
	for j := i + 1; j < len(fields); j++ {
		if fields[j].Name == fields[i].Name {
			return true
		}
	}
	return false
}

// taskFields are the fields of an event in which names of tasks may look like fields, as "x pid=1" does.
func taskFields(fields []ftracetext.Field, event, text string) []ftracetext.Field {
	repeated := event == "sched_switch" && len(fields) > 7
	for i := range fields {
		repeated = repeated || isRepeated(fields, i)
	}
	if !repeated {
		return fields
	}
	if event == "sched_switch" {
		if exact := ftracetext.AppendSwitchFields(fields[:0], text); len(exact) > 0 {
			return exact
		}
	}
	kept := fields[:0]
	for i := range fields { // the kernel prints the name of a task first
		if !isRepeated(fields, i) {
			kept = append(kept, fields[i])
			continue
		}
		if n := len(kept); n > 0 && strings.HasSuffix(kept[n-1].Name, "comm") {
			from, to := strings.Index(text, kept[n-1].Name+"=")+len(kept[n-1].Name)+1, strings.LastIndex(text, " "+fields[i].Name+"=")
			if from <= to {
				kept[n-1].Value = text[from:to]
			}
		}
	}
	return kept
}

// switchFields makes the state of a sched_switch the number that it is in the kernel, and
// the fields of what trace-cmd prints: "swapper/2:0 [120] R ==> kworker/2:1:2923 [120]".
func switchFields(fields []ftracetext.Field, text string) []ftracetext.Field {
	if !strings.Contains(text, "prev_pid=") {
		fields = fields[:0] // of names
		from, to, ok := strings.Cut(text, " ==> ")
		if !ok {
			return fields
		}
		i, j := strings.LastIndex(from, " ["), strings.LastIndex(to, " [")
		if i < 0 || j < 0 {
			return fields
		}
		prio, state, _ := strings.Cut(from[i+2:], "] ")
		a, b := strings.LastIndexByte(from[:i], ':'), strings.LastIndexByte(to[:j], ':')
		if a < 0 || b < 0 {
			return fields
		}
		fields = append(fields, ftracetext.Field{Name: "prev_comm", Value: from[:a]}, ftracetext.Field{Name: "prev_pid", Value: from[a+1 : i]},
			ftracetext.Field{Name: "prev_prio", Value: prio}, ftracetext.Field{Name: "prev_state", Value: state},
			ftracetext.Field{Name: "next_comm", Value: to[:b]}, ftracetext.Field{Name: "next_pid", Value: to[b+1 : j]},
			ftracetext.Field{Name: "next_prio", Value: strings.Trim(to[j+2:], "]")})
	}
	for i := range fields {
		if f := &fields[i]; f.Name == "prev_state" {
			if mask, ok := span.StateMask(f.Value); ok {
				f.Value = strconv.FormatUint(mask, 10)
			}
		}
	}
	return fields
}

// wakeFields are the fields of what trace-cmd prints of a wake-up: "rcu_preempt:15 [120]
// CPU:000".
func wakeFields(fields []ftracetext.Field, text string) []ftracetext.Field {
	if strings.Contains(text, "pid=") {
		return fields
	}
	fields = slices.DeleteFunc(fields, func(f ftracetext.Field) bool { return f.Name != "success" }) // others are of names
	for i := range fields {
		fields[i].Value, _, _ = strings.Cut(fields[i].Value, " ")
	}
	at := strings.LastIndex(text, " [")
	if at < 0 {
		return fields
	}
	who := text[:at]
	prio, rest, ok := strings.Cut(text[at+len(" ["):], "]")
	i := strings.LastIndexByte(who, ':')
	if !ok || i < 0 {
		return fields
	}
	fields = append(fields, ftracetext.Field{Name: "comm", Value: who[:i]}, ftracetext.Field{Name: "pid", Value: who[i+1:]}, ftracetext.Field{Name: "prio", Value: prio})
	if _, cpu, ok := strings.Cut(rest, "CPU:"); ok {
		fields = append(fields, ftracetext.Field{Name: "target_cpu", Value: cpu})
	}
	return fields
}

// callerFields are the fields that an access to a register has without names: "A+0xc4/0x1d4 ->
// B+0x84/0x104 width=32 addr=0x10", of which A is not in Linux 6.1.
func callerFields(fields []ftracetext.Field, text string) []ftracetext.Field {
	callers, _, ok := strings.Cut(text, " width=")
	if !ok || strings.Contains(callers, "=") {
		return fields
	}
	if outer, caller, ok := strings.Cut(callers, " -> "); ok {
		return append(fields, ftracetext.Field{Name: "caller0", Value: offsetOnly(outer)}, ftracetext.Field{Name: "caller", Value: offsetOnly(caller)})
	}
	return append(fields, ftracetext.Field{Name: "caller", Value: offsetOnly(callers)})
}

// offsetOnly is a place in a function without the function's size.
func offsetOnly(s string) string {
	if plus := strings.IndexByte(s, '+'); plus > 0 {
		if slash := strings.IndexByte(s[plus:], '/'); slash > 0 {
			rest := s[plus+slash:]
			if i := strings.IndexByte(rest, ' '); i > 0 { // " [module]"
				return s[:plus+slash] + rest[i:]
			}
			return s[:plus+slash]
		}
	}
	return s
}

// commonFlags are what of common_flags the flags in a line tell: interrupts off, and in which
// of them it was (kernel/trace/trace_output.c, trace_print_lat_fmt). Columns are not the same
// in all kernels, but letters are.
func commonFlags(s string) (flags uint8) {
	const irqsOff, hard, soft, nmi = 0x01, 0x08, 0x10, 0x40
	for i := range len(s) {
		switch s[i] {
		case 'd', 'D':
			flags |= irqsOff
		case 'h':
			flags |= hard
		case 's':
			flags |= soft
		case 'H':
			flags |= hard | soft
		case 'z':
			flags |= nmi
		case 'Z':
			flags |= nmi | hard
		}
	}
	return flags
}
