package printfmt

import (
	"kprof/perfevent/format"
	"kprof/perfevent/format/internal/operator"
)

// op is one of C's operators, or of those that follow. The zero value is opBad.
type op = operator.Op

const (
	opBad   op = 0                       // cannot be evaluated
	opConst op = operator.Own + iota - 1 // num
	opField                              // a scalar field
	opLoc                                // the u32 of a __data_loc or __rel_loc field
	opLen                                // bytes of a dynamic array
	opIndex                              // element b of a, which is data
	opCast
	opElse // a ?: c, of GNU C

	// Bytes, of elements of typ.
	opString // str
	opData   // all of a field
	opAddr   // the record from a field on
	opRecord // the record
	opOffset // a + b elements

	// Text.
	opFlags   // __print_flags(a, str, table)
	opSymbol  // __print_symbolic(a, table)
	opHex     // __print_hex(a, b) with str between the bytes
	opArray   // __print_array(a, b, c), of b elements of c bytes
	opHexDump // __print_hex_dump(str, …, a of b bytes)
	opMask    // __get_bitmask, __get_cpumask
	opStack   // __get_stacktrace: lines of " => symbol"
)

// ctype is a type of C: of a number, or of the elements of data.
type ctype struct {
	size     uint8 // bytes: 1, 2, 4 or 8
	unsigned bool
}

var intType = ctype{size: 4}

// node is an expression that is ready to be evaluated.
type node struct {
	op      op
	typ     ctype
	meet    ctype  // of binary operators the type of the operands, of opOffset that of the elements
	ptr     bool   // a number that is an address
	depth   uint16 // of the tree
	num     uint64 // opConst, extended to 64 bits by typ
	a, b, c *node
	field   *format.Field
	str     string
	table   []entry
	row     [3]uint32 // opHexDump: prefix type, bytes of a row, bytes of a group
	ascii   bool
	wide    bool // opFlags, opSymbol: of 64 bits whatever a long has

	data, text bool // see classify
}

// entry is a pair of __print_flags or __print_symbolic.
type entry struct {
	value uint64
	name  string
}

// isData reports whether n is bytes of the record or a string.
func (n *node) isData() bool { return n.data }

// isText reports whether n is no number.
func (n *node) isText() bool { return n.text }

// classify finds out what n is, once.
func (n *node) classify() {
	switch n.op {
	case operator.Cond:
		n.data, n.text = n.b.data && n.c.data, n.b.text || n.c.text
	case opElse:
		n.data, n.text = n.a.data && n.c.data, n.a.text || n.c.text
	default:
		n.data, n.text = n.op >= opString && n.op <= opOffset, n.op >= opString
	}
}

// isConst reports whether n is a number that is known.
func (n *node) isConst() bool { return n.op == opConst }

// extend gives v the width and sign of t.
func (t ctype) extend(v uint64) uint64 {
	switch {
	case t.size == 1 && t.unsigned:
		return uint64(uint8(v))
	case t.size == 1:
		return uint64(int8(v))
	case t.size == 2 && t.unsigned:
		return uint64(uint16(v))
	case t.size == 2:
		return uint64(int16(v))
	case t.size == 4 && t.unsigned:
		return uint64(uint32(v))
	case t.size == 4:
		return uint64(int32(v))
	}
	return v
}

// promote is C's integer promotion.
func (t ctype) promote() ctype {
	if t.size < 4 {
		return intType
	}
	return t
}

// common is the type in which two operands meet: the usual arithmetic conversions.
func common(a, b ctype) ctype {
	a, b = a.promote(), b.promote()
	switch {
	case a.size > b.size:
		return a
	case b.size > a.size:
		return b
	}
	return ctype{a.size, a.unsigned || b.unsigned}
}

// arith computes a binary operator on operands of type t; shifts have the type of
// the left one. It has no result when it divides by zero.
func arith(op op, t ctype, x, y uint64) (uint64, bool) {
	bool64 := func(b bool) (uint64, bool) {
		if b {
			return 1, true
		}
		return 0, true
	}
	less := int64(x) < int64(y)
	if t.unsigned {
		less = x < y
	}
	bits := uint64(t.size) * 8
	switch op {
	case operator.Mul:
		x *= y
	case operator.Div, operator.Mod:
		switch {
		case y == 0:
			return 0, false
		case t.unsigned && op == operator.Div:
			x /= y
		case t.unsigned:
			x %= y
		case op == operator.Div:
			x = uint64(int64(x) / int64(y))
		default:
			x = uint64(int64(x) % int64(y))
		}
	case operator.Add:
		x += y
	case operator.Sub:
		x -= y
	case operator.Shl:
		x <<= y & (bits - 1) // C leaves larger counts open: as x86 and arm64 do
	case operator.Shr:
		if y &= bits - 1; t.unsigned {
			x >>= y
		} else {
			x = uint64(int64(x) >> y)
		}
	case operator.Less:
		return bool64(less)
	case operator.GreaterEq:
		return bool64(!less)
	case operator.Greater:
		return bool64(!less && x != y)
	case operator.LessEq:
		return bool64(less || x == y)
	case operator.Eq:
		return bool64(x == y)
	case operator.NotEq:
		return bool64(x != y)
	case operator.And:
		x &= y
	case operator.Xor:
		x ^= y
	case operator.Or:
		x |= y
	}
	return t.extend(x), true
}
