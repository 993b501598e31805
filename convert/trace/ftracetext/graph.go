package ftracetext

import (
	"cmp"
	"strconv"
	"strings"
)

// graph reads a line of function_graph, which begins with the time, or the CPU:
//
//	  33.867468 |   0)     sh-144     |  ...1. | + 13.494 us   |      vfs_read();
//	0) + 12.348 us   |    vfs_read();
//	1)    <idle>-0    =>   rcu_pre-15
//
// The tracers of latency tell the relative time alone, in whole µs, and always the CPU:
//
//	3750 us |   0)   bash-1507    |  d..1 |   0.516 us    |      do_raw_spin_unlock();
func graph(l *Line, s string) bool {
	rest := strings.TrimPrefix(s, " | ") // of a switch, before Linux 3
	for range 2 {                        // the absolute and the relative time
		before, after, ok := strings.Cut(rest, "|")
		if !ok {
			break
		}
		word := strings.TrimSpace(before)
		if t, isTime := decimal(word, 9); isTime && strings.Contains(word, ".") {
			l.Time, l.HasTime = t, true
			rest = after
		} else if t, isRelative := strings.CutSuffix(word, " us"); isRelative {
			if l.HasTime {
				_, ok = decimal(t, 3)
			} else if l.Time, ok = relative(t, after); ok {
				l.HasTime = true
			}
			if !ok {
				break
			}
			rest = after
		}
	}
	if cpu, after, ok := cutCPU(rest); ok {
		l.CPU, rest = cpu, after
	} else if !l.HasTime && !strings.Contains(rest, "|") {
		return false
	}
	if from, to, ok := strings.Cut(rest, "=>"); ok && l.CPU >= 0 && !strings.Contains(rest, "|") {
		var old Line
		if task(&old, strings.TrimSpace(from)) && task(l, strings.TrimSpace(to)) {
			l.Kind, l.FromTask, l.FromTID = Switch, old.Task, old.TID
			return true
		}
		return false
	}
	if l.CPU < 0 && !l.HasTime && !isColumns(rest) {
		return false
	}
	return columns(l, rest)
}

// relative reads a time that no absolute one is before, in ns: of whole µs, and before a CPU.
// A duration is behind the CPU, or without any.
func relative(us, behind string) (uint64, bool) {
	t, ok := number(us)
	if _, _, placed := cutCPU(behind); !ok || !placed || t > 1<<63/1000 {
		return 0, false
	}
	return t * 1000, true
}

// cutCPU cuts the column of the CPU off.
func cutCPU(s string) (cpu int32, after string, ok bool) {
	before, after, ok := strings.Cut(s, ")")
	n, isNumber := number(strings.TrimSpace(before))
	if !ok || !isNumber || n > maxCPU {
		return -1, s, false
	}
	return int32(n), after, true
}

// arrow reads what the formats of function_graph's events say, which trace-cmd report -N
// prints: "--> vfs_read (1)", "<-- vfs_read (1) (start: 2a3a  end: 2a3f) over: 2".
func arrow(l *Line, s string) bool {
	in, isEnter := strings.CutPrefix(s, "--> ")
	out, isLeave := strings.CutPrefix(s, "<-- ")
	if isLeave {
		in = out
	} else if !isEnter {
		return false
	}
	fn, rest, ok := strings.Cut(in, " (")
	depth, rest, ok2 := strings.Cut(rest, ")")
	n, ok3 := number(depth)
	if !ok || !ok2 || !ok3 || n > 1<<16 || fn == "" {
		return false
	}
	l.Kind, l.Func, l.Depth, l.Text = Enter, function(fn), int(n), s
	if isEnter {
		return true
	}
	l.Kind = Leave
	_, rest, _ = strings.Cut(rest, "start: ")
	start, rest, _ := strings.Cut(rest, " ")
	_, rest, _ = strings.Cut(rest, "end: ")
	end, _, _ := strings.Cut(rest, ")")
	from, err1 := strconv.ParseUint(start, 16, 64)
	to, err2 := strconv.ParseUint(end, 16, 64)
	if err1 == nil && err2 == nil && to >= from {
		l.Duration, l.Timed = to-from, true
	}
	return true
}

// isColumns reports whether text without time and CPU begins with a column: a duration, or
// nothing.
func isColumns(s string) bool {
	before, _, _ := strings.Cut(s, "|")
	_, _, ok := duration(before)
	return ok
}

