package printfmt

import (
	"strconv"
	"strings"

	"kprof/perfevent/format"
	"kprof/perfevent/format/internal/operator"
)

// The bounds of a print fmt. The largest of Linux 6.18 has 27 KiB, 20 arguments,
// and parentheses 25 deep.
const (
	maxText  = 1 << 20
	maxDepth = 200
	maxNodes = 1 << 16
	maxArgs  = 256
)

// parser reads expressions by recursive descent. The first thing that ends the
// whole is kept in failed; what spoils only an argument is kept in problem, and
// the argument is bad.
type parser struct {
	lexer
	format  *format.Format
	options Options
	depth   int
	nodes   int
	failed  *Problem
	problem *Problem
	bad     bool            // the current argument
	used    []*format.Field // by the current argument
}

func (p *parser) fail(r Reason, text string, off int) *node {
	if p.failed == nil {
		p.failed = &Problem{Event: p.format.Name, Reason: r, Text: shorten(text), Offset: off, Whole: true}
	}
	p.tok = token{kind: tokEnd, off: len(p.src)} // every loop ends
	p.off = len(p.src)
	return &node{typ: intType}
}

// note keeps what cannot be evaluated, of which only a part of the text suffers.
func (p *parser) note(r Reason, text string, off int) {
	if p.problem == nil {
		p.problem = &Problem{Event: p.format.Name, Reason: r, Text: shorten(text), Offset: off}
	}
}

// spoil makes the argument one that cannot be evaluated.
func (p *parser) spoil(r Reason, text string, off int) *node {
	p.note(r, text, off)
	p.bad = true
	return &node{typ: p.long()}
}

