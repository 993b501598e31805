package expr

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/datasrc"
	"kprof/perfevent/format"
	"kprof/perfevent/format/internal/operator"
	"kprof/perfevent/spelling"
)

// Own are the sample's own values.
type Own uint32

const (
	OwnComm Own = 1 << iota
	OwnPID
	OwnTID
	OwnCPU
	OwnTime
	// What samples of some events have: see CompileFor.
	OwnAddr
	OwnPhysAddr
	OwnWeight
	OwnInsLat
	OwnRetireLat
	OwnDataPageSize
	OwnCodePageSize
	OwnDataSrc // and what it says by parts: see datasrc.Part
	OwnUserReg
	OwnIntrReg
)

var ownNames = map[string]Own{"comm": OwnComm, "pid": OwnPID, "tid": OwnTID, "cpu": OwnCPU, "time": OwnTime}

// optional are what samples of some events have.
var optional = map[string]Own{
	"addr": OwnAddr, "phys_addr": OwnPhysAddr, "weight": OwnWeight, "ins_lat": OwnInsLat, "retire_lat": OwnRetireLat,
	"data_page_size": OwnDataPageSize, "code_page_size": OwnCodePageSize, "data_src": OwnDataSrc,
}

// Optional is what samples of some events have, beside what all have.
type Optional struct {
	Own Own // OwnAddr to OwnDataSrc
	// UserRegs and IntrRegs are the names of the registers of Sample's, in their order, in upper or
	// lower case.
	UserRegs, IntrRegs []string
}

// The qualifiers of registers, where both kinds are recorded; perf script's words for them.
const (
	userRegs = "uregs"
	intrRegs = "iregs"
)

