package event

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/spelling"
)

// Kind says which fields of a Spec hold.
type Kind uint8

const (
	KindTracepoint Kind = iota // System, Name: globs allowed
	KindNumbered               // Type, Config: software, hardware, hw-cache, raw
	KindPMU                    // PMU, Terms; an empty PMU is any that has the event
	KindBreakpoint             // Breakpoint
	KindProbe                  // Probe
)

// Spec is one event as asked for with -e, parsed without a look at the machine.
type Spec struct {
	Text      string // as written, modifiers included; perf's name for most kinds
	Rule      string // of spans that it is of, as written; "" for none
	Kind      Kind
	Modifiers Modifiers

	System, Name string // of a tracepoint

	Type   abi.Type // of a numbered event
	Config uint64

	PMU   string // "cpu", "msr"
	Terms []Term // in the order written; those that are not PMU fields are below

	Breakpoint Breakpoint
	Probe      Probe

	// Terms that every symbolic or PMU event takes between slashes; zero when
	// not given.
	DisplayName       string // name=
	Period, Frequency uint64 // period= in events, freq= in Hz

	Filter string // what its hits must match, in the kernel's language: tracepoints and probes

	// Trigger says what is to be done when it happens. Of a trigger, all is sampled, and no
	// other filter applies.
	Trigger Trigger
}

// Trigger is what happens of its own when an event does.
type Trigger uint8

// Kinds of Trigger.
const (
	NoTrigger      Trigger = iota
	TriggerPart            // another part of the recording begins, see record.Session.Triggers
	TriggerEnable          // all other events are sampled from then on, and none before
	TriggerDisable         // none of the other events is
)

// Switches reports whether a trigger has others enabled or disabled. It is enabled itself as long
// as the recording goes on.
func (t Trigger) Switches() bool { return t == TriggerEnable || t == TriggerDisable }

// Term is one KEY=VALUE of pmu/…/. A key alone has value 1, or is the name of
// one of the PMU's events.
type Term struct {
	Key   string
	Value uint64
	Bare  bool // no "=VALUE" was written
}

// Breakpoint is mem:ADDR/LEN:rwx.
type Breakpoint struct {
	Addr   uint64
	Len    uint64     // 1, 2, 4 or 8 bytes
	Access AccessType // what triggers it
}

// AccessType is perf_event_attr.bp_type (include/uapi/linux/hw_breakpoint.h).
type AccessType uint32

const (
	AccessRead AccessType = 1 << iota
	AccessWrite
	AccessExec
)

// ParseSpecs parses the argument of one -e: specs joined by commas. Commas
// between slashes belong to a PMU's terms, and a probe with fetch arguments
// (anything after a blank) takes the rest of the argument.
func ParseSpecs(arg string) ([]Spec, error) {
	var specs []Spec
	for rest := arg; ; {
		var one string
		one, rest = cutSpec(rest)
		s, err := ParseSpec(one)
		if err != nil {
			return nil, err
		}
		specs = append(specs, s)
		if rest == "" {
			return specs, nil
		}
		rest = rest[1:] // the comma
	}
}

// cutSpec splits arg before the comma that ends its first spec; rest begins
// with that comma, or is empty.
func cutSpec(arg string) (one, rest string) {
	if _, isProbe := probePrefix(strings.TrimLeft(arg, " \t")); isProbe {
		end := strings.IndexAny(arg, ", \t")
		if end < 0 || arg[end] != ',' {
			return arg, ""
		}
		return arg[:end], arg[end:]
	}
	slashed := false
	for i := range len(arg) {
		switch arg[i] {
		case '/':
			slashed = !slashed
		case ',':
			// mem:ADDR/LEN has a single slash.
			if !slashed || strings.HasPrefix(arg, memPrefix) {
				return arg[:i], arg[i:]
			}
		}
	}
	return arg, ""
}

