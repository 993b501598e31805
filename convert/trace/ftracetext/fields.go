package ftracetext

import (
	"strconv"
	"strings"
)

// Field is a name=value in the text of an event.
type Field struct {
	Name, Value string
}

// AppendFields appends the fields in the text of an event. A value goes on to the next
// " name=", so that names of tasks may have blanks.
func AppendFields(dst []Field, text string) []Field {
	from := -1 // where the last field's value begins
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
		dst = append(dst, Field{Name: text[start:eq]})
		from = at
	}
	if from >= 0 {
		dst[len(dst)-1].Value = value(text[from:])
	}
	return dst
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// value is a value without what separates it from the next.
func value(s string) string {
	s = strings.TrimSpace(s)
	s = strings.TrimSpace(strings.TrimSuffix(s, "==>")) // of sched_switch
	return strings.TrimSpace(strings.TrimRight(s, ",;({["))
}

// Number reads a value that is a number, as C writes them or as pointers are printed; text
// of digits alone is decimal. Of "0xffffffea (-22)", with the tracer's option fields, it is
// the second.
func (f *Field) Number() (v int64, ok bool) {
	s := f.Value
	if before, after, ok := strings.Cut(s, " ("); ok && strings.HasPrefix(before, "0x") && strings.HasSuffix(after, ")") {
		s = after[:len(after)-1]
	}
	if s == "" || len(s) > 20 || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return 0, false
	}
	if strings.HasPrefix(s, "0x") {
		u, err := strconv.ParseUint(s[2:], 16, 64)
		return int64(u), err == nil
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}
