package tracefs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"

	"kprof/perfevent/internal/errkind"
)

// Probe is a dynamic probe as kprobe_events, uprobe_events and dynamic_events have it
// (Documentation/trace/kprobetrace.rst, uprobetracer.rst, fprobetrace.rst).
type Probe struct {
	Kind      ProbeKind
	User      bool   // in a program's file: a line of uprobe_events
	Return    bool   // on return, not on entry
	MaxActive string // of a return probe in the kernel: how many calls at once, or empty
	Group     string
	Name      string
	Place     string // [MODULE:]FUNC[+OFF], 0xADDR, PATH:0xOFF, or a tracepoint's name
	Args      string // fetch arguments, separated by blanks

	Counts
}

// ProbeKind is how the kernel gets to a probe.
type ProbeKind uint8

const (
	// Breakpoint is a kprobe or uprobe: p and r.
	Breakpoint ProbeKind = iota
	// Fprobe is at a function, by way of ftrace: f, since Linux 6.5. Its return has the
	// arguments of the call (since 6.9).
	Fprobe
	// Tracepoint is at a tracepoint of the kernel's source, which need not be an event: t.
	Tracepoint
)

// Counts are what the kernel counted of a probe's hits, whoever enabled it.
type Counts struct {
	Hits        uint64 // 0 of kinds other than Breakpoint, which no file counts
	Misses      uint64 // hits while another probe was handled, or MaxActive calls were on their way
	MissesKnown bool   // true of kernel probes of kind Breakpoint
}

// Event is the tracepoint that a probe makes.
func (p Probe) Event() Event { return Event{p.Group, p.Name} }

// String is the line that makes the probe.
func (p Probe) String() string {
	var b strings.Builder
	switch {
	case p.Kind == Fprobe:
		b.WriteByte('f')
	case p.Kind == Tracepoint:
		b.WriteByte('t')
	case p.Return:
		b.WriteByte('r')
	default:
		b.WriteByte('p')
	}
	b.WriteString(p.MaxActive + ":")
	if p.Group != "" {
		b.WriteString(p.Group + "/")
	}
	b.WriteString(p.Name + " " + p.Place)
	if p.Kind == Fprobe && p.Return {
		b.WriteString(onReturn)
	}
	if p.Args != "" {
		b.WriteString(" " + p.Args)
	}
	return b.String()
}

// onReturn is what may stand behind a place instead of r before it.
const onReturn = "%return"

// ParseProbe parses p[:[GROUP/]NAME] PLACE [ARGS], r[MAXACTIVE]…, f[MAXACTIVE]… and t…:
// whatever is behind the place is kept as it is. A place of p or r with a slash is a
// program's. A probe without a name gets the one that the kernel would give it.
func ParseProbe(line string) (Probe, error) {
	head, rest := cutBlank(strings.TrimSpace(line))
	place, args := cutBlank(rest)
	kind, name, named := strings.Cut(head, ":")
	p := Probe{Place: place, Args: args}
	invalid := func(format string, args ...any) (Probe, error) {
		return p, errkind.Errorf(os.ErrInvalid, "probe %q: %s", line, fmt.Sprintf(format, args...))
	}
	letter := kind[:min(len(kind), 1)]
	switch p.MaxActive = kind[len(letter):]; letter {
	case "p":
	case "r":
		p.Return = true
	case "f":
		p.Kind = Fprobe
	case "t":
		p.Kind = Tracepoint
	default:
		return invalid("wants p, r, f or t first, not %q", kind)
	}
	if p.Kind != Tracepoint {
		var suffixed bool
		p.Place, suffixed = strings.CutSuffix(place, onReturn)
		p.Return = p.Return || suffixed
	}
	if p.MaxActive != "" {
		if _, err := strconv.ParseUint(p.MaxActive, 10, 16); err != nil {
			return invalid("%q is not a number of calls", p.MaxActive)
		}
		if letter == "p" || letter == "t" || !p.Return {
			return invalid("a number of calls is for probes on return")
		}
	}
	if group, after, ok := strings.Cut(name, "/"); ok {
		p.Group, name = group, after
	}
	p.User = p.Kind == Breakpoint && strings.Contains(p.Place, "/")
	p.Name = name
	if !named && p.Place != "" {
		p.Name = p.kernelName()
	}
	if p.Name == "" || p.Place == "" || strings.Contains(name, "/") {
		return invalid("wants %s[:[GROUP/]NAME] PLACE [ARGUMENTS]", kind)
	}
	return p, nil
}

// kernelName is the name that the kernel gives to a probe that has none
// (__trace_kprobe_create, __trace_uprobe_create, trace_fprobe_create_internal in
// kernel/trace/). Where it would hash an address, as of a kernel probe at one, that
// address is in the name.
func (p *Probe) kernelName() string {
	letter := "p"
	if p.Return && !p.User {
		letter = "r"
	}
	switch {
	case p.Kind == Tracepoint:
		return Identifier(p.Place)
	case p.Kind == Fprobe && p.Return:
		return Identifier(p.Place + "__exit")
	case p.Kind == Fprobe:
		return Identifier(p.Place + "__entry")
	case p.User:
		path, off := p.Place, ""
		if i := strings.LastIndexByte(path, ':'); i >= 0 {
			path, off = path[:i], path[i+1:]
		}
		base := path[strings.LastIndexByte(path, '/')+1:]
		if i := strings.IndexAny(base, ".-_"); i >= 0 {
			base = base[:i]
		}
		off, _, _ = strings.Cut(off, "(")
		if n, err := strconv.ParseUint(off, 0, 64); err == nil {
			off = fmt.Sprintf("%#x", n)
		}
		return Identifier("p_" + base + "_" + off)
	}
	if addr, err := strconv.ParseUint(p.Place, 0, 64); err == nil {
		return fmt.Sprintf("%s_0x%016x", letter, addr)
	}
	symbol, off := p.Place, "0"
	if i := strings.LastIndexByte(symbol, '+'); i >= 0 {
		symbol, off = symbol[:i], symbol[i+1:]
	}
	if n, err := strconv.ParseInt(off, 0, 64); err == nil {
		off = strconv.FormatInt(n, 10)
	}
	return Identifier(letter + "_" + symbol + "_" + off)
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
