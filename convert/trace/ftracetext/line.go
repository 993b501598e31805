package ftracetext

import (
	"strings"

	"kprof/perfevent/format"
)

// Kind is what a line is.
type Kind uint8

// The kinds of lines.
const (
	Other  Kind = iota // comments, blank lines, what is not known
	Event              // Name and Text
	Call               // of the function tracer: Func and Caller, which may be empty
	Stack              // the head of a stack, of user space if User; Func, if its first frame is on the line
	Frame              // a function of a stack: Func, empty for what the tracer made
	Lost               // Count events of CPU, 0 where the line does not tell how many
	Enter              // function_graph: Func begins
	Leave              // function_graph: Func ends, whose name is mostly not told
	Leaf               // function_graph: both
	Switch             // function_graph: CPU goes on with Task and TID
)

// Line is a line. Fields that it lacks are zero, but CPU, TID, TGID and FromTID, which are -1.
type Line struct {
	Kind     Kind
	Buffer   string // name of the instance, where trace-cmd report tells it
	Task     string
	TID      int32
	TGID     int32
	FromTask string
	FromTID  int32 // of a Switch, the task before
	CPU      int32
	Flags    string
	Time     uint64 // ns
	HasTime  bool
	Ticks    bool   // Time is in ticks of a clock that does not count ns
	Name     string // of an event, and of function_graph's lines in trace-cmd report
	Text     string // of an event; of function_graph's lines, the columns from the duration on; of a Call, what is behind it
	Func     string
	Caller   string
	User     bool
	Depth    int
	Duration uint64 // ns
	Timed    bool   // there is a Duration
	Args     string // of a function, without parentheses
	Return   string // what it returned
	Count    uint64 // of Lost, and of a Call how often it came again
}

// maxCPU bounds the numbers of CPUs; the kernel has 8192 at most (NR_CPUS).
const maxCPU = 1 << 13

// CPU reads the number of a CPU.
func CPU(s string) (int32, bool) {
	n, ok := number(s)
	return int32(n), ok && n <= maxCPU
}

// Parse says what a line is.
func Parse(s string) (l Line) {
	l.TID, l.TGID, l.FromTID, l.CPU = -1, -1, -1, -1
	s = strings.TrimRight(s, " \t\r\n")
	trimmed := strings.TrimLeft(s, " \t")
	switch {
	case trimmed == "" || trimmed[0] == '#':
		return l
	case strings.HasPrefix(trimmed, "=> "):
		l.Kind, l.Func = Frame, function(trimmed[3:])
		return l
	case strings.HasPrefix(trimmed, "CPU:") && lost(&l, trimmed[4:]):
		return l
	case strings.HasPrefix(trimmed, "CPU:") && pstore(&l, trimmed[4:]):
		return l
	case lostOf(&l, trimmed):
		return l
	case event(&l, trimmed), graph(&l, s), latency(&l, trimmed):
		return l
	}
	return Line{TID: -1, TGID: -1, FromTID: -1, CPU: -1}
}

// lost reads "0 [LOST 12 EVENTS]", and trace-cmd's "0 [EVENTS DROPPED]" and "0 [12 EVENTS
// DROPPED]".
func lost(l *Line, s string) bool {
	cpu, rest, _ := strings.Cut(s, " ")
	n, ok := number(cpu)
	rest = strings.TrimSpace(rest)
	if !ok || n > maxCPU || !strings.HasPrefix(rest, "[") || !strings.HasSuffix(rest, "]") {
		return false
	}
	rest = rest[1 : len(rest)-1]
	if !strings.Contains(rest, "LOST") && !strings.Contains(rest, "DROPPED") {
		return false
	}
	for w := range strings.FieldsSeq(rest) {
		if v, ok := number(w); ok {
			l.Count = v
		}
	}
	l.Kind, l.CPU = Lost, int32(n)
	return true
}

// lostOf reads "instance: CPU:0 [12 EVENTS DROPPED]" of trace-cmd.
func lostOf(l *Line, s string) bool {
	name, rest, ok := strings.Cut(s, ": CPU:")
	if !ok || name == "" || strings.ContainsAny(name, " \t") || !lost(l, rest) {
		return false
	}
	l.Buffer = name
	return true
}

