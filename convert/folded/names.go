package folded

import (
	"fmt"
	"strings"

	"kprof/convert/stacks"
)

// frameNamer turns the functions of a Set into the frames of folded lines.
type frameNamer interface {
	// appendFrames appends the frames of a named function, outermost first.
	appendFrames(dst []string, name string) []string
	// unnamed is the frame of a location in m, nil for none, without a function.
	unnamed(m *stacks.Mapping) string
	// comm is the root frame for a command's name.
	comm(name string) string
}

// scriptNamer names frames as stackcollapse-perf.pl does with its default
// options to what perf script prints, which is what people's pipelines expect:
//
//  1. A name that starts with a parenthesis is no frame.
//  2. A name is split at each "->", as perf-map-agent joins inlined Java methods
//     by it; frames after the first of a split get "_[i]".
//  3. ";" becomes ":".
//  4. All from the first "(" is cut off, unless that is "(anonymous namespace)",
//     or the name looks like a Go method's, "pkg.(*Type).Method".
//  5. Quotes are removed.
//  6. Under a comm that starts with java, an "L" that starts a name with a "/"
//     in it is removed (see javaName).
//
// What it does to comms is followed as far as it loses nothing: blanks become
// "_". A ";", from which the script would make a frame, becomes ":", and comms
// that it misreads (one letter, a blank before digits, a leading blank) are
// written whole.
type scriptNamer struct{}

func (scriptNamer) appendFrames(dst []string, name string) []string {
	if strings.HasPrefix(name, "(") {
		return dst
	}
	if !strings.ContainsAny(name, ";(\"'>\n\r\x00") { // nearly all
		if name == "" {
			return dst
		}
		return append(dst, name)
	}
	parts := strings.Split(name, "->")
	for len(parts) > 0 && parts[len(parts)-1] == "" { // as perl's split
		parts = parts[:len(parts)-1]
	}
	for i, p := range parts {
		p = tidy(p)
		if i > 0 && !strings.Contains(p, "_[i]") {
			p += "_[i]"
		}
		dst = append(dst, p)
	}
	return dst
}

var (
	separators = strings.NewReplacer(";", ":", "\n", " ", "\r", " ", "\x00", " ")
	quotes     = strings.NewReplacer(`"`, "", "'", "")
)

func tidy(name string) string {
	name = separators.Replace(name)
	if !goMethod(name) {
		for at := 0; ; at++ {
			i := strings.IndexByte(name[at:], '(')
			if i < 0 {
				break
			}
			at += i
			if !strings.HasPrefix(name[at:], "(anonymous namespace)") {
				name = name[:at]
				break
			}
		}
	}
	return quotes.Replace(name)
}

// goMethod tells whether ".(" and later ")." are in name.
func goMethod(name string) bool {
	i := strings.Index(name, ".(")
	return i >= 0 && strings.Contains(name[i+2:], ").")
}

func (scriptNamer) unnamed(m *stacks.Mapping) string {
	if m == nil {
		return "[unknown]"
	}
	if m.PID != 0 && perfMapped(m.File) {
		return fmt.Sprintf("[perf-%d.map]", m.PID)
	}
	if strings.Contains(m.File, " (") {
		// perf prints "[unknown] (/memfd:x (deleted))", of which the script takes
		// the last parenthesis for the file.
		return "[unknown] "
	}
	return separators.Replace(quotes.Replace(m.Unnamed()))
}

// perfMapped tells whether perf takes the names of executable memory mapped from
// file from /tmp/perf-PID.map, and calls it so: is_anon_memory and
// is_no_dso_memory in tools/perf/util/map.c.
func perfMapped(file string) bool {
	switch {
	case file == "//anon", file == "[heap]",
		strings.HasPrefix(file, "/dev/zero"),
		strings.HasPrefix(file, "/anon_hugepage"),
		strings.HasPrefix(file, "[stack"),
		strings.HasPrefix(file, "/SYSV"):
		return true
	}
	return false
}

func (scriptNamer) comm(name string) string {
	return strings.ReplaceAll(separators.Replace(strings.TrimRight(name, " ")), " ", "_")
}

// javaName is step 6 of scriptNamer.
func javaName(name string) string {
	if strings.HasPrefix(name, "L") && strings.Contains(name, "/") {
		return name[1:]
	}
	return name
}

// plainNamer leaves names as they are, but for what would break a line.
type plainNamer struct{}

func (plainNamer) appendFrames(dst []string, name string) []string {
	return append(dst, separators.Replace(name))
}

func (plainNamer) unnamed(m *stacks.Mapping) string {
	if m == nil {
		return "[unknown]"
	}
	return separators.Replace(m.Unnamed())
}

func (plainNamer) comm(name string) string { return separators.Replace(name) }