// ParseSpec parses one event:
//
//	cpu-clock  cycles:u  L1-dcache-load-misses  r1a8      numbered
//	sched:sched_switch  syscalls:sys_enter_*              tracepoints
//	cpu/event=0x3c,umask=1,name=x/u  msr/tsc/             PMU events
//	mem:0xADDR/8:rw                                       breakpoint
//	kprobe:FUNC+OFF  uretprobe:PATH:SYM  p:NAME FUNC …    probes, see Probe
//
// and what may follow after a colon or the second slash: modifiers, see
// Modifiers. Software and hardware events take perf's period=, freq= and name=
// between slashes too.
func ParseSpec(text string) (Spec, error) {
	s := Spec{Text: strings.TrimSpace(text)}
	if s.Text == "" {
		return s, fmt.Errorf("event %q: empty", text)
	}
	if strings.ContainsAny(s.Text, "\x00\n") {
		return s, fmt.Errorf("event %q: control character", text)
	}
	err := s.parse()
	if err == nil {
		return s, nil
	}
	if meant := MeantHere(s.Text); meant != "" {
		return s, fmt.Errorf("event %q: no event has that name%s", s.Text, meant)
	}
	return s, fmt.Errorf("event %q: %w", s.Text, err)
}

// asked is what was asked for.
func (s *Spec) asked() string { return cmp.Or(s.Rule, s.Text) }

func (s *Spec) parse() error {
	if strings.HasPrefix(s.Text, "{") {
		return fmt.Errorf("groups are only counted, by kprof stat; without { and } each is sampled by itself")
	}
	if prefix, ok := probePrefix(s.Text); ok {
		s.Kind = KindProbe
		return s.Probe.parse(prefix, s.Text)
	}
	if rest, ok := strings.CutPrefix(s.Text, memPrefix); ok {
		s.Kind = KindBreakpoint
		return s.parseBreakpoint(rest)
	}
	if head, rest, ok := strings.Cut(s.Text, "/"); ok {
		terms, mods, ok := strings.Cut(rest, "/")
		if !ok {
			return fmt.Errorf("no slash after the terms %q", rest)
		}
		return s.parseTerms(head, terms, strings.TrimPrefix(mods, ":"))
	}
	head, rest, colon := strings.Cut(s.Text, ":")
	if typ, config, ok := numbered(head); ok {
		s.Kind, s.Type, s.Config = KindNumbered, typ, config
		return s.parseModifiers(rest, colon)
	}
	if colon && !isIn(modifierLetters, rest) || colon && rest == "" {
		s.Kind, s.System = KindTracepoint, head
		name, mods, colon := strings.Cut(rest, ":")
		s.Name = name
		if !isGlob(s.System) || !isGlob(s.Name) {
			return fmt.Errorf("neither a known event nor SYSTEM:NAME")
		}
		return s.parseModifiers(mods, colon)
	}
	// One word that is in no table: an event of some PMU, such as "tsc".
	s.Kind = KindPMU
	if !isWord(head) {
		return fmt.Errorf("not an event name")
	}
	s.Terms = []Term{{Key: head, Value: 1, Bare: true}}
	return s.parseModifiers(rest, colon)
}

func (s *Spec) parseModifiers(mods string, present bool) (err error) {
	if !present {
		return nil
	}
	s.Modifiers, err = parseModifiers(mods)
	return err
}

// parseTerms parses HEAD/TERMS/MODS. HEAD is a PMU, or the name of a numbered
// event.
func (s *Spec) parseTerms(head, terms, mods string) error {
	if typ, config, ok := numbered(head); ok {
		s.Kind, s.Type, s.Config = KindNumbered, typ, config
	} else if isWord(head) {
		s.Kind, s.PMU = KindPMU, head
	} else {
		if meant := otherKind(s.Text); meant != "" {
			return fmt.Errorf("no event has that name%s", spelling.Question([]string{meant}))
		}
		return fmt.Errorf("no PMU can be called %q", head)
	}
	for term := range strings.SplitSeq(terms, ",") {
		if term == "" && terms == "" {
			break
		}
		if err := s.parseTerm(term); err != nil {
			return err
		}
	}
	return s.parseModifiers(mods, mods != "")
}