// pstore reads "0 ts:123 ffffffff8101ea64  ffffffff8101bcda  callee <- caller+0x6a/0xc0": of
// the file ftrace-* in pstore (fs/pstore/inode.c). Its times only count.
func pstore(l *Line, s string) bool {
	cpu, rest, _ := strings.Cut(s, " ")
	n, ok := number(cpu)
	t, rest, _ := strings.Cut(strings.TrimPrefix(rest, "ts:"), " ")
	ts, ok2 := number(t)
	if !ok || !ok2 || n > maxCPU {
		return false
	}
	fn, caller, ok := strings.Cut(rest, " <- ")
	words := strings.Fields(fn)
	if !ok || len(words) != 3 {
		return false
	}
	l.Kind, l.CPU, l.Time, l.HasTime, l.Ticks = Call, int32(n), ts, true, true
	l.Func, l.Caller = function(words[2]), function(caller)
	return true
}

// maxDigits is how many digits a number has at most.
const maxDigits = 19

// number reads a decimal number.
func number(s string) (v uint64, ok bool) {
	if s == "" || len(s) > maxDigits {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		v = v*10 + uint64(s[i]-'0')
	}
	return v, true
}

// decimal reads "12.345678" as a number of units, each of so many digits behind the point;
// further digits are left out. A number without a point is itself.
func decimal(s string, digits int) (v uint64, ok bool) {
	whole, frac, point := strings.Cut(s, ".")
	v, ok = number(whole)
	if !ok || !point {
		return v, ok
	}
	if _, ok = number(frac); !ok || v > 1<<33 {
		return 0, false
	}
	for i := range digits {
		v *= 10
		if i < len(frac) {
			v += uint64(frac[i] - '0')
		}
	}
	return v, true
}

// trampoline is a frame in what the tracer made to be called by functions (kernel/trace/
// trace_output.c, trace_stack_print).
const trampoline = "[FTRACE TRAMPOLINE]"

// function is the name in "vfs_read+0x1a/0x200 [module] <ffffffff81234567>", empty of the
// trampoline.
func function(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, trampoline) {
		return ""
	}
	if addr, ok := strings.CutPrefix(s, "<"); ok { // nothing but an address
		addr, _, _ = strings.Cut(addr, ">")
		if addr = strings.TrimLeft(addr, "0"); addr != "" {
			return "0x" + addr
		}
		return "0x0"
	}
	if i := strings.IndexAny(s, " \t"); i > 0 {
		s = s[:i]
	}
	if i := strings.Index(s, "+0x"); i > 0 && s[i-1] != '[' {
		s = s[:i]
	}
	return s
}

// maxWho bounds what is before the CPU of an event: the name of an instance, of 255 bytes at most, as
// the name of a task, and numbers.
const maxWho = 512

// event reads "TASK-PID (TGID) [CPU] FLAGS TIME: REST".
func event(l *Line, s string) bool {
	for from := 0; from < maxWho; {
		i := strings.IndexByte(s[from:min(len(s), maxWho)], '[')
		if i < 0 {
			return false
		}
		i += from
		from = i + 1
		j := strings.IndexByte(s[i:min(len(s), i+maxDigits+2)], ']')
		if j < 0 {
			continue
		}
		cpu, ok := number(s[i+1 : i+j])
		if !ok || cpu > maxCPU || !task(l, strings.TrimRight(s[:i], " ")) {
			continue // a name has a bracket
		}
		l.CPU = int32(cpu)
		return rest(l, strings.TrimLeft(s[i+j+1:], " "))
	}
	return false
}

// task reads "TASK-PID" or "TASK-PID (TGID)". A name may have blanks and hyphens.
func task(l *Line, s string) bool {
	tgid := int32(-1)
	if strings.HasSuffix(s, ")") {
		i := strings.LastIndexByte(s, '(')
		if i < 0 {
			return false
		}
		if n, ok := number(strings.Trim(s[i+1:len(s)-1], " ")); ok && n < 1<<31 {
			tgid = int32(n)
		} else if strings.Trim(s[i+1:len(s)-1], " -") != "" {
			return false
		}
		s = strings.TrimRight(s[:i], " ")
	}
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return false
	}
	pid, ok := number(s[i+1:])
	if !ok || pid >= 1<<31 {
		return false
	}
	name := strings.TrimSpace(s[:i])
	// "instance:          sh-99": names are aligned, so that there is more than one blank.
	if i := strings.Index(name, ":  "); i > 0 && !strings.ContainsAny(name[:i], " \t") {
		l.Buffer, name = name[:i], strings.TrimSpace(name[i+1:])
	}
	l.Task, l.TID, l.TGID = name, int32(pid), tgid
	return true
}

