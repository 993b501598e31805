package listingtest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"kprof/perfevent/format"
)

// cause is why what perf says of one conversion of a print fmt may be something else: what
// perf 6.1's libtraceevent does, and the kernel does not.
type cause struct {
	why      string
	explains func(c *conversion, own, perf string) bool
}

// causes are all that there are. What perf prints for an argument is looked at beside its
// expression, so that they hold for whatever event has such a one.
var causes = []cause{
	{"perf takes a size_t for an int", func(c *conversion, own, perf string) bool {
		base := 10
		if c.verb == "x" {
			base = 16
		}
		v, err := strconv.ParseUint(strings.TrimPrefix(own, "0x"), base, 64)
		if n, negative := strconv.ParseInt(own, base, 64); negative == nil {
			v, err = uint64(n), nil
		}
		w, err2 := strconv.ParseUint(strings.TrimPrefix(perf, "0x"), base, 64)
		return strings.Contains(c.spec, "z") && err == nil && err2 == nil && uint32(v) == uint32(w) && w>>32 == 0
	}},
	{"a number without a name is an unsigned long to the kernel, and as wide as its field to perf", func(c *conversion, own, perf string) bool {
		return c.names() && narrow(own, perf) == perf
	}},
	{"perf does not know names of constants, which kprof may know", func(c *conversion, own, perf string) bool {
		return c.names() && constant.MatchString(c.arg)
	}},
	{"perf prints the name of a flag of which the highest bit is set where no flag is, and not where it is", func(c *conversion, own, perf string) bool {
		return strings.Contains(c.arg, "__print_flags") && highest.MatchString(c.arg)
	}},
	{"a name for no flag at all stands before any other as the kernel does it", func(c *conversion, own, perf string) bool {
		m := none.FindStringSubmatch(c.arg)
		return m != nil && narrow(own, perf) == m[1]+"|"+perf
	}},
	{"perf does not know negative numbers in tables of names", func(c *conversion, own, perf string) bool {
		return c.names() && negative.MatchString(c.arg)
	}},
	{"perf takes a bool for a number", func(c *conversion, own, perf string) bool {
		return strings.HasPrefix(strings.TrimSpace(c.arg), "(bool)") && own == "1" && perf != "0"
	}},
	{"perf shifts an int as if it were a long", func(c *conversion, own, perf string) bool {
		return strings.Contains(c.arg, "<< REC->")
	}},
	{"perf does not extend numbers of one or two bytes by their sign", func(c *conversion, own, perf string) bool {
		v, err := strconv.ParseInt(own, 10, 64)
		w, err2 := strconv.ParseInt(perf, 10, 64)
		return err == nil && err2 == nil && (int32(int8(w)) == int32(v) || int32(int16(w)) == int32(v))
	}},
	{"perf prints arrays as decimal numbers, with blanks between them and without braces", func(c *conversion, own, perf string) bool {
		return strings.Contains(c.arg, "__print_array") && decimal(own) == perf
	}},
	{"perf prints no bytes where their number is not an int", func(c *conversion, own, perf string) bool {
		return strings.HasPrefix(c.spec, "%*ph") && own != "" && perf == ""
	}},
	{"perf takes what only the kernel knows for 0", func(c *conversion, own, perf string) bool { return own == "?" }},
	{"perf does not pad names of numbers", func(c *conversion, own, perf string) bool {
		return c.names() && strings.TrimSpace(own) == strings.TrimSpace(perf)
	}},
	{"perf writes an address in place of text without 0x", func(c *conversion, own, perf string) bool {
		return c.verb == "s" && (own == "0x"+perf || own == "0x0" && perf == "(null)")
	}},
	{"the text is at an address that is not recorded, and kprof prints the address", func(c *conversion, own, perf string) bool {
		return strings.HasPrefix(perf, "(NO FORMAT FOUND")
	}},
	{"perf divides and compares without regard to signs", func(c *conversion, own, perf string) bool {
		return signed.MatchString(c.arg)
	}},
	{"perf does not know socket addresses of other families", func(c *conversion, own, perf string) bool {
		return c.verb == "p" && strings.Contains(c.spec, "pIS") && own == "(einval)" && perf == ""
	}},
	{"perf does not print lists of bits", func(c *conversion, own, perf string) bool {
		return strings.HasPrefix(c.spec, "%*pb") && strings.HasPrefix(perf, "(nil)")
	}},
	{"perf computes a & (b | c) as if it had no parentheses", func(c *conversion, own, perf string) bool {
		return masked.MatchString(c.arg)
	}},
	{"perf computes a < (b ? c : d) as if it had no parentheses", func(c *conversion, own, perf string) bool {
		return compared.MatchString(c.arg)
	}},
	{"perf computes a - b + c as a - (b + c)", func(c *conversion, own, perf string) bool {
		return chained.MatchString(c.arg)
	}},
	{"perf does not nest conditions", func(c *conversion, own, perf string) bool {
		return nested.MatchString(c.arg)
	}},
	{"perf does not know characters, and goes wrong after them", func(c *conversion, own, perf string) bool {
		return c.characters
	}},
}

