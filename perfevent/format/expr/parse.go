package expr

import (
	"fmt"
	"slices"

	"kprof/perfevent/format/internal/operator"
)

// op is one of C's operators, or of those that follow. The zero value is opNumber.
type op = operator.Op

const (
	opNumber op = 0
	opString op = operator.Own + iota - 1
	opName      // name, of the event qualifier
	opIndex
	opGlob
	opNotGlob
	opIn
)

// tree is an expression as it is written.
type tree struct {
	op        op
	off       int // of the operator, or of the operand
	num       uint64
	str       string // of a string, or the name
	qualifier string // "field", or an event
	kids      []*tree
}

// Expr is an expression, before it is known what events have.
type Expr struct {
	src   string
	root  *tree
	names []*tree
}

// String is the expression as it was written.
func (e *Expr) String() string { return e.src }

// Text is the string that an expression is alone, else the expression as it was written: the name
// of what is no field, which may have blanks in it.
func (e *Expr) Text() string {
	if e.root.op == opString {
		return e.root.str
	}
	return e.src
}

// parser reads by recursive descent; the first error ends it.
type parser struct {
	src   string
	tok   token
	off   int
	depth int
	nodes int
	err   error
	names []*tree
}

// Parse reads an expression. Its errors are of type *Error.
func Parse(src string) (*Expr, error) {
	if len(src) > maxSource {
		return nil, &Error{src[:40], 0, fmt.Sprintf("an expression of %d bytes; at most %d are read", len(src), maxSource)}
	}
	p := &parser{src: src}
	p.next()
	if p.tok.kind == tokEnd && p.err == nil {
		return nil, &Error{src, p.tok.off, "the expression is empty"}
	}
	root := p.cond()
	if p.tok.kind != tokEnd {
		p.fail(p.tok.off, "an operator is missing before %s", p.what())
	}
	if p.err != nil {
		return nil, p.err
	}
	return &Expr{src, root, p.names}, nil
}

func (p *parser) fail(off int, format string, args ...any) *tree {
	if p.err == nil {
		p.err = &Error{p.src, off, fmt.Sprintf(format, args...)}
	}
	p.tok, p.off = token{off: len(p.src)}, len(p.src)
	return &tree{}
}

// what is the current token for a message.
func (p *parser) what() string {
	if p.tok.kind == tokEnd {
		return "the end"
	}
	return fmt.Sprintf("%q", p.src[p.tok.off:p.off])
}

func (p *parser) next() {
	if p.err != nil {
		return
	}
	t, end, err := scan(p.src, p.off)
	if err != nil {
		p.err = err
		t, end = token{off: len(p.src)}, len(p.src)
	}
	p.tok, p.off = t, end
}

func (p *parser) accept(punct string) bool {
	if p.tok.kind == tokPunct && p.tok.text == punct {
		p.next()
		return true
	}
	return false
}

// need is accept, and an error without, after which nothing more is read.
func (p *parser) need(punct string) {
	if !p.accept(punct) {
		p.fail(p.tok.off, "%q is missing before %s", punct, p.what())
	}
}

func (p *parser) make(o op, off int, kids ...*tree) *tree {
	if p.nodes++; p.nodes > maxNodes {
		return p.fail(off, "the expression has more than %d parts", maxNodes)
	}
	return &tree{op: o, off: off, kids: kids}
}

func (p *parser) enter() bool {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.tok.off, "the expression is nested deeper than %d", maxDepth)
		return false
	}
	return true
}

func (p *parser) cond() *tree {
	if !p.enter() {
		return &tree{}
	}
	defer func() { p.depth-- }()
	c := p.binary(1)
	at := p.tok.off
	if !p.accept("?") {
		return c
	}
	yes := p.cond()
	p.need(":")
	return p.make(operator.Cond, at, c, yes, p.cond())
}

// binaryOps are C's and our own.
var binaryOps = func() map[string]operator.Binary {
	all := operator.Binaries()
	for text, o := range map[string]op{"~": opGlob, "!~": opNotGlob, "in": opIn} {
		all[text] = operator.Binary{Op: o, Prec: operator.EqPrec}
	}
	return all
}()

// binary reads operators that bind at least as strongly as prec.
func (p *parser) binary(prec int) *tree {
	left := p.unary()
	for chain := 0; p.tok.kind == tokPunct || p.tok.kind == tokName && p.tok.text == "in"; chain++ {
		t := p.tok
		o, ok := binaryOps[t.text]
		switch {
		case t.text == "=":
			return p.fail(t.off, "%q is not an operator; equality is %q", "=", "==")
		case !ok || o.Prec < prec:
			return left
		case chain+p.depth > 2*maxDepth:
			return p.fail(t.off, "too many operators in a row")
		}
		p.next()
		if o.Op == opIn {
			left = p.list(left, t.off)
			continue
		}
		left = p.make(o.Op, t.off, left, p.binary(o.Prec+1))
	}
	return left
}

// list reads {a, b, …} of an in.
func (p *parser) list(left *tree, at int) *tree {
	if !p.accept("{") {
		return p.fail(p.tok.off, "in takes a list in braces, not %s", p.what())
	}
	n := p.make(opIn, at, left)
	for {
		n.kids = append(n.kids, p.cond())
		if p.accept("}") {
			return n
		}
		if !p.accept(",") {
			return p.fail(p.tok.off, "%q or %q is missing before %s", ",", "}", p.what())
		}
	}
}

var unaryOps = map[string]op{"-": operator.Neg, "~": operator.Not, "!": operator.LNot}

func (p *parser) unary() *tree {
	if !p.enter() {
		return &tree{}
	}
	defer func() { p.depth-- }()
	t := p.tok
	switch t.kind {
	case tokNumber:
		p.next()
		n := p.make(opNumber, t.off)
		n.num = t.num
		return n
	case tokString:
		p.next()
		n := p.make(opString, t.off)
		n.str = t.text
		return n
	case tokName:
		return p.name(t)
	case tokPunct:
		if o, ok := unaryOps[t.text]; ok {
			p.next()
			return p.make(o, t.off, p.unary())
		}
		if t.text == "+" {
			p.next()
			return p.unary()
		}
		if p.accept("(") {
			n := p.cond()
			p.need(")")
			return n
		}
	}
	return p.fail(t.off, "a field, a number or a string is missing before %s", p.what())
}

// name reads a field: name, field.name, event.name, each with [index].
func (p *parser) name(t token) *tree {
	if t.text == "in" {
		return p.fail(t.off, "a field is missing before %q", "in")
	}
	p.next()
	n := p.make(opName, t.off)
	n.str = t.text
	if p.accept(".") {
		if p.tok.kind != tokName {
			return p.fail(p.tok.off, "the name of a field is missing after %q", t.text+".")
		}
		n.qualifier, n.str = t.text, p.tok.text
		p.next()
	}
	if p.err == nil {
		p.names = append(p.names, n)
	}
	for {
		at := p.tok.off
		if !p.accept("[") {
			return n
		}
		i := p.cond()
		p.need("]")
		n = p.make(opIndex, at, n, i)
	}
}

// Names are the fields and the sample's own values that the expression names, each
// once, as written.
func (e *Expr) Names() []string {
	var names []string
	for _, n := range e.names {
		if s := n.full(); !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	return names
}

func (n *tree) full() string {
	if n.qualifier != "" {
		return n.qualifier + "." + n.str
	}
	return n.str
}
