package ftracetext

import "strings"

// latency reads the latency format, which all tracers have that measure one, what the kernel
// dumps when it crashes, and trace-cmd report -l (kernel/trace/trace_output.c,
// trace_print_lat_context):
//
//	TASK-PID CPUFLAGS TIMEus: REST      after the time, a mark by how long it took
//	TASK-PID CPUFLAGS TIME: REST        of clocks that do not count ns, in ticks
//	TASK-PID CPUFLAGS SECONDS.FRAC: REST   trace-cmd's
//	TASK PID CPU FLAGS PREEMPT INDEX [TIME] MSms (+DIFFms): REST   with the option verbose
//	TASK PID CPU FLAGS PREEMPT INDEX [TIME] TICKS (+DIFF): REST    the same, in ticks
//
// Before all of it trace-cmd has the name of an instance, "instance: ".
func latency(l *Line, s string) bool {
	if latencyOf(l, s) {
		return true
	}
	name, rest, ok := strings.Cut(s, ": ")
	if !ok || strings.ContainsAny(name, " \t") || !latencyOf(l, strings.TrimLeft(rest, " ")) {
		return false
	}
	l.Buffer = name
	return true
}

func latencyOf(l *Line, s string) bool {
	i := strings.Index(s, ": ")
	if i < 0 {
		return false
	}
	head, text := strings.TrimRight(s[:i], " "), s[i+2:]
	if strings.HasSuffix(head, ")") {
		return verbose(l, head, text)
	}
	head = strings.TrimRight(head, "+!#*@$ ")
	unit := uint64(1)
	head, us := strings.CutSuffix(head, "us")
	if us {
		unit = 1000
	}
	at := strings.LastIndexByte(head, ' ')
	if at < 0 {
		return false
	}
	word := head[at+1:]
	digits, point := 0, strings.Contains(word, ".")
	if point && !us {
		digits = 9
	}
	t, ok := decimal(word, digits)
	if !ok || t > 1<<63/1000 && us {
		return false
	}
	head = strings.TrimRight(head[:at], " ")
	flags := head[strings.LastIndexByte(head, ' ')+1:]
	who := strings.TrimRight(head[:len(head)-len(flags)], " ")
	n := 0
	for n < len(flags) && flags[n] >= '0' && flags[n] <= '9' {
		n++
	}
	// The digits of the CPU, and behind them the flags, of which the first is no digit.
	cpu, ok := number(flags[:n])
	if !ok || cpu > maxCPU || !isFlags(flags[n:]) || !task(l, who) {
		return false
	}
	l.CPU, l.Flags, l.Time, l.HasTime, l.Ticks = int32(cpu), flags[n:], t*unit, true, !point && !us
	what(l, text)
	return true
}

// verbose reads the latency format with the option verbose.
func verbose(l *Line, head, text string) bool {
	open := strings.LastIndexByte(head, '(')
	if open < 0 || !strings.HasPrefix(head[open:], "(+") {
		return false
	}
	words := strings.Fields(head[:open])
	if len(words) < 7 {
		return false
	}
	fixed := 6 // PID CPU FLAGS PREEMPT INDEX, and the time
	if words[len(words)-2][0] == '[' {
		fixed = 7
	}
	last, ms := strings.CutSuffix(words[len(words)-1], "ms")
	t, ok := decimal(last, 6)
	if !ok || len(words) < fixed+1 {
		return false
	}
	columns := words[len(words)-fixed:]
	pid, ok1 := number(columns[0])
	cpu, ok2 := number(columns[1])
	if !ok1 || !ok2 || pid >= 1<<31 || cpu > maxCPU {
		return false
	}
	name := strings.Index(head, " "+columns[0]+" ")
	if name < 0 {
		return false
	}
	l.Task, l.TID, l.CPU, l.Time, l.HasTime, l.Ticks = strings.TrimSpace(head[:name]), int32(pid), int32(cpu), t, true, !ms
	if flags, ok := number(columns[2]); ok {
		l.Flags = letters(flags)
	}
	what(l, text)
	return true
}

// letters are what the kernel writes for common_flags without the option verbose: whether interrupts are off, and in
// which of them it is (kernel/trace/trace_output.c, trace_print_lat_fmt).
func letters(flags uint64) string {
	off, in := ".", [...]string{".", "s", "h", "H", "z", "z", "Z", "Z"}
	if flags&0x01 != 0 {
		off = "d"
	}
	return off + in[flags>>4&1|flags>>3&1<<1|flags>>6&1<<2]
}
