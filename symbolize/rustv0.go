package symbolize

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// convertRust gives the readable form of a name of Rust's second scheme, v0:
//
//	_RNvNtCs1234_7mycrate3foo3bar
//
// as rustc's own demangler shows it without hashes ("{:#}"). ok is false for any
// other name. (RFC 2603, and the rustc book, "v0 Symbol Format".)
//
// The demangle package reads "00", two names that are empty, as one number: it
// swaps closures inside of closures, and loses arguments of types.
func convertRust(name string) (readable string, ok bool) {
	rest, ok := strings.CutPrefix(name, "_R")
	if !ok || rest == "" || '0' <= rest[0] && rest[0] <= '9' {
		return "", false // a version that is not known
	}
	suffix := ""
	if i := strings.IndexAny(rest, ".$"); i >= 0 {
		rest, suffix = rest[:i], rest[i:]
	}
	for i := range len(rest) {
		if c := rest[i]; c != '_' && !isDigit(c) && !isLower(c) && !isUpper(c) {
			return "", false
		}
	}
	d := &rustName{in: rest, show: true}
	d.path(true)
	if d.err == nil && d.at < len(d.in) {
		d.show = false
		d.path(false) // the crate that has the instance
	}
	if d.err != nil || d.at < len(d.in) {
		return "", false
	}
	if id, ok := strings.CutPrefix(suffix, ".llvm."); ok && strings.Trim(id, "0123456789ABCDEF@") == "" {
		suffix = "" // what LLVM tells copies of a function by
	}
	return d.out.String() + suffix, true
}

var errRustName = errors.New("not a v0 name")

// Limits on what a name may cost: backward references can nest and repeat.
const (
	maxRustDepth = 500
	maxRustSteps = 1 << 16
)

// rustName reads a name and writes its readable form. The first error ends both.
type rustName struct {
	in    string // behind "_R", from which backward references count
	at    int
	out   strings.Builder
	show  bool // else it is read only
	depth int
	steps int
	bound uint64 // lifetimes that enclosing "for<…>" name
	err   error
}

func (d *rustName) fail() {
	if d.err == nil {
		d.err = errRustName
	}
}

func (d *rustName) write(s string) {
	if !d.show || d.err != nil {
		return
	}
	if d.out.Len()+len(s) > 1<<maxReadable {
		d.fail()
		return
	}
	d.out.WriteString(s)
}

// peek returns the next byte, 0 at the end or after an error.
func (d *rustName) peek() byte {
	if d.err != nil || d.at >= len(d.in) {
		return 0
	}
	return d.in[d.at]
}

func (d *rustName) next() byte {
	c := d.peek()
	if c == 0 {
		d.fail()
	}
	d.at++
	return c
}

func (d *rustName) eat(c byte) bool {
	if d.peek() != c {
		return false
	}
	d.at++
	return true
}

// enter bounds the depth and the work; leave ends it.
func (d *rustName) enter() {
	d.depth++
	if d.steps++; d.depth > maxRustDepth || d.steps > maxRustSteps {
		d.fail()
	}
}

func (d *rustName) leave() { d.depth-- }

// base62 reads digits up to "_": nothing is 0, "0" is 1.
func (d *rustName) base62() uint64 {
	if d.eat('_') {
		return 0
	}
	var v uint64
	for d.err == nil {
		c := d.next()
		var digit uint64
		switch {
		case c == '_':
			if v == math.MaxUint64 {
				d.fail()
			}
			return v + 1
		case isDigit(c):
			digit = uint64(c - '0')
		case isLower(c):
			digit = uint64(c-'a') + 10
		case isUpper(c):
			digit = uint64(c-'A') + 36
		}
		if v > (math.MaxUint64-digit)/62 {
			d.fail()
		}
		v = v*62 + digit
	}
	return 0
}

// opt62 reads a number behind a tag, plus 1; without the tag it is 0.
func (d *rustName) opt62(tag byte) uint64 {
	if !d.eat(tag) {
		return 0
	}
	return d.base62() + 1
}

// identifier reads a disambiguator and a name.
func (d *rustName) identifier() (name string, disambiguator uint64) {
	disambiguator = d.opt62('s')
	return d.undisambiguated(), disambiguator
}

// undisambiguated reads: "u" if it is punycode, a decimal number without zeros in
// front, "_" if that would be unclear, as many bytes.
func (d *rustName) undisambiguated() string {
	puny := d.eat('u')
	c := d.next()
	if !isDigit(c) {
		d.fail()
		return ""
	}
	size := int(c - '0')
	for size > 0 && isDigit(d.peek()) && size < len(d.in) {
		size = 10*size + int(d.next()-'0')
	}
	d.eat('_')
	if d.err != nil || size > len(d.in)-d.at {
		d.fail()
		return ""
	}
	name := d.in[d.at : d.at+size]
	d.at += size
	if !puny {
		return name
	}
	plain, encoded := "", name
	if i := strings.LastIndexByte(name, '_'); i >= 0 {
		plain, encoded = name[:i], name[i+1:]
	}
	if encoded == "" {
		d.fail()
	}
	decoded, ok := punycode(plain, encoded)
	switch {
	case ok:
		return decoded
	case plain != "":
		plain += "-"
	}
	return "punycode{" + plain + encoded + "}"
}

// backref reads a place before this one, and f again there.
func (d *rustName) backref(f func()) {
	start := d.at - 1
	to := d.base62()
	if d.err != nil || to >= uint64(start) {
		d.fail()
		return
	}
	if !d.show {
		return
	}
	after := d.at
	d.at = int(to)
	f()
	d.at = after
}

// path reads a path. In a value, generic arguments follow "::".
func (d *rustName) path(value bool) {
	d.enter()
	defer d.leave()
	switch d.next() {
	case 'C': // crate
		name, _ := d.identifier()
		d.write(name)
	case 'N':
		d.nested(value)
	case 'M': // inherent impl
		d.implPath()
		d.write("<")
		d.typ()
		d.write(">")
	case 'X': // impl of a trait
		d.implPath()
		d.asTrait()
	case 'Y': // a trait's own
		d.asTrait()
	case 'I':
		d.path(value)
		if value {
			d.write("::")
		}
		d.write("<")
		d.list(d.genericArg)
		d.write(">")
	case 'B':
		d.backref(func() { d.path(value) })
	default:
		d.fail()
	}
}

// nested reads a namespace, a path and a name in it.
func (d *rustName) nested(value bool) {
	namespace := d.next()
	d.path(value)
	name, number := d.identifier()
	switch {
	case isUpper(namespace): // special, as closures are
		kind := string(namespace)
		switch namespace {
		case 'C':
			kind = "closure"
		case 'S':
			kind = "shim"
		}
		d.write("::{" + kind)
		if name != "" {
			d.write(":" + name)
		}
		d.write("#" + strconv.FormatUint(number, 10) + "}")
	case isLower(namespace):
		if name != "" {
			d.write("::" + name)
		}
	default:
		d.fail()
	}
}

// implPath reads where an impl is, which is not shown.
func (d *rustName) implPath() {
	d.opt62('s')
	show := d.show
	d.show = false
	d.path(false)
	d.show = show
}

func (d *rustName) asTrait() {
	d.write("<")
	d.typ()
	d.write(" as ")
	d.path(false)
	d.write(">")
}

// list reads items up to "E".
func (d *rustName) list(item func()) (n int) {
	for ; d.err == nil && !d.eat('E'); n++ {
		if n > 0 {
			d.write(", ")
		}
		item()
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
