package tracefs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"

	"kprof/perfevent/internal/errkind"
)

// Probe is a dynamic probe as kprobe_events and uprobe_events have it
// (Documentation/trace/kprobetrace.rst, uprobetracer.rst).
type Probe struct {
	User      bool   // in a program's file: a line of uprobe_events
	Return    bool   // on return, not on entry
	MaxActive string // of a kernel return probe: how many calls at once, or empty
	Group     string
	Name      string
	Place     string // [MODULE:]FUNC[+OFF], 0xADDR, or PATH:0xOFF
	Args      string // fetch arguments, separated by blanks

	Counts
}

// Counts are what the kernel counted of a probe's hits, whoever enabled it.
type Counts struct {
	Hits        uint64
	Misses      uint64 // hits while another probe was handled, or MaxActive calls were on their way
	MissesKnown bool   // false for user probes
}

// Event is the tracepoint that a probe makes.
func (p Probe) Event() Event { return Event{p.Group, p.Name} }

// String is the line that makes the probe.
func (p Probe) String() string {
	var b strings.Builder
	if p.Return {
		b.WriteString("r" + p.MaxActive)
	} else {
		b.WriteByte('p')
	}
	b.WriteByte(':')
	if p.Group != "" {
		b.WriteString(p.Group + "/")
	}
	b.WriteString(p.Name + " " + p.Place)
	if p.Args != "" {
		b.WriteString(" " + p.Args)
	}
	return b.String()
}

// ParseProbe parses p[:[GROUP/]NAME] PLACE [ARGS] and r[MAXACTIVE]…: whatever
// is behind the place is kept as it is. A place with a slash is a program's.
func ParseProbe(line string) (Probe, error) {
	head, rest := cutBlank(strings.TrimSpace(line))
	place, args := cutBlank(rest)
	kind, name, _ := strings.Cut(head, ":")
	p := Probe{Place: place, Args: args}
	switch {
	case kind == "p":
	case strings.HasPrefix(kind, "r"):
		p.Return, p.MaxActive = true, kind[1:]
		if _, err := strconv.ParseUint(p.MaxActive, 10, 16); err != nil && p.MaxActive != "" {
			return p, errkind.Errorf(os.ErrInvalid, "probe %q: %q is not a number of calls", line, p.MaxActive)
		}
	default:
		return p, errkind.Errorf(os.ErrInvalid, "probe %q: wants p or r first, not %q", line, kind)
	}
	if group, after, ok := strings.Cut(name, "/"); ok {
		p.Group, name = group, after
	}
	p.Name = name
	if p.Name == "" || p.Place == "" || strings.Contains(name, "/") {
		return p, errkind.Errorf(os.ErrInvalid, "probe %q: wants %s:[GROUP/]NAME PLACE [ARGUMENTS]", line, kind)
	}
	p.User = strings.Contains(p.Place, "/")
	return p, nil
}

// cutBlank cuts s where its first blank is.
func cutBlank(s string) (first, rest string) {
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

// Identifier makes of s, such as a function's name, what the kernel takes as
// the name of a probe: letters, digits and underscores, 63 at most
// (MAX_EVENT_NAME_LEN).
func Identifier(s string) string {
	id := []byte(s)
	for i, c := range id {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			id[i] = '_'
		}
	}
	if len(id) == 0 || id[0] >= '0' && id[0] <= '9' {
		id = append([]byte{'_'}, id...)
	}
	return string(id[:min(len(id), 63)])
}

// ProbeError is a definition that the kernel does not take.
type ProbeError struct {
	Definition string // as written
	Reason     string // the kernel's words: "Invalid argument number"
	Offset     int    // where in Definition, in bytes; -1 when the kernel does not say
	Err        error  // of the system call
}

// Error is one line; Caret shows the place.
func (e *ProbeError) Error() string {
	msg := fmt.Sprintf("probe %q: %v", e.Definition, e.Err)
	if e.Reason != "" {
		msg += ": " + e.Reason
	}
	if e.Offset >= 0 {
		msg += fmt.Sprintf(" at byte %d, %q", e.Offset, firstField(e.Definition[e.Offset:]))
	}
	return msg
}

func firstField(s string) string {
	f, _, _ := strings.Cut(s, " ")
	return f
}

// Unwrap is the error of the system call.
func (e *ProbeError) Unwrap() error { return e.Err }

// Caret is the definition and, on a second line, a caret under the place.
func (e *ProbeError) Caret() string {
	return e.Definition + "\n" + strings.Repeat(" ", max(e.Offset, 0)) + "^"
}

// parseErrorLog finds what the kernel's error_log says of a definition: the
// last entry with it, of
//
//	[   12.345678] trace_kprobe: error: Invalid argument number
//	  Command: p:x vfs_read $arg99
//	                        ^
func parseErrorLog(definition, log string) (reason string, off int) {
	const command = "  Command: "
	off = -1
	last, found := "", false
	for line := range strings.Lines(log) {
		line = strings.TrimRight(line, "\n")
		if _, said, ok := strings.Cut(line, ": error: "); ok {
			last, found = strings.TrimSpace(said), false
			continue
		}
		if cmd, ok := strings.CutPrefix(line, command); ok {
			if found = strings.TrimSpace(cmd) == definition; found {
				reason, off = last, -1
			}
			continue
		}
		if at, ok := strings.CutSuffix(line, "^"); ok && found && strings.Trim(at, " ") == "" {
			off = len(at) - len(command)
			if off < 0 || off >= len(definition) {
				off = -1
			}
		}
	}
	return reason, off
}

// profileLine reads a line of kprobe_profile, "NAME HITS MISSES", or
// uprobe_profile, "PATH NAME HITS".
func profileLine(line string, user bool) (name string, c Counts, ok bool) {
	f := strings.Fields(line)
	if len(f) < 3 {
		return "", c, false
	}
	first := len(f) - 2
	if user {
		first = len(f) - 1
	}
	var err, merr error
	c.Hits, err = strconv.ParseUint(f[first], 10, 64)
	if !user {
		c.Misses, merr = strconv.ParseUint(f[first+1], 10, 64)
		c.MissesKnown = true
	}
	return f[first-1], c, err == nil && merr == nil
}
