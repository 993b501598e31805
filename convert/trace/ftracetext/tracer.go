package ftracetext

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kprof/perfevent/lazyregexp"
)

// tracerEvents are what the tracer tells without the name of an event, by the names of a trace.dat
// (kernel/trace/trace_output.c and trace_entries.h). Groups are fields.
var tracerEvents = []struct {
	name string
	form func() *regexp.Regexp
}{
	// "#1     context    irq timer_latency       932 ns"
	{"timerlat", lazyregexp.New(`^#(?P<seqnum>\d+) +context +(?P<context>irq|thread|user-ret) timer_latency +(?P<timer_latency>\d+) ns$`)},
	// "#1     inner/outer(us):   11/12    ts:1581527483.343962693 count:6 nmi-total:4 nmi-count:1"
	{"hwlat", lazyregexp.New(`^#(?P<seqnum>\d+) +inner/outer\(us\): +(?P<duration>\d+)/(?P<outer_duration>\d+) +ts:(?P<tv_sec>\d+)\.(?P<tv_nsec>\d+)( count:(?P<count>\d+))?( nmi-total:(?P<nmi_total_ts>\d+))?( nmi-count:(?P<nmi_count>\d+))?$`)},
	// "1000000        190  99.98100       9     18      0   1007     18      1"
	{"osnoise", lazyregexp.New(`^(?P<runtime>\d+) +(?P<noise>\d+) +\d+\.\d{5} +(?P<max_sample>\d+) +(?P<hw_count>\d+) +(?P<nmi_count>\d+) +(?P<irq_count>\d+) +(?P<softirq_count>\d+) +(?P<thread_count>\d+)$`)},
	// "0:120:R ==> [003]  2389: 94:R sleep", "0:120:R   + [003]  2389: 94:R sleep"
	{"context_switch", lazyregexp.New(`^(?P<prev_pid>\d+): *(?P<prev_prio>\d+):(?P<prev_state>\S) ==> \[(?P<next_cpu>\d+)\] +(?P<next_pid>\d+): *(?P<next_prio>\d+):(?P<next_state>\S) (?P<next_comm>.*)$`)},
	{"wakeup", lazyregexp.New(`^(?P<prev_pid>\d+): *(?P<prev_prio>\d+):(?P<prev_state>\S)   \+ \[(?P<next_cpu>\d+)\] +(?P<next_pid>\d+): *(?P<next_prio>\d+):(?P<next_state>\S) (?P<next_comm>.*)$`)},
	// "259,0    Q  RA 0 + 256 [dd]", "259,0    C  RA 0 + 256 [-5]", "259,0    U   N [dd] 1", "8,0    A   W 123 + 8 <- (8,1) 60",
	// of the tracer blk (kernel/trace/blktrace.c), by the name that trace-cmd has for it
	{"blktrace", lazyregexp.New(`^(?P<dev>\d+,\d+) +([0-9a-f]+,[0-9a-f-]+ +|/\S* +)?(?P<action>[A-Z]{1,2}|[a-z_]+) +(?P<rwbs>[A-Z]+) (?P<sector>\d+)?( \+ (?P<nr_sector>\d+))?.*?(\[((?P<error>-?\d+)|(?P<comm>[^\]]+))\]( \d+)?)?$`)},
	// "[ MISS ] vfs_read:read_write.c:450", of the tracer branch
	{"branch", lazyregexp.New(`^\[ +(?P<correct>ok|MISS) +\] (?P<func>[^:]+):(?P<file>[^:]+):(?P<line>\d+)$`)},
	// "# 2a buf: 01 02 ff", of trace_marker_raw
	{"raw_data", lazyregexp.New(`^# (?P<id>[0-9a-f]{1,8}) buf:(?P<buf>( [0-9a-f]{2})*)$`)},
	// The same by their print fmt, as trace-cmd report has them behind their names (kernel/trace/trace_entries.h).
	{"timerlat", lazyregexp.New(`^seq:(?P<seqnum>\d+)\s+context:(?P<context>\d+)\s+timer_latency:(?P<timer_latency>\d+)$`)},
	{"hwlat", lazyregexp.New(`^cnt:(?P<seqnum>\d+)\s+ts:(?P<tv_sec>\d+)\.(?P<tv_nsec>\d+)\s+inner:(?P<duration>\d+)\s+outer:(?P<outer_duration>\d+)(\s+count:(?P<count>\d+))?\s+nmi-ts:(?P<nmi_total_ts>\d+)\s+nmi-count:(?P<nmi_count>\d+)$`)},
	{"osnoise", lazyregexp.New(`^noise:(?P<noise>\d+)\s+max_sample:(?P<max_sample>\d+)\s+hw:(?P<hw_count>\d+)\s+nmi:(?P<nmi_count>\d+)\s+irq:(?P<irq_count>\d+)\s+softirq:(?P<softirq_count>\d+)\s+thread:(?P<thread_count>\d+)$`)},
	{"context_switch", lazyregexp.New(`^(?P<prev_pid>\d+):(?P<prev_prio>\d+):(?P<prev_state>\d+)  ==> (?P<next_pid>\d+):(?P<next_prio>\d+):(?P<next_state>\d+) \[(?P<next_cpu>\d+)\]$`)},
	{"wakeup", lazyregexp.New(`^(?P<prev_pid>\d+):(?P<prev_prio>\d+):(?P<prev_state>\d+)  ==\+ (?P<next_pid>\d+):(?P<next_prio>\d+):(?P<next_state>\d+) \[(?P<next_cpu>\d+)\]$`)},
	{"branch", lazyregexp.New(`^(?P<line>\d+):(?P<func>[^:]+):(?P<file>[^:]+) \((?P<correct>[01])\)( CONST)?$`)},
}

