package symbolize

import (
	"strconv"
	"strings"
)

func (d *rustName) genericArg() {
	switch {
	case d.eat('L'):
		d.lifetime(d.base62())
	case d.eat('K'):
		d.constant(false)
	default:
		d.typ()
	}
}

// lifetime writes a lifetime: 0 is erased, others count from the innermost bound.
func (d *rustName) lifetime(index uint64) {
	if index == 0 {
		d.write("'_")
		return
	}
	if index > d.bound {
		d.fail()
		return
	}
	depth := d.bound - index
	if depth < 26 {
		d.write("'" + string(rune('a'+depth)))
	} else {
		d.write("'_" + strconv.FormatUint(depth, 10))
	}
}

// binder reads lifetimes that "for<…>" names, and what they are in scope of.
func (d *rustName) binder(f func()) {
	n := d.opt62('G')
	if n > uint64(len(d.in)) {
		d.fail()
		return
	}
	if n > 0 {
		d.write("for<")
		for i := range n {
			if i > 0 {
				d.write(", ")
			}
			d.bound++
			d.lifetime(1)
		}
		d.write("> ")
	}
	f()
	d.bound -= n
}

var rustTypes = map[byte]string{
	'b': "bool", 'c': "char", 'e': "str", 'u': "()", 'a': "i8", 's': "i16", 'l': "i32", 'x': "i64",
	'n': "i128", 'i': "isize", 'h': "u8", 't': "u16", 'm': "u32", 'y': "u64", 'o': "u128", 'j': "usize",
	'f': "f32", 'd': "f64", 'z': "!", 'p': "_", 'v': "...",
}

// typ reads a type.
func (d *rustName) typ() {
	d.enter()
	defer d.leave()
	tag := d.peek()
	if name, ok := rustTypes[tag]; ok {
		d.at++
		d.write(name)
		return
	}
	switch tag {
	case 'R', 'Q':
		d.at++
		d.write("&")
		if d.eat('L') {
			if l := d.base62(); l != 0 {
				d.lifetime(l)
				d.write(" ")
			}
		}
		if tag == 'Q' {
			d.write("mut ")
		}
		d.typ()
	case 'P':
		d.at++
		d.write("*const ")
		d.typ()
	case 'O':
		d.at++
		d.write("*mut ")
		d.typ()
	case 'A', 'S':
		d.at++
		d.write("[")
		d.typ()
		if tag == 'A' {
			d.write("; ")
			d.constant(true)
		}
		d.write("]")
	case 'T':
		d.at++
		d.write("(")
		if d.list(d.typ) == 1 {
			d.write(",")
		}
		d.write(")")
	case 'F':
		d.at++
		d.binder(d.fn)
	case 'D':
		d.at++
		d.write("dyn ")
		d.binder(func() {
			for n := 0; d.err == nil && !d.eat('E'); n++ {
				if n > 0 {
					d.write(" + ")
				}
				d.dynTrait()
			}
		})
		if !d.eat('L') {
			d.fail()
		}
		if l := d.base62(); l != 0 {
			d.write(" + ")
			d.lifetime(l)
		}
	case 'B':
		d.at++
		d.backref(d.typ)
	default:
		d.path(false)
	}
}

// fn reads the rest of a function pointer's type.
func (d *rustName) fn() {
	if d.eat('U') {
		d.write("unsafe ")
	}
	if d.eat('K') {
		abi := "C"
		if !d.eat('C') {
			abi = strings.ReplaceAll(d.undisambiguated(), "_", "-")
		}
		d.write(`extern "` + abi + `" `)
	}
	d.write("fn(")
	d.list(d.typ)
	d.write(")")
	if !d.eat('u') {
		d.write(" -> ")
		d.typ()
	}
}

// dynTrait reads a trait with what its associated types are.
func (d *rustName) dynTrait() {
	open := d.openPath()
	for d.err == nil && d.eat('p') {
		if open {
			d.write(", ")
		} else {
			d.write("<")
			open = true
		}
		d.write(d.undisambiguated() + " = ")
		d.typ()
	}
	if open {
		d.write(">")
	}
}

// openPath reads a path, and leaves the brackets of its arguments open; it reports
// whether it has any.
func (d *rustName) openPath() (open bool) {
	d.enter()
	defer d.leave()
	switch {
	case d.eat('B'):
		d.backref(func() { open = d.openPath() })
	case d.eat('I'):
		d.path(false)
		d.write("<")
		d.list(d.genericArg)
		open = true
	default:
		d.path(false)
	}
	return open
}