// Names are the names of these in expressions, sorted: registers in lower case.
func (o *Optional) Names() (names []string) {
	for name, own := range optional {
		if o.Own&own != 0 {
			names = append(names, name)
		}
	}
	if o.Own&OwnDataSrc != 0 {
		for _, part := range datasrc.Parts {
			names = append(names, part.String())
		}
	}
	for _, regs := range [][]string{o.UserRegs, o.IntrRegs} {
		for _, name := range regs {
			names = append(names, strings.ToLower(name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// find finds what samples of an event have beside what all have, other than registers: a part of
// OwnDataSrc is text, and a number of it is all.
func (o *Optional) find(name string) (own Own, part int, text bool) {
	if own := optional[name] & o.Own; own != 0 || o.Own&OwnDataSrc == 0 {
		return own, 0, false
	}
	for i, part := range datasrc.Parts {
		if part.String() == name {
			return OwnDataSrc, i, true
		}
	}
	return 0, 0, false
}

// register finds a register: what was said of which, otherwise the user's before those that were
// interrupted.
func (o *Optional) register(qualifier, name string) (own Own, at int) {
	for _, of := range []struct {
		qualifier string
		own       Own
		names     []string
	}{{userRegs, OwnUserReg, o.UserRegs}, {intrRegs, OwnIntrReg, o.IntrRegs}} {
		same := func(n string) bool { return strings.EqualFold(n, name) }
		if at := slices.IndexFunc(of.names, same); at >= 0 && (qualifier == "" || qualifier == of.qualifier) {
			return of.own, at
		}
	}
	return 0, 0
}

const eventName = "event"

// node is an expression over one event, ready to be evaluated.
type node struct {
	op      op
	kids    []*node
	num     uint64
	str     string
	own     Own           // of opName: 0 is the field
	part    int           // which of registers, or of datasrc.Parts
	field   *format.Field // nil: the event has none
	text    bool
	signed  bool // the number is an int64
	neutral bool // a number of the expression, which takes the sign of what it meets
	bits    bool // a neutral one made by ~ & ^ or |: a mask, which beside an unsigned number is unsigned
}

// Program is an expression over one event. It is not changed by its use.
type Program struct {
	expr    *Expr
	root    *node
	missing []string
}

// compiler makes the nodes of a program.
type compiler struct {
	expr    *Expr
	event   string // sched:sched_switch
	format  *format.Format
	has     Optional
	missing []string
	err     error
}

// Compile prepares the expression for an event, named as "sched:sched_switch".
// The format is nil for events that have no fields, as cycles. An error, of type
// *Error, is text where a number must stand, or the contrary. That the event lacks
// a field is none: see Program.Missing.
func (e *Expr) Compile(event string, f *format.Format) (*Program, error) {
	return e.CompileFor(event, f, Optional{})
}

// CompileFor is Compile for an event whose samples have more than those of all events. These names
// are the event's fields, where it has such; registers can also be called uregs.NAME and iregs.NAME.
func (e *Expr) CompileFor(event string, f *format.Format, has Optional) (*Program, error) {
	p, err := e.CompileText(event, f, has)
	if err == nil && p.root.text {
		return nil, &Error{e.src, e.root.off, "text is neither true nor false, and no number: compare it"}
	}
	return p, err
}

// CompileText is CompileFor of an expression that may be text: see Program.Text.
func (e *Expr) CompileText(event string, f *format.Format, has Optional) (*Program, error) {
	c := &compiler{expr: e, event: event, format: f, has: has}
	n := c.node(e.root)
	if c.err != nil {
		return nil, c.err
	}
	return &Program{e, n, c.missing}, nil
}

// Missing are the names of the expression that the event lacks.
func (p *Program) Missing() []string { return p.missing }

// Field is the field that the expression is, if it is one and nothing else. Its value
// has the unit of the field.
func (p *Program) Field() *format.Field {
	if p.root.op == opName {
		return p.root.field
	}
	return nil
}

// Optional reports whether the expression is a name of Optional and nothing else.
func (p *Program) Optional() bool { return p.root.op == opName && p.root.own >= OwnAddr }

// Check returns an error, of type *Error, when a name of the expression is in none
// of the events that it was compiled for. names are those that can be meant.
func (e *Expr) Check(programs []*Program, names []string) error {
	for _, n := range e.names {
		full := n.full()
		lacks := func(p *Program) bool { return slices.Contains(p.missing, full) }
		if len(programs) == 0 || slices.ContainsFunc(programs, func(p *Program) bool { return !lacks(p) }) {
			continue
		}
		reason := fmt.Sprintf("no event has a field %q", full)
		if close := spelling.Closest(n.str, names); len(close) > 0 {
			reason += spelling.Question(close)
		}
		return &Error{e.src, n.off, reason}
	}
	return nil
}

func (c *compiler) fail(t *tree, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{c.expr.src, t.off, fmt.Sprintf(format, args...)}
	}
}

// number is a kid that must be a number. A string of one character is its code.
func (c *compiler) number(t *tree) *node {
	n := c.node(t)
	if !n.text {
		return n
	}
	if n.op == opString && len(n.str) == 1 {
		return &node{op: opNumber, num: uint64(n.str[0]), neutral: true}
	}
	if n.op == opString {
		c.fail(t, "a number must stand here, not %q", n.str)
	} else {
		c.fail(t, "%s is text, and a number must stand here", t.full())
	}
	return n
}

func (c *compiler) node(t *tree) *node {
	n := &node{op: t.op}
	switch t.op {
	case opNumber:
		n.num, n.neutral = t.num, t.num <= math.MaxInt64
	case opString:
		n.str, n.text = t.str, true
	case opName:
		c.name(n, t)
		if f := n.field; f != nil && f.Array && !n.text {
			c.fail(t, "%s is an array: one element of it is %s[0]", t.full(), t.full())
		} else if f != nil && f.Kind == format.Opaque {
			c.fail(t, "%s is of type %s, which is no number", t.full(), f.Type)
		}
	case opIndex:
		if t.kids[0].op != opName {
			c.fail(t, "an element has no elements")
			break
		}
		of := &node{op: opName}
		c.name(of, t.kids[0])
		n.kids = []*node{of, c.number(t.kids[1])}
		switch f := of.field; {
		case of.own != 0 || of.op == opString || f != nil && !f.Array:
			c.fail(t, "%s is no array", t.kids[0].full())
		case f != nil && f.Kind == format.Opaque:
			c.fail(t, "the elements of %s are no numbers", t.kids[0].full())
		case f != nil:
			n.signed = f.Signed && f.Kind != format.Mask
		}
	case operator.Neg, operator.Not, operator.LNot:
		k := c.number(t.kids[0])
		n.kids = []*node{k}
		n.signed = t.op == operator.Neg || t.op == operator.Not && (k.signed || k.neutral)
		n.neutral = t.op == operator.LNot || k.neutral
		n.bits = t.op == operator.Not && k.neutral
	case operator.Eq, operator.NotEq, opIn:
		c.equality(n, t)
	case opGlob, opNotGlob:
		a, b := c.node(t.kids[0]), c.node(t.kids[1])
		switch {
		case !a.text && !a.lacking():
			c.fail(t.kids[0], "%q compares text with a glob, and this is a number", "~")
		case b.op != opString:
			c.fail(t.kids[1], "%q takes a glob in quotes", "~")
		}
		n.kids, n.neutral = []*node{a, b}, true
		c.foldEvent(n)
	case operator.Cond:
		a, b, d := c.number(t.kids[0]), c.number(t.kids[1]), c.number(t.kids[2])
		n.kids = []*node{a, b, d}
		n.signed, n.neutral, n.bits = meet(b, d)
	default:
		a, b := c.number(t.kids[0]), c.number(t.kids[1])
		n.kids = []*node{a, b}
		switch {
		case t.op >= operator.Less && t.op <= operator.GreaterEq || t.op == operator.LAnd || t.op == operator.LOr:
			n.neutral = true
		case t.op == operator.Shl || t.op == operator.Shr:
			n.signed, n.neutral, n.bits = a.signed, a.neutral, a.bits
		case t.op == operator.Sub:
			n.signed, n.neutral = true, a.neutral && b.neutral
		case t.op.Bitwise():
			n.neutral = a.neutral && b.neutral
			n.signed = a.signed && a.neutral == n.neutral || b.signed && b.neutral == n.neutral
			n.bits = n.neutral
		default:
			n.signed, n.neutral, _ = meet(a, b)
		}
	}
	return n
}

// meet is the sign of what is computed from two numbers, or is one of them.
func meet(a, b *node) (signed, neutral, bits bool) {
	as, bs := signs(a, b)
	neutral = a.neutral && b.neutral
	return as || bs, neutral, neutral && (a.bits || b.bits)
}

// signs are the signs of two numbers that meet: a mask has none beside an unsigned number.
func signs(a, b *node) (as, bs bool) {
	unsigned := func(n *node) bool { return !n.signed && !n.neutral }
	return a.signed && !(a.bits && unsigned(b)), b.signed && !(b.bits && unsigned(a))
}

// equality compares numbers or texts. A string of one character may be either, and
// so may what the event lacks: the others decide.
func (c *compiler) equality(n *node, t *tree) {
	n.neutral = true
	text, number, either := false, false, false
	for _, k := range t.kids {
		switch probe := c.quiet(k); {
		case probe.op == opString && probe.own == 0 && len(probe.str) == 1:
			either = true
		case probe.text:
			text = true
		case !probe.lacking():
			number = true
		}
	}
	text = text || either && !number
	for _, k := range t.kids {
		if !text {
			n.kids = append(n.kids, c.number(k))
			continue
		}
		kid := c.node(k)
		if !kid.text && !kid.lacking() {
			c.fail(k, "text is compared here, and this is a number: strings are in quotes")
		}
		n.kids = append(n.kids, kid)
	}
	c.foldEvent(n)
}

// lacking reports whether n is a name that the event does not have.
func (n *node) lacking() bool { return n.op == opName && n.field == nil && n.own == 0 }

// quiet is the node without its errors and without what is missing, only to see
// what it is. Names and strings suffice: all else is a number.
func (c *compiler) quiet(t *tree) *node {
	if t.op != opName && t.op != opString {
		return &node{}
	}
	q := *c
	return q.node(t)
}

// foldEvent gives comparisons of the event's name the part of it that is meant.
func (c *compiler) foldEvent(n *node) {
	if len(n.kids) == 2 && n.kids[1].own == ownEvent {
		n.kids[0], n.kids[1] = n.kids[1], n.kids[0]
	}
	other := func(k *node) bool { return k.op != opString }
	if n.kids[0].own != ownEvent || slices.ContainsFunc(n.kids, other) {
		return
	}
	yes := false
	for _, k := range n.kids[1:] {
		yes = yes || slices.ContainsFunc(c.eventNames(strings.Contains(k.str, ":")), func(name string) bool {
			if n.op == opGlob || n.op == opNotGlob {
				return glob(name, k.str)
			}
			return name == k.str
		})
	}
	if n.op == opNotGlob || n.op == operator.NotEq {
		yes = !yes
	}
	*n = node{op: opNumber, neutral: true}
	if yes {
		n.num = 1
	}
}

// eventNames are what the event is called: as recorded, without the suffix of a twin, and without
// modifiers; or those of these that have no colon, and last what is behind the first colon.
func (c *compiler) eventNames(colon bool) []string {
	names := []string{c.event, c.event, c.event}
	if c.format == nil { // otherwise a tracepoint, which nothing is behind
		names[1] = strings.TrimSuffix(c.event, abi.CopiesSuffix)
		names[2] = abi.CutModifiers(names[1])
	}
	if colon {
		return names
	}
	short := names[2][strings.IndexByte(names[2], ':')+1:]
	return append(slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, ":") }), short)
}

// ownEvent marks the string that is the event's name.
const ownEvent Own = 1 << 31

// name finds what a name stands for.
func (c *compiler) name(n *node, t *tree) {
	short := c.eventNames(false)
	here := short[len(short)-1]
	switch t.qualifier {
	case "":
		if own, ok := ownNames[t.str]; ok {
			n.own, n.text = own, own == OwnComm
			n.signed = own == OwnPID || own == OwnTID
			return
		}
		if t.str == eventName {
			n.op, n.str, n.text, n.own = opString, c.event, true, ownEvent
			return
		}
	case "field", here:
	case userRegs, intrRegs:
		if n.own, n.part = c.has.register(t.qualifier, t.str); n.own == 0 {
			c.lacks(t)
		}
		return
	default:
		c.lacks(t)
		return
	}
	var f *format.Field
	if c.format != nil {
		f = c.format.Field(t.str)
	}
	if f == nil {
		if t.qualifier == "" {
			if n.own, n.part, n.text = c.has.find(t.str); n.own == 0 {
				n.own, n.part = c.has.register("", t.str)
			}
		}
		if n.own == 0 {
			c.lacks(t)
		}
		return
	}
	n.field, n.signed = f, f.Signed && f.Kind != format.Mask
	n.text = f.Text()
}

func (c *compiler) lacks(t *tree) {
	if full := t.full(); !slices.Contains(c.missing, full) {
		c.missing = append(c.missing, full)
	}
}