var (
	wide     = regexp.MustCompile(`0xffffffff[0-9a-f]{8}`)
	constant = regexp.MustCompile(`\{ *[^{},"]*\b[A-Za-z_]{3,}[^{},"]*, *"`)
	highest  = regexp.MustCompile(`<< *\(?(63|64 - 1)`)
	negative = regexp.MustCompile(`\{ *\(?-`)
	chained  = regexp.MustCompile(`- REC->\w+ \+`)
	nested   = regexp.MustCompile(`\?[^?]*:[^?]*\?`)
	none     = regexp.MustCompile(`\{ *\(?0(?:x0+)?[uUlL]*\)?, *"([^"]*)" *\}`)
	masked   = regexp.MustCompile(`& *\(?\(?[^()]*\|`)
	signed   = regexp.MustCompile(`REC->\w+ *(?:/|[<>]=? *0\b|== -)`)
	compared = regexp.MustCompile(`REC->\w+ < \(+`)
)

// narrow writes numbers that are extended by their sign as wide as they are in perf's text.
func narrow(own, perf string) string {
	return wide.ReplaceAllStringFunc(own, func(n string) string {
		v, _ := strconv.ParseUint(n[2:], 16, 64)
		for _, narrower := range []uint64{v & 0xff, v & 0xffff, v & 0xffffffff} {
			if s := fmt.Sprintf("0x%x", narrower); strings.HasSuffix(perf, s) {
				return s
			}
		}
		return n
	})
}

// decimal writes {0x1,0x20} as 1 32.
func decimal(array string) string {
	numbers := strings.Split(strings.Trim(array, "{}"), ",")
	for i, n := range numbers {
		if v, err := strconv.ParseUint(n, 0, 64); err == nil {
			numbers[i] = strconv.FormatUint(v, 10)
		}
	}
	return strings.Join(numbers, " ")
}

// conversion is one of a print fmt, with its argument.
type conversion struct {
	spec string // "%-8s"
	verb string // "s"
	arg  string

	characters bool // its argument, or that of one before, has some
}

// names reports whether names of flags or numbers are printed.
func (c *conversion) names() bool {
	return strings.Contains(c.arg, "__print_symbolic") || strings.Contains(c.arg, "__print_flags")
}

var spec = regexp.MustCompile(`%%|%[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?(?:hh|h|ll|l|z|t|j|q|L)?([diuxXocs]|p[A-Za-z0-9]*)`)

// printed takes what was printed by a print fmt apart.
type printed struct {
	conversions []conversion
	line        *regexp.Regexp // has a group for each
}

func newPrinted(f *format.Format) *printed {
	text, args := arguments(f.PrintFmt)
	p := &printed{}
	var b strings.Builder
	b.WriteString("^")
	literal := func(s string) {
		b.WriteString(regexp.QuoteMeta(strings.ReplaceAll(s, "\n", "\ufffd")))
	}
	next := func() string {
		if len(args) == 0 {
			return ""
		}
		a := args[0]
		args = args[1:]
		return a
	}
	from, characters := 0, false
	text = strings.TrimRight(text, "\n")
	for _, m := range spec.FindAllStringSubmatchIndex(text, -1) {
		literal(text[from:m[0]])
		from = m[1]
		if s := text[m[0]:m[1]]; s == "%%" {
			literal("%")
		} else {
			for _, star := range []int{2, 4} {
				if m[star] >= 0 && text[m[star]] == '*' {
					next()
				}
			}
			c := conversion{spec: s, verb: text[m[6] : m[6]+1], arg: next()}
			characters = characters || strings.Contains(c.arg, "'")
			c.characters = characters
			p.conversions = append(p.conversions, c)
			b.WriteString("(.*?)")
		}
	}
	literal(text[from:])
	b.WriteString(`(?: \w+=.*)?$`) // fields that kprof adds where an argument is not known
	p.line = regexp.MustCompile(b.String())
	return p
}

// causes returns why two payloads differ; ok is false where that is not known of all of it.
func (p *printed) causes(own, perf string) (whys []string, ok bool) {
	a, b := p.line.FindStringSubmatch(own), p.line.FindStringSubmatch(perf)
	if a == nil || b == nil {
		return nil, false
	}
conversions:
	for i := range p.conversions {
		if a[i+1] == b[i+1] || len(whys) > 0 && strings.HasSuffix(b[i+1], ", "+a[i+1]) {
			continue // it is the same, or begins with the end of the text before
		}
		for _, c := range causes {
			if c.explains(&p.conversions[i], a[i+1], b[i+1]) {
				whys = append(whys, c.why)
				continue conversions
			}
		}
		return nil, false
	}
	return whys, len(whys) > 0
}

// arguments takes a print fmt apart: its text, and what follows.
func arguments(s string) (text string, args []string) {
	depth, from := 0, 0
	var parts []string
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"', '\'':
			for quote := s[i]; i+1 < len(s); {
				if i++; s[i] == '\\' {
					i++
				} else if s[i] == quote {
					break
				}
			}
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth--
		case ',':
			if depth == 0 {
				parts, from = append(parts, strings.TrimSpace(s[from:i])), i+1
			}
		}
	}
	parts = append(parts, strings.TrimSpace(s[from:]))
	for _, m := range quoted.FindAllString(parts[0], -1) {
		if u, err := strconv.Unquote(strings.ReplaceAll(m, "\n", `\n`)); err == nil {
			text += u
		}
	}
	return text, parts[1:]
}

var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
