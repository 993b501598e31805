package event

import (
	"fmt"
	"slices"
	"strings"

	"kprof/perfevent/tracefs"
)

// Probe is a dynamic probe:
//
//	kprobe:[MODULE:]FUNC[+OFF]  kprobe:0xADDR  kretprobe:FUNC
//	uprobe:PATH:SYMBOL[+OFF]    uprobe:PATH:0xOFF  uretprobe:…
//	usdt:PATH:PROVIDER:NAME
//
// (where SYMBOL may be NAME@VERSION), optionally followed by a blank and fetch arguments, or one
// of the kernel's own definitions (Documentation/trace/kprobetrace.rst, fprobetrace.rst), kept verbatim:
//
//	p[:[GROUP/]NAME] PLACE [ARGUMENTS]        r[MAXACTIVE][:[GROUP/]NAME] PLACE [ARGUMENTS]
//	f[:[GROUP/]NAME] FUNC[%return] [ARGUMENTS]    t[:[GROUP/]NAME] TRACEPOINT [ARGUMENTS]
type Probe struct {
	User   bool   // in a program's file, not in the kernel
	Return bool   // on return, not on entry
	Module string // of a kernel probe, or empty
	Path   string // of a user probe
	Symbol string // empty when Addr says it all
	Addr   uint64 // kernel address, or file offset of a user probe, without Symbol or with Provider
	Off    uint64 // bytes from Symbol
	Args   string // fetch arguments, not looked at
	// MaxActive is how many calls at once a return probe in the kernel shall see, 0 for the
	// kernel's default; probes with fetch arguments only.
	MaxActive int
	Raw       string // the kernel's own definition: then all else but Return is empty

	// Of a statically defined probe, whose name is Symbol. A Resolver finds Addr
	// and Counter in the program's notes.
	Provider string
	Counter  uint64 // file offset of what the kernel is to count its watchers in, or 0
}

var probePrefixes = []string{"kprobe:", "kretprobe:", "uprobe:", "uretprobe:", usdtPrefix, "p:", "r:"}

const usdtPrefix = "usdt:"

// probePrefix returns how the text of a probe begins: one of probePrefixes, or, of a
// definition of the kernel's, all before its place.
func probePrefix(s string) (string, bool) {
	for _, p := range probePrefixes {
		if strings.HasPrefix(s, p) {
			return p, true
		}
	}
	// p, r500:GROUP/NAME, f: without a blank these are other events.
	end := strings.IndexAny(s, " \t,")
	if end < 1 || s[end] == ',' || !strings.ContainsRune("prft", rune(s[0])) {
		return "", false
	}
	letter, _, _ := strings.Cut(s[:end], ":")
	if len(letter) > 1 && !isIn(digits, letter[1:]) {
		return "", false
	}
	return s[:end], true
}

func (p *Probe) parse(prefix, text string) error {
	rest := text[len(prefix):]
	p.User = prefix[0] == 'u'
	p.Return = prefix == "kretprobe:" || prefix == "uretprobe:"
	switch {
	case prefix == "p:" || prefix == "r:":
		if len(strings.Fields(rest)) < 2 {
			return fmt.Errorf("wants %s[GROUP/]NAME PLACE [ARGUMENTS]%s", prefix, meantDefinition(prefix, rest))
		}
		return p.parseDefinition(text)
	case !slices.Contains(probePrefixes, prefix):
		return p.parseDefinition(text)
	}
	place, args, _ := strings.Cut(rest, " ")
	p.Args = strings.TrimSpace(args)
	if prefix == usdtPrefix {
		f := strings.Split(place, ":")
		n := len(f)
		if n < 3 || f[0] == "" || f[n-2] == "" || f[n-1] == "" {
			return fmt.Errorf("wants %sPATH:PROVIDER:NAME", prefix)
		}
		p.Path, p.Provider, p.Symbol = strings.Join(f[:n-2], ":"), f[n-2], f[n-1]
		return nil
	}
	if p.User {
		// The path may hold colons, the symbol of C++ too: a path's end is the
		// last colon that is not one of a pair.
		colon := lastSingleColon(place)
		if colon <= 0 {
			return fmt.Errorf("wants %sPATH:SYMBOL", prefix)
		}
		p.Path, place = place[:colon], place[colon+1:]
	} else if module, after, ok := strings.Cut(place, ":"); ok {
		p.Module, place = module, after
	}
	return p.parsePlace(place)
}

// parseDefinition takes one of the kernel's own definitions.
func (p *Probe) parseDefinition(text string) error {
	def, err := tracefs.ParseProbe(text)
	if err != nil {
		return err
	}
	*p = Probe{Return: def.Return, Raw: text}
	return nil
}

// meantDefinition is a definition that rest, which is too short for one, may have
// been meant to be: a place without a name, or with a colon instead of a blank.
func meantDefinition(prefix, rest string) string {
	name, place, colon := strings.Cut(strings.TrimSpace(rest), ":")
	switch {
	case name == "" || strings.Contains(name, "/") && !strings.HasPrefix(rest, " "):
		return ""
	case !colon:
		place = name
	case place == "":
		return ""
	}
	if !isIn(letters+digits+"_", name) {
		name = "NAME"
	}
	return fmt.Sprintf("; did you mean %q?", prefix+name+" "+place)
}

// parsePlace parses SYMBOL, SYMBOL+OFF or a number.
func (p *Probe) parsePlace(place string) (err error) {
	if strings.HasPrefix(place, "0x") {
		if p.Addr, err = parseNumber(place); err != nil {
			return fmt.Errorf("address: %w", err)
		}
		return nil
	}
	symbol, off, plus := strings.Cut(place, "+")
	if plus {
		if p.Off, err = parseNumber(off); err != nil {
			return fmt.Errorf("offset: %w", err)
		}
	}
	if symbol == "" {
		return fmt.Errorf("no function to probe")
	}
	p.Symbol = symbol
	return nil
}

// isUser reports whether p is in a program's file; of the kernel's own
// definitions, those that name a path are.
func (p *Probe) isUser() bool {
	if p.Raw != "" {
		def, err := tracefs.ParseProbe(p.Raw)
		return err == nil && def.User
	}
	return p.User
}

func lastSingleColon(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] != ':' {
			continue
		}
		if i > 0 && s[i-1] == ':' {
			i--
			continue
		}
		return i
	}
	return -1
}