func (s *Spec) parseTerm(term string) error {
	key, text, valued := strings.Cut(term, "=")
	if !isWord(key) {
		return fmt.Errorf("term %q: no name before the value", term)
	}
	if key == "name" {
		s.DisplayName = strings.Trim(text, "'")
		if s.DisplayName == "" {
			return fmt.Errorf("term %q: empty", term)
		}
		return nil
	}
	if s.Kind != KindPMU && key != "period" && key != "freq" {
		return fmt.Errorf("term %q: %s takes period=, freq= and name= only", term, s.Text[:strings.Index(s.Text, "/")])
	}
	t := Term{Key: key, Value: 1, Bare: !valued}
	if valued {
		var err error
		if t.Value, err = parseNumber(text); err != nil {
			return fmt.Errorf("term %q: %w", term, err)
		}
	} else if raw, ok := rawConfig(key); ok {
		t = Term{Key: "config", Value: raw}
	}
	switch t.Key {
	case "period":
		s.Period = t.Value
	case "freq":
		s.Frequency = t.Value
	default:
		s.Terms = append(s.Terms, t)
		return nil
	}
	if t.Bare || t.Value == 0 {
		return fmt.Errorf("term %q: wants a number above 0", term)
	}
	if s.Period != 0 && s.Frequency != 0 {
		return fmt.Errorf("term %q: period and freq exclude each other", term)
	}
	return nil
}

const memPrefix = "mem:"

// parseBreakpoint parses ADDR[/LEN][:rwx][:MODS]. Without an access type it
// is rw, as in perf; without a length it is 4, and 8 for execution
// (sizeof(long), as hw_breakpoint wants).
func (s *Spec) parseBreakpoint(rest string) error {
	place, rest, more := strings.Cut(rest, ":")
	addr, length, sized := strings.Cut(place, "/")
	bp := &s.Breakpoint
	var err error
	if bp.Addr, err = parseNumber(addr); err != nil {
		return fmt.Errorf("address: %w", err)
	}
	if more {
		access, mods, more := strings.Cut(rest, ":")
		if isIn("rwx", access) {
			bp.Access, err = parseAccess(access)
		} else if more {
			return fmt.Errorf("access %q: wants letters of rwx", access)
		} else {
			mods, more = access, true
		}
		if err != nil {
			return err
		}
		if err := s.parseModifiers(mods, more); err != nil {
			return err
		}
	}
	if bp.Access == 0 {
		bp.Access = AccessRead | AccessWrite
	}
	switch {
	case sized:
		if bp.Len, err = parseNumber(length); err != nil {
			return fmt.Errorf("length: %w", err)
		}
	case bp.Access&AccessExec != 0:
		bp.Len = 8
	default:
		bp.Len = 4
	}
	if n := bp.Len; n != 1 && n != 2 && n != 4 && n != 8 {
		return fmt.Errorf("length %d: wants 1, 2, 4 or 8 bytes", n)
	}
	return nil
}

func parseAccess(s string) (AccessType, error) {
	var a AccessType
	for _, c := range s {
		bit := AccessType(1) << strings.IndexRune("rwx", c)
		if a&bit != 0 {
			return 0, fmt.Errorf("access %q: %c is there twice", s, c)
		}
		a |= bit
	}
	if a&AccessExec != 0 && a != AccessExec {
		return 0, fmt.Errorf("access %q: x excludes r and w", s)
	}
	return a, nil
}

// parseNumber reads decimal, or hexadecimal after 0x.
func parseNumber(s string) (uint64, error) {
	base, digits := 10, s
	if h, ok := strings.CutPrefix(s, "0x"); ok {
		base, digits = 16, h
	}
	v, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of 64 bits", s)
	}
	return v, nil
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// isIn reports whether all of s is made of chars; empty strings are not.
func isIn(chars, s string) bool { return s != "" && strings.Trim(s, chars) == "" }

// isWord: what PMUs, their fields and their events are called.
func isWord(s string) bool { return isIn(letters+digits+"_-.", s) }

// isGlob: what tracepoint systems and names, or globs for them, are made of.
func isGlob(s string) bool { return isIn(letters+digits+"_-.*?[]!^", s) }