// rest reads "FLAGS TIME: REST", of which there may be no flags.
func rest(l *Line, s string) bool {
	word, after, _ := strings.Cut(s, " ")
	if !strings.HasSuffix(word, ":") {
		l.Flags = word
		if len(word) > 10 {
			return false
		}
		word, after, _ = strings.Cut(strings.TrimLeft(after, " "), " ")
	}
	t, ok := decimal(strings.TrimSuffix(word, ":"), 9)
	if !ok || !strings.HasSuffix(word, ":") {
		return false
	}
	l.Time, l.HasTime, l.Ticks = t, true, !strings.Contains(word, ".")
	if after = strings.TrimLeft(after, " "); strings.HasPrefix(after, "(+") { // trace-cmd report --ts-diff
		if _, behind, ok := strings.Cut(after, ")"); ok {
			after = behind
		}
	}
	what(l, after)
	return true
}

// what reads what is behind the time.
func what(l *Line, s string) {
	s = strings.TrimLeft(s, " \t")
	message := strings.HasPrefix(s, "bputs:") || strings.HasPrefix(s, "bprint:") || strings.HasPrefix(s, "print:")
	if message {
		_, s, _ = strings.Cut(s, ":") // of trace-cmd report
		s = strings.TrimLeft(s, " ")
	}
	switch {
	case strings.HasPrefix(s, "<stack trace"), strings.HasPrefix(s, "<user stack"):
		l.Kind, l.User = Stack, s[1] == 'u'
		return
	case strings.HasPrefix(s, "kernel_stack:"), strings.HasPrefix(s, "user_stack:"):
		l.Kind, l.User = Stack, s[0] == 'u'
		// Where trace-cmd prints by the event's format: "\t=> %ps\n\t=> %ps\n…"
		// (kernel/trace/trace_entries.h).
		_, s, _ = strings.Cut(s, ":")
		if frame, ok := strings.CutPrefix(strings.TrimLeft(s, " \t"), "=> "); ok {
			l.Func = function(frame)
		}
		return
	case strings.HasPrefix(s, "funcgraph_entry:"), strings.HasPrefix(s, "funcgraph_exit:"), strings.HasPrefix(s, "fgraph_retaddr_entry:"):
		l.Name, s, _ = strings.Cut(s, ":") // of trace-cmd report: the columns of function_graph follow
		if !arrow(l, strings.TrimLeft(s, " ")) && !columns(l, s) {
			l.Kind, l.Text = Event, strings.TrimLeft(s, " ")
		}
		return
	case strings.HasPrefix(s, "func_repeats:"):
		s = strings.TrimLeft(s[len("func_repeats:"):], " ")
		if call, n := reportedRepeats(s); n > 0 {
			fn, caller, _ := strings.Cut(call, " <-")
			if l.Func = function(fn); l.Func != "" {
				l.Kind, l.Caller, l.Count, l.Text = Call, function(strings.TrimPrefix(caller, "-")), n, s[len(call):]
				return
			}
		}
		l.Kind, l.Name, l.Text = Event, "func_repeats", s
		return
	case strings.HasPrefix(s, "function:"):
		s = strings.TrimLeft(s[len("function:"):], " ")
		// Without the option parent of trace-cmd's plugin there is no caller.
		if fn, caller, ok := strings.Cut(s, " <-- "); function(fn) != "" && (ok || !strings.Contains(fn, " ")) {
			l.Kind, l.Func, l.Caller = Call, function(fn), function(caller)
			return
		}
	}
	if name := tracerEvent(s); !message && name != "" {
		l.Kind, l.Name, l.Text = Event, name, s
		return
	}
	if name := unknownType(s); !message && name != "" {
		l.Kind, l.Name, l.Text = Event, name, s
		return
	}
	var again uint64
	if call, count, ok := cutRepeats(s); ok {
		l.Text = s[len(call):]
		s, again = call, count
	}
	if fn, caller, ok := strings.Cut(s, " <-"); ok && !strings.Contains(fn, ": ") && function(fn) != "" {
		if name, args, ok := strings.Cut(fn, "("); ok && function(name) != "" && strings.HasSuffix(args, ")") { // func-args
			fn, l.Args = name, args[:len(args)-1]
		}
		l.Kind, l.Func, l.Caller, l.Count = Call, function(fn), function(caller), again
		return
	}
	if !message && alone(l, s) {
		l.Count = again
		return
	}
	l.Kind = Event
	name, text, ok := strings.Cut(s, ":")
	if name == "0" && ok {
		name = markedBy // the kernel has 0 for it before Linux 3.3 (kernel/trace/trace.c, tracing_mark_write)
	}
	if ok && format.IsFieldName(name) {
		l.Name, l.Text = name, strings.TrimLeft(text, " ")
		return
	}
	// What programs and trace_printk() wrote, behind the function that did, in a module or with sym-offset or sym-addr.
	if fn := name[:nameEnd(name)]; ok && !message && format.IsFieldName(fn) && isPlace(name[len(fn):]) {
		l.Name, l.Text = fn, strings.TrimLeft(text, " ")
		return
	}
	if i := strings.IndexAny(s, "( "); i > 0 && format.IsFieldName(s[:i]) && (s[i] == '(' || strings.HasPrefix(s[i:], " -> ")) {
		l.Name, l.Text = syscallEvent(s[:i], s[i] == '('), s
		return
	}
	l.Name, l.Text = "print", s
}