// columns reads the columns behind the CPU: task, flags, duration; and then the function.
func columns(l *Line, s string) bool {
	blanks := 1 // before the outermost function
	l.Text = strings.TrimLeft(s, " ")
	for range 4 {
		before, after, ok := strings.Cut(s, "|")
		if !ok {
			break
		}
		if d, timed, ok := duration(before); ok {
			l.Duration, l.Timed = d, timed
			l.Text = strings.TrimPrefix(s, " ")
			s, blanks = after, 2
			break
		}
		word := strings.TrimSpace(before)
		if l.TID < 0 && task(l, word) {
			s = after
			l.Text = strings.TrimLeft(s, " ")
			continue
		}
		if isFlags(word) {
			l.Flags, s = word, after
			l.Text = strings.TrimLeft(s, " ")
			continue
		}
		break
	}
	return body(l, s, blanks)
}

// duration reads the column of durations: "+ 13.494 us  ", blanks, or the arrows at the
// begin and end of an interrupt.
func duration(s string) (d uint64, timed, ok bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "=<>") == "" {
		return 0, false, true
	}
	s = strings.TrimLeft(s, "+!#*@$ ")
	digits, ok := strings.CutSuffix(s, " us")
	if !ok {
		return 0, false, false
	}
	digits = strings.TrimSpace(digits)
	if d, ok = decimal(digits, 3); ok && !strings.Contains(digits, ".") {
		d *= 1000
	}
	return d, ok, ok
}

func isFlags(s string) bool {
	if len(s) < 4 || len(s) > 10 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '.' && c != '#' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// body reads the function: behind so many blanks, two for each call above it.
func body(l *Line, s string, blanks int) bool {
	text := strings.TrimLeft(s, " ")
	l.Depth = max(0, len(s)-len(text)-blanks) / 2
	var comment string
	if strings.HasPrefix(text, "/*") {
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text[2:]), "*/"))
		what(l, text)
		return true
	}
	code, value := cutTail(text)
	before, enters := strings.CutSuffix(code, "*/ {") // of trace-cmd, which has the caller before the brace
	if enters {
		code = code[:len(before)+2]
	}
	if i := strings.Index(code, " /* "); i >= 0 && strings.HasSuffix(code, "*/") {
		code, comment = strings.TrimSpace(code[:i]), strings.TrimSpace(code[i+4:len(code)-2])
		code, _ = cutTail(code)
	}
	switch {
	case text == "":
		return l.CPU >= 0 // the begin or end of an interrupt
	case code == "}":
		l.Kind = Leave
		l.Func, l.Return = returned(comment)
		l.Return = cmp.Or(l.Return, value)
		return true
	case enters:
		l.Kind = Enter
	case strings.HasSuffix(code, ";"):
		l.Kind, code = Leaf, code[:len(code)-1]
		_, l.Return = returned(comment)
		l.Return = cmp.Or(l.Return, value)
	case strings.HasSuffix(code, "{"):
		l.Kind, code = Enter, strings.TrimSpace(code[:len(code)-1])
	default:
		return false
	}
	i := strings.IndexByte(code, '(')
	if i <= 0 || !strings.HasSuffix(code, ")") {
		l.Kind = Other
		return false
	}
	l.Func, l.Args = function(code[:i]), code[i+1:len(code)-1]
	return l.Func != ""
}

// cutTail cuts off what trace-cmd has behind a function (trace-ftrace.c, print_graph_entry_leaf): " (2)", its depth, and
// " (ret=0x1)", what it returned, which is value.
func cutTail(s string) (code, value string) {
	code = s
	for range 2 {
		i := strings.LastIndex(code, " (")
		if i <= 0 || !strings.HasSuffix(code, ")") {
			break
		}
		inside := code[i+2 : len(code)-1]
		ret, isReturn := strings.CutPrefix(inside, "ret=")
		if _, isDepth := number(inside); !isReturn && (!isDepth || strings.IndexByte(";{}/", code[i-1]) < 0) {
			break
		}
		if isReturn {
			value = ret
		}
		code = code[:i]
	}
	return code, value
}

// returned reads the comment behind a function's end: its name, what it returned, both
// (" = 0x1", "ret=0x1"), or who called it ("<-caller"). Kernels that know the function's type by BTF have
// "ret=true", and "ret=0x1(trunc)" of what has more bits than a register; nothing of what returns nothing
// (kernel/trace/trace_btf.h, btf_trim_retval).
func returned(s string) (name, value string) {
	for w := range strings.FieldsSeq(s) {
		switch {
		case strings.HasPrefix(w, "<-") || w == "=":
		case strings.HasPrefix(w, "ret="):
			if value = strings.TrimSuffix(w[4:], "(trunc)"); value == "true" {
				value = "1"
			} else if value == "false" {
				value = "0"
			}
		case strings.HasPrefix(w, "0x") || w[0] == '-' || w[0] >= '0' && w[0] <= '9':
			value = w
		case name == "" && w[0] != '(' && w[0] != '[':
			name = function(w)
		}
	}
	return name, value
}
