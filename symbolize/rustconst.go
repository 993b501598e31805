package symbolize

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"
)

// constant reads the value of a constant. Outside of values, braces enclose what
// is more than a literal.
func (d *rustName) constant(value bool) {
	d.enter()
	defer d.leave()
	tag := d.next()
	open := func(text string) {
		if !value {
			d.write("{")
		}
		d.write(text)
	}
	end := func() {
		if !value {
			d.write("}")
		}
	}
	switch tag {
	case 'p':
		d.write("_")
	case 'h', 't', 'm', 'y', 'o', 'j':
		d.number()
	case 'a', 's', 'l', 'x', 'n', 'i':
		if d.eat('n') {
			d.write("-")
		}
		d.number()
	case 'b':
		switch d.hex() {
		case "0", "":
			d.write("false")
		case "1":
			d.write("true")
		default:
			d.fail()
		}
	case 'c':
		v, err := strconv.ParseUint("0"+d.hex(), 16, 32)
		if err != nil || !utf8.ValidRune(rune(v)) {
			d.fail()
			return
		}
		d.write(rustQuote(string(rune(v)), '\''))
	case 'e':
		open("*")
		d.str()
		end()
	case 'R', 'Q':
		if tag == 'R' && d.eat('e') {
			d.str() // the literal is a reference itself
			return
		}
		open("&")
		if tag == 'Q' {
			d.write("mut ")
		}
		d.constant(true)
		end()
	case 'A':
		open("[")
		d.list(func() { d.constant(true) })
		d.write("]")
		end()
	case 'T':
		open("(")
		if d.list(func() { d.constant(true) }) == 1 {
			d.write(",")
		}
		d.write(")")
		end()
	case 'V':
		open("")
		d.path(true)
		d.fields()
		end()
	case 'B':
		d.backref(func() { d.constant(value) })
	default:
		d.fail()
	}
}

// fields reads the fields of a struct or of a variant: none, by order, by name.
func (d *rustName) fields() {
	switch d.next() {
	case 'U':
	case 'T':
		d.write("(")
		d.list(func() { d.constant(true) })
		d.write(")")
	case 'S':
		d.write(" { ")
		d.list(func() {
			name, _ := d.identifier()
			d.write(name + ": ")
			d.constant(true)
		})
		d.write(" }")
	default:
		d.fail()
	}
}

// hex reads hexadecimal digits up to "_", without zeros in front.
func (d *rustName) hex() string {
	start := d.at
	for d.err == nil {
		switch c := d.next(); {
		case c == '_':
			return strings.TrimLeft(d.in[start:d.at-1], "0")
		case !isDigit(c) && (c < 'a' || c > 'f'):
			d.fail()
		}
	}
	return ""
}

func (d *rustName) number() {
	digits := d.hex()
	if v, err := strconv.ParseUint("0"+digits, 16, 64); err == nil {
		d.write(strconv.FormatUint(v, 10))
	} else {
		d.write("0x" + digits)
	}
}

// str reads a string: its bytes in hexadecimal.
func (d *rustName) str() {
	start := d.at
	d.hex()
	if d.err != nil {
		return
	}
	b, err := hex.DecodeString(d.in[start : d.at-1])
	if err != nil || !utf8.Valid(b) {
		d.fail()
		return
	}
	d.write(rustQuote(string(b), '"'))
}

// rustQuote writes a literal as Rust's {:?} does.
func rustQuote(s string, quote rune) string {
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == 0:
			b.WriteString(`\0`)
		case r == quote || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case !strconv.IsPrint(r):
			b.WriteString(`\u{` + strconv.FormatInt(int64(r), 16) + `}`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}