// contexts are those that timerlat measures, by their numbers (kernel/trace/trace_osnoise.c).
var contexts = []string{"irq", "thread", "user-ret"}

// states are the letters of tasks' states, by their numbers (include/linux/sched.h, task_index_to_char).
const states = "RSDTtXZPI"

// recorded is the value of a field as it is in the ring buffer, where the text has a word or a letter for it.
func recorded(event, field, value string) string {
	n := -1
	switch {
	case event == "raw_data" && field == "id":
		return "0x" + value
	case event == "raw_data":
		return strings.TrimPrefix(value, " ")
	case strings.HasSuffix(field, "comm"):
		return value
	case field == "dev":
		major, minor, _ := strings.Cut(value, ",")
		a, err1 := strconv.ParseUint(major, 10, 12)
		b, err2 := strconv.ParseUint(minor, 10, 20)
		if err1 == nil && err2 == nil {
			return strconv.FormatUint(a<<20|b, 10)
		}
	case field == "correct" && value == "ok":
		return "1"
	case field == "correct" && value == "MISS":
		return "0"
	case field == "context":
		n = slices.Index(contexts, value)
	case strings.HasSuffix(field, "_state"):
		n = strings.Index(states, value)
	}
	if n >= 0 {
		return strconv.Itoa(n)
	}
	if n, err := strconv.ParseUint(value, 10, 64); err == nil { // "003"
		return strconv.FormatUint(n, 10)
	}
	return value
}

// tracerEvent is the event of a text that no name is before, as a tracer tells it; empty for none.
func tracerEvent(s string) string {
	if s != "" && (s[0] == '#' || s[0] == '[' || s[0] >= '0' && s[0] <= '9') {
		for _, e := range tracerEvents {
			if e.form().MatchString(s) {
				return e.name
			}
		}
	}
	return ""
}

// unknownType is the number of an event that the kernel does not print: of one whose module is gone, and with the
// option fields of stacks (kernel/trace/trace.c, print_trace_fmt; trace_output.c, trace_nop_print and
// print_event_fields). It is the name of such an event.
func unknownType(s string) string {
	for _, head := range [...]string{"UNKNOWN TYPE ", "Unknown type ", "type: "} {
		if n, ok := strings.CutPrefix(s, head); ok {
			if _, ok = number(n); ok {
				return n
			}
		}
	}
	return ""
}

// OfTracer reports whether an event is one of those that tracers tell without a name.
func OfTracer(event string) bool {
	for _, e := range tracerEvents {
		if e.name == event {
			return true
		}
	}
	return false
}

// AppendTracerFields appends the fields in the text of such an event.
func AppendTracerFields(dst []Field, event, text string) []Field {
	for _, e := range tracerEvents {
		if e.name != event {
			continue
		}
		m := e.form().FindStringSubmatch(text)
		for i, name := range e.form().SubexpNames() {
			if i >= len(m) || name == "" || m[i] == "" {
				continue
			}
			dst = append(dst, Field{Name: name, Value: recorded(event, name, m[i])})
		}
	}
	return dst
}