// cutRepeats cuts off what is behind a call that came again with nothing between, of which the tracer
// with its option func-no-repeats tells the number alone (kernel/trace/trace_output.c,
// trace_func_repeats_print): "vfs_read <-ksys_read (repeats: 3, last_ts:    12.000020)".
func cutRepeats(s string) (call string, count uint64, ok bool) {
	i := strings.LastIndex(s, " (repeats: ")
	if i < 0 || !strings.HasSuffix(s, ")") {
		return s, 0, false
	}
	n, last, ok := strings.Cut(s[i+len(" (repeats: "):], ", last_ts:")
	if count, isNumber := number(n); ok && isNumber && last != "" {
		return s[:i], count, true
	}
	return s, 0, false
}

// reportedRepeats cuts off what trace-cmd report has behind such a call, " (count: 3  last_ts:    12.000020)", with -N
// "\t(repeats:3  delta: -2000)"; times is 0 where there is none of it.
func reportedRepeats(s string) (call string, times uint64) {
	for _, head := range [...]string{" (count: ", "\t(repeats:"} {
		if call, rest, ok := strings.Cut(s, head); ok {
			n, _, _ := strings.Cut(rest, " ")
			times, _ = number(n)
			return call, times
		}
	}
	return s, 0
}

// markedBy is the function that writes what programs write into trace_marker, by which such lines are known.
const markedBy = "tracing_mark_write"

// syscallEvent is the event of "sys_openat(dfd: …)", where a system call begins, and of "sys_openat ->
// 0x3", where it ends, by the name of the call (kernel/trace/trace_syscalls.c, print_syscall_enter and
// print_syscall_exit; include/linux/syscalls.h, SYSCALL_TRACE_ENTER_EVENT).
func syscallEvent(call string, begins bool) string {
	name, ok := strings.CutPrefix(call, "sys_")
	switch {
	case !ok:
		return call
	case begins:
		return "sys_enter_" + name
	}
	return "sys_exit_" + name
}

// alone reads a function without its caller, as the function tracer shows it with noprint-parent:
// "vfs_read", "vfs_read+0x0/0x80 [module] <ffffffff81234567>", and with func-args "vfs_read(file=0x1)".
// All else has a colon behind its name, but system calls.
func alone(l *Line, s string) bool {
	end := nameEnd(s)
	if end == 0 || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	rest := s[end:]
	if args, ok := strings.CutPrefix(rest, "("); ok && strings.HasSuffix(args, ")") && !strings.HasPrefix(s, "sys_") {
		l.Args, rest = args[:len(args)-1], ""
	}
	if !isPlace(rest) {
		return false
	}
	l.Kind, l.Func = Call, s[:end]
	return true
}

// nameEnd is how long the name of a function is that s begins with.
func nameEnd(s string) int {
	end := strings.IndexFunc(s, func(r rune) bool { return (r > 127 || !isNameByte(byte(r))) && r != '.' && r != '$' })
	if end < 0 {
		return len(s)
	}
	return end
}

// isPlace reports whether nothing but where in it, its module and its address are behind a function.
func isPlace(rest string) bool {
	for w := range strings.FieldsSeq(rest) {
		switch last := w[len(w)-1]; {
		case strings.HasPrefix(w, "+0x") && last != ':', w[0] == '[' && last == ']', w[0] == '<' && last == '>':
		default:
			return false
		}
	}
	return true
}