func shorten(s string) string {
	const most = 60
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func (p *parser) long() ctype  { return ctype{size: uint8(p.format.LongSize)} }
func (p *parser) ulong() ctype { return ctype{uint8(p.format.LongSize), true} }

func (p *parser) is(punct string) bool { return p.tok.kind == tokPunct && p.tok.text == punct }

func (p *parser) accept(punct string) bool {
	if p.is(punct) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(punct string) {
	if !p.accept(punct) {
		p.fail(Syntax, p.rest(), p.tok.off)
	}
}

// rest is what stands at the current token.
func (p *parser) rest() string { return p.src[min(p.tok.off, len(p.src)):] }

// make counts a node, so that time and memory stay bounded.
func (p *parser) make(n node) *node {
	for _, k := range [...]*node{n.a, n.b, n.c} {
		if k != nil {
			n.depth = max(n.depth, k.depth+1)
		}
	}
	n.classify()
	p.nodes++
	if p.nodes > maxNodes || n.depth > 4*maxDepth {
		return p.fail(Limit, "", p.tok.off)
	}
	return &n
}

func constant(v uint64, t ctype) *node { return &node{op: opConst, num: t.extend(v), typ: t} }

// expr reads a conditional expression.
func (p *parser) expr() *node {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return p.fail(Limit, "", p.tok.off)
	}
	cond := p.binary(1)
	if !p.accept("?") {
		return cond
	}
	o, yes := operator.Cond, cond
	if p.is(":") {
		o = opElse
	} else {
		yes = p.expr()
	}
	p.expect(":")
	no := p.expr()
	if cond.isConst() {
		chosen := no
		if cond.num != 0 {
			chosen = yes
		}
		if yes.isText() || no.isText() {
			return chosen
		}
		return p.convert(chosen, common(yes.typ, no.typ), chosen.ptr)
	}
	n := node{op: o, a: cond, b: yes, c: no, typ: common(yes.typ, no.typ), ptr: yes.ptr || no.ptr}
	if yes.isData() {
		n.typ = yes.typ
	}
	if o == opElse {
		n.b = nil // a is evaluated once: nested, it would be twice at every level
	}
	return p.make(n)
}

var binaryOps = operator.Binaries()

// binary reads operators that bind at least as strongly as prec.
func (p *parser) binary(prec int) *node {
	left := p.unary()
	for p.tok.kind == tokPunct {
		o, ok := binaryOps[p.tok.text]
		if !ok || o.Prec < prec {
			break
		}
		p.next()
		left = p.combine(o.Op, left, p.binary(o.Prec+1))
	}
	return left
}

// combine makes the node of a binary operator and folds constants.
func (p *parser) combine(o op, a, b *node) *node {
	switch {
	case o == operator.LAnd || o == operator.LOr:
		if a.isConst() && b.isConst() {
			yes := a.num != 0 && b.num != 0
			if o == operator.LOr {
				yes = a.num != 0 || b.num != 0
			}
			return constant(truth(yes), intType)
		}
		return p.make(node{op: o, a: a, b: b, typ: intType})
	case (o == operator.Add || o == operator.Sub) && a.isData() && !b.isText():
		if o == operator.Sub {
			b = p.prefix(operator.Neg, b)
		}
		return p.make(node{op: opOffset, a: a, b: b, typ: a.typ, meet: a.typ})
	}
	meet := common(a.typ, b.typ)
	if o.Shifts() {
		meet = a.typ.promote()
	}
	result := meet
	if o.Compares() {
		result = intType
	}
	if a.isConst() && b.isConst() {
		if v, ok := arith(o, meet, meet.extend(a.num), shiftBy(o, meet, b.num)); ok {
			return constant(v, result)
		}
	}
	return p.make(node{op: o, a: a, b: b, typ: result, meet: meet, ptr: (a.ptr || b.ptr) && !o.Compares()})
}

// shiftBy is the right operand: as it is for shifts, else of the common type.
func shiftBy(o op, t ctype, v uint64) uint64 {
	if o.Shifts() {
		return v
	}
	return t.extend(v)
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// prefix makes the node of a unary operator.
func (p *parser) prefix(o op, a *node) *node {
	t := a.typ.promote()
	if o == operator.LNot {
		t = intType
	}
	n := node{op: o, a: a, typ: t}
	if a.isConst() {
		switch o {
		case operator.Neg:
			return constant(-a.num, t)
		case operator.Not:
			return constant(^a.num, t)
		case operator.LNot:
			return constant(truth(a.num == 0), t)
		}
	}
	return p.make(n)
}

func (p *parser) unary() *node {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return p.fail(Limit, "", p.tok.off)
	}
	if p.tok.kind == tokPunct {
		at := p.tok.off
		switch p.tok.text {
		case "-":
			p.next()
			return p.prefix(operator.Neg, p.unary())
		case "+":
			p.next()
			return p.unary()
		case "~":
			p.next()
			return p.prefix(operator.Not, p.unary())
		case "!":
			p.next()
			return p.prefix(operator.LNot, p.unary())
		case "&":
			p.next()
			return p.address(p.unary(), at)
		case "*":
			p.next()
			return p.index(p.unary(), constant(0, intType), at)
		case "(":
			return p.parens()
		}
	}
	return p.postfix(p.primary())
}

// parens reads what begins with a parenthesis: a statement expression, a cast, or
// an expression in parentheses.
func (p *parser) parens() *node {
	at := p.tok.off
	p.next()
	if p.is("{") {
		if n := p.wideHelper(); n != nil {
			return n
		}
		p.skip("{", "}", 0)
		p.expect(")")
		return p.postfix(p.spoil(Statements, p.src[at:min(p.tok.off, len(p.src))], at))
	}
	back := p.lexer
	if t, ok := p.typeName(); ok && p.accept(")") {
		if t.unknown && !t.pointer && !p.operandFollows() {
			p.lexer = back // a name in parentheses
		} else {
			return p.cast(t, p.unary())
		}
	} else {
		p.lexer = back
	}
	n := p.expr()
	p.expect(")")
	return p.postfix(n)
}

// operandFollows tells (type) operand from (name) operator where the name is not
// a type that is known.
func (p *parser) operandFollows() bool {
	switch p.tok.kind {
	case tokName, tokNumber, tokString, tokChar:
		return true
	case tokPunct:
		return p.tok.text == "(" || p.tok.text == "~" || p.tok.text == "!"
	}
	return false
}

// skip passes over all up to the end of a bracket, of which so many are open already; false
// where it has none.
func (p *parser) skip(left, right string, open int) bool {
	for {
		switch {
		case p.tok.kind == tokEnd || p.tok.kind == tokBad:
			p.fail(Syntax, p.rest(), p.tok.off)
			return false
		case p.is(left):
			open++
		case p.is(right):
			open--
		case p.tok.kind == tokName && p.tok.text == "REC":
			p.useAfterREC()
		}
		p.next()
		if open == 0 {
			return true
		}
	}
}

// useAfterREC notes the field of REC->name, which is not evaluated.
func (p *parser) useAfterREC() {
	back := p.lexer
	if p.next(); p.accept("->") && p.tok.kind == tokName {
		p.field(p.tok.text)
	}
	p.lexer = back
}

// postfix reads [index] and, of what is not REC, -> and ".".
func (p *parser) postfix(n *node) *node {
	for p.tok.kind == tokPunct {
		at := p.tok.off
		switch p.tok.text {
		case "[":
			p.next()
			i := p.expr()
			p.expect("]")
			n = p.index(n, i, at)
		case "->", ".":
			rest := p.rest()
			p.next()
			name := p.tok.text
			if p.tok.kind != tokName {
				return p.fail(Syntax, rest, at)
			}
			p.next()
			if n.op == opRecord {
				n = p.member(name, at)
				continue
			}
			n = p.spoil(Memory, p.src[at:min(p.tok.off, len(p.src))], at)
		default:
			return n
		}
	}
	return n
}

// index is element i of data; memory behind addresses is not recorded.
func (p *parser) index(n, i *node, at int) *node {
	if n.isData() {
		return p.make(node{op: opIndex, a: n, b: i, typ: n.typ})
	}
	if p.bad {
		return n
	}
	return p.spoil(Memory, p.src[at:min(len(p.src), at+30)], at)
}

// address is &x: of a field, its place in the record.
func (p *parser) address(n *node, at int) *node {
	switch {
	case n.op == opField:
		return p.make(node{op: opAddr, field: n.field, typ: n.typ})
	case n.op == opIndex:
		return p.make(node{op: opOffset, a: n.a, b: n.b, typ: n.typ, meet: n.typ})
	case n.isData():
		return n
	}
	return p.spoil(Memory, p.src[at:min(len(p.src), at+30)], at)
}

// cast converts to a type. Of data it changes the elements.
func (p *parser) cast(t cType, n *node) *node {
	switch {
	case n.isData():
		if !t.pointer {
			return n // (unsigned long)REC->array: its address, which is nothing
		}
		m := *n
		if t.elem.size > 0 {
			m.typ = t.elem
		}
		if n.op == operator.Cond || n.op == opElse {
			return n
		}
		return p.make(m)
	case n.isText():
		return n
	case t.pointer:
		return p.convert(n, p.ulong(), true)
	case t.truth:
		return p.convert(p.prefix(operator.LNot, p.prefix(operator.LNot, n)), t.elem, false)
	case t.elem.size == 0:
		return n
	}
	return p.convert(n, t.elem, false)
}

func (p *parser) convert(n *node, t ctype, ptr bool) *node {
	if n.isConst() {
		return constant(n.num, t)
	}
	return p.make(node{op: opCast, a: n, typ: t, ptr: ptr})
}

// primary reads a name, a number, a string, a character.
func (p *parser) primary() *node {
	t := p.tok
	switch t.kind {
	case tokNumber:
		p.next()
		n, ok := p.number(t.text)
		if !ok {
			return p.fail(Syntax, t.text, t.off)
		}
		return n
	case tokChar:
		p.next()
		if len(t.text) != 1 {
			return p.fail(Syntax, t.text, t.off)
		}
		return constant(uint64(t.text[0]), intType)
	case tokString:
		return p.make(node{op: opString, str: p.strings(), typ: ctype{size: 1}})
	case tokName:
		p.next()
		return p.name(t)
	}
	return p.fail(Syntax, p.rest(), t.off)
}

// strings reads one string, or several that C makes one.
func (p *parser) strings() string {
	if s := p.tok.text; p.tok.kind == tokString {
		if p.next(); p.tok.kind != tokString {
			return s
		}
		parts := []string{s}
		for ; p.tok.kind == tokString; p.next() {
			parts = append(parts, p.tok.text)
		}
		return strings.Join(parts, "")
	}
	p.fail(Syntax, p.rest(), p.tok.off)
	return ""
}

// number reads an integer of C with its suffixes, and gives it the type that C does.
func (p *parser) number(s string) (*node, bool) {
	digits := strings.TrimRight(s, "uUlL")
	suffix := strings.ToLower(s[len(digits):])
	v, err := strconv.ParseUint(digits, 0, 64)
	if err != nil || strings.Contains(digits, "_") {
		return nil, false
	}
	decimal := digits[0] != '0'
	unsigned := strings.Contains(suffix, "u")
	t := ctype{4, unsigned}
	if n := strings.Count(suffix, "l"); n == 1 {
		t.size = uint8(p.format.LongSize)
	} else if n > 1 {
		t.size = 8
	}
	for ; ; t = (ctype{8, unsigned}) {
		bits := uint(t.size) * 8
		switch {
		case bits == 64 && v>>63 == 0, bits == 32 && v>>31 == 0:
			return constant(v, t), true
		case bits == 64, bits == 32 && v>>32 == 0 && (unsigned || !decimal):
			t.unsigned = true
			return constant(v, t), true
		}
	}
}
