package ftracetext

import (
	"strconv"
	"strings"

	"kprof/perfevent/lazyregexp"
)

// Field is a name=value in the text of an event.
type Field struct {
	Name, Value string
	Quoted      bool // Value was between quotes, as strings of dynamic probes are
}

// AppendFields appends the fields in the text of an event. A value goes on to the next
// " name=", so that names of tasks may have blanks, or from a quote to the next.
func AppendFields(dst []Field, text string) []Field {
	from := -1          // where the last field's value begins
	quotes := len(text) // none behind here ends a value
	for at := 0; at < len(text); {
		eq := strings.IndexByte(text[at:], '=')
		if eq < 0 {
			break
		}
		eq += at
		at = eq + 1
		start := eq
		for start > 0 && isNameByte(text[start-1]) {
			start--
		}
		if start == eq || text[start] >= '0' && text[start] <= '9' || at < len(text) && text[at] == '=' ||
			start > 0 && !strings.ContainsRune(" ,;({[\t", rune(text[start-1])) {
			continue
		}
		if from >= 0 {
			dst[len(dst)-1].Value = value(text[from:start])
		}
		f := Field{Name: text[start:eq]}
		if from = at; at < quotes && text[at] == '"' {
			if n := quoteEnd(text[at+1:]); n >= 0 {
				f.Value, f.Quoted, from = text[at+1:at+1+n], true, -1
				at += n + 2
			} else {
				quotes = at
			}
		}
		dst = append(dst, f)
	}
	if from >= 0 {
		dst[len(dst)-1].Value = value(text[from:])
	}
	return dst
}

// switchForm is the text of a sched_switch. What lies between the two names is longer than a name.
var switchForm = lazyregexp.New(`^prev_comm=(.*?) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(\S+)(?: ==>)? next_comm=(.*) next_pid=(\d+) next_prio=(-?\d+)`)

// switchNames are its fields.
var switchNames = [...]string{"prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"}

// AppendSwitchFields appends the fields in the text of a sched_switch, whatever its tasks are called; none if it
// is no such text.
func AppendSwitchFields(dst []Field, text string) []Field {
	m := switchForm().FindStringSubmatch(text)
	if m == nil {
		return dst
	}
	for i, name := range switchNames {
		dst = append(dst, Field{Name: name, Value: m[i+1]})
	}
	return dst
}

// quoteEnd is where in s the quote is that ends a value, -1 for nowhere. The kernel puts no mark before
// those within one (kernel/trace/trace_probe.c): what ends it has nothing of a value behind it.
func quoteEnd(s string) int {
	for at := 0; ; at++ {
		i := strings.IndexByte(s[at:], '"')
		if i < 0 {
			return -1
		}
		if at += i; at+1 == len(s) || strings.IndexByte(" ,;)}]\t", s[at+1]) >= 0 {
			return at
		}
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// value is a value without what separates it from the next.
func value(s string) string {
	s = strings.TrimSpace(s)
	s = strings.TrimSpace(strings.TrimSuffix(s, "==>")) // of sched_switch
	s = strings.TrimSpace(strings.TrimRight(s, ",;({["))
	if pointer, ok := strings.CutPrefix(s, "(0x"); ok && strings.HasSuffix(s, ")") { // of the option fields
		return s[1 : len(pointer)+2]
	}
	// "contention_end: 00000000dc2cb5d7 (ret=0)", "softirq_entry: vec=1 [action=TIMER]"
	for _, pair := range [...]string{"()", "[]"} {
		if strings.HasSuffix(s, pair[1:]) && strings.Count(s, pair[1:]) > strings.Count(s, pair[:1]) {
			s = strings.TrimSpace(s[:len(s)-1])
		}
	}
	return s
}

// Number reads a value that is a number, as C writes them or as pointers are printed; other text
// of digits alone is decimal. One that is too large for an int64 has the same bits, see Unsigned.
func (f *Field) Number() (v int64, ok bool) {
	s := f.digits()
	if f.Quoted {
		return 0, false
	}
	if isPointer(s) {
		u, err := strconv.ParseUint(s, 16, 64)
		return int64(u), err == nil
	}
	if s == "" || len(s) > 20 || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return 0, false
	}
	if strings.HasPrefix(s, "0x") {
		u, err := strconv.ParseUint(s[2:], 16, 64)
		return int64(u), err == nil
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil && s[0] != '-' {
		var u uint64
		u, err = strconv.ParseUint(s, 10, 64)
		v = int64(u)
	}
	return v, err == nil
}

// Unsigned reports whether the value is a decimal number that is too large for an int64.
func (f *Field) Unsigned() bool {
	v, ok := f.Number()
	return ok && v < 0 && !f.Hex() && f.digits()[0] != '-'
}

// Hex reports whether the value is written as a number in hexadecimal.
func (f *Field) Hex() bool {
	s := f.digits()
	return !f.Quoted && (strings.HasPrefix(s, "0x") || isPointer(s))
}

// digits is the value, and of "0xffffffea (-22)", as the tracer's option fields has it, the second number.
func (f *Field) digits() string {
	if before, after, ok := strings.Cut(f.Value, " ("); ok && strings.HasPrefix(before, "0x") && strings.HasSuffix(after, ")") {
		return after[:len(after)-1]
	}
	return f.Value
}

// isPointer reports whether a value is what a kernel of 64 bits prints for a pointer (%p): 16
// digits in hexadecimal, which begin with those of a hashed one or of an address of the kernel.
func isPointer(s string) bool {
	if len(s) != 16 || !strings.HasPrefix(s, "00000000") && !strings.HasPrefix(s, "ffff") {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
