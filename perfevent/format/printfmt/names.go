package printfmt

import (
	"slices"
	"strings"

	"kprof/perfevent/format"
	"kprof/perfevent/format/internal/operator"
)

// cType is a type name of a cast or of sizeof.
type cType struct {
	elem    ctype // size 0 when it is not a number, or not known
	pointer bool
	truth   bool // bool: all but 0 is 1
	unknown bool // a single name that need not be a type
}

// typeName reads the name of a type up to a closing parenthesis.
func (p *parser) typeName() (cType, bool) {
	var words []string
	structure := false
	for ; p.tok.kind == tokName && len(words) < 8; p.next() {
		words = append(words, p.tok.text)
		if w := p.tok.text; w == "struct" || w == "union" || w == "enum" {
			structure = structure || w != "enum"
		}
	}
	if len(words) == 0 || words[0] == "REC" {
		return cType{}, false
	}
	t := cType{}
	for p.is("*") {
		t.pointer = true
		p.next()
		for p.tok.kind == tokName && (p.tok.text == "const" || p.tok.text == "volatile") {
			p.next()
		}
	}
	if !p.is(")") {
		return t, false
	}
	typ := strings.Join(words, " ")
	size, signed, _ := format.TypeOf(typ, p.format.LongSize)
	if typ == "char" || strings.HasSuffix(typ, " char") && !strings.Contains(typ, "unsigned") {
		signed = true
	}
	t.elem, t.truth = ctype{uint8(size), !signed}, typ == "bool" || typ == "_Bool"
	t.unknown = size == 0 && !structure && typ != "void" && !slices.Contains(words, "const")
	if t.unknown && len(words) > 1 {
		return t, false
	}
	return t, true
}

// field finds a field and notes that the argument uses it.
func (p *parser) field(name string) *format.Field {
	f := p.format.Field(name)
	if f != nil {
		p.used = append(p.used, f)
	}
	return f
}

// member is REC->name, or a path of nested structures.
func (p *parser) member(name string, at int) *node {
	f := p.field(name)
	for f == nil && p.is(".") { // REC->graph_ent.func
		p.next()
		if p.tok.kind != tokName {
			return p.fail(Syntax, p.rest(), at)
		}
		last := p.tok.text
		name += "." + last
		p.next()
		if f = p.field(name); f == nil {
			f = p.field(last)
		}
	}
	if f == nil {
		for _, prefix := range []string{"__data_loc_", "__rel_loc_"} {
			if rest, ok := strings.CutPrefix(name, prefix); ok {
				if f = p.field(rest); f != nil {
					return p.make(node{op: opLoc, field: f, typ: ctype{4, true}})
				}
			}
		}
		return p.spoil(NoField, name, at)
	}
	if f.Scalar() {
		t := ctype{uint8(f.Size), !f.Signed}
		return p.make(node{op: opField, field: f, typ: t, ptr: f.Kind == format.Pointer})
	}
	return p.data(f)
}

func (p *parser) data(f *format.Field) *node {
	t := ctype{1, true}
	switch f.Elem {
	case 1, 2, 4, 8:
		t = ctype{uint8(f.Elem), !f.Signed && f.Kind != format.Char}
	}
	return p.make(node{op: opData, field: f, typ: t})
}

// name is what a name stands for: the record, a helper, a constant.
func (p *parser) name(t token) *node {
	switch {
	case t.text == "REC":
		return p.make(node{op: opRecord, typ: ctype{1, true}})
	case t.text == "sizeof":
		return p.sizeof(t.off)
	case t.text == "NULL":
		return constant(0, p.ulong())
	case p.is("("):
		return p.call(t)
	}
	if v, ok := constants[t.text]; ok {
		return constant(v, intType)
	}
	if p.options.Constant != nil {
		if v, ok := p.options.Constant(t.text); ok {
			return constant(v, ctype{8, v>>63 != 0})
		}
	}
	return p.spoil(Identifier, t.text, t.off)
}

// sizeof reads a type or an expression; the size of an array is that of all of it.
func (p *parser) sizeof(at int) *node {
	var size uint8
	back := p.lexer
	p.next()
	if t, ok := p.typeName(); ok && back.tok.text == "(" && p.accept(")") && (t.pointer || t.elem.size > 0) {
		size = t.elem.size
		if t.pointer {
			size = uint8(p.format.LongSize)
		}
		return constant(uint64(size), p.ulong())
	}
	p.lexer = back
	n := p.unary()
	switch {
	case p.bad:
		return n
	case n.op == opData && n.field.Place == format.Inline:
		return constant(uint64(n.field.Size), p.ulong())
	case n.op == opField || !n.isText():
		return constant(uint64(n.typ.size), p.ulong())
	}
	return p.spoil(Memory, "sizeof", at)
}

// call reads a helper of the kernel's with its arguments.
func (p *parser) call(t token) *node {
	p.next() // the parenthesis
	switch name := strings.TrimPrefix(t.text, "__"); name {
	case "get_str", "get_rel_str", "get_dynamic_array", "get_rel_dynamic_array", "get_sockaddr", "get_rel_sockaddr":
		if f := p.fieldArgument(); f != nil {
			return p.data(f)
		}
		return p.spoil(NoField, t.text, t.off)
	case "get_dynamic_array_len", "get_rel_dynamic_array_len":
		if f := p.fieldArgument(); f != nil {
			return p.make(node{op: opLen, field: f, typ: ctype{4, true}})
		}
		return p.spoil(NoField, t.text, t.off)
	case "get_bitmask", "get_rel_bitmask", "get_cpumask", "get_rel_cpumask", "get_stacktrace", "get_rel_stacktrace":
		o := opMask
		if strings.HasSuffix(name, "stacktrace") {
			o = opStack
		}
		if f := p.fieldArgument(); f != nil {
			return p.make(node{op: o, field: f})
		}
		return p.spoil(NoField, t.text, t.off)
	case "print_flags", "print_flags_u64":
		n := node{op: opFlags, a: p.expr(), wide: name == "print_flags_u64"}
		p.expect(",")
		n.str = p.strings()
		n.table = p.table()
		return p.make(n)
	case "print_symbolic", "print_symbolic_u64", "print_symbolic64":
		n := node{op: opSymbol, a: p.expr(), wide: name != "print_symbolic"}
		n.table = p.table()
		return p.make(n)
	case "print_hex", "print_hex_str":
		args := p.arguments(2)
		n := node{op: opHex, a: args[0], b: args[1]}
		if name == "print_hex" {
			n.str = " "
		}
		return p.needData(n, t)
	case "print_array":
		args := p.arguments(3)
		return p.needData(node{op: opArray, a: args[0], b: args[1], c: args[2]}, t)
	case "print_dynamic_array":
		f := p.firstField()
		p.expect(",")
		size := p.expr()
		p.expect(")")
		if f == nil {
			return p.spoil(NoField, t.text, t.off)
		}
		return p.make(node{op: opArray, a: p.data(f), c: size,
			b: p.combine(operator.Div, p.make(node{op: opLen, field: f, typ: ctype{4, true}}), size)})
	case "print_hex_dump":
		args := p.arguments(7)
		n := node{op: opHexDump, a: args[4], b: args[5]}
		if args[0].op == opString {
			n.str = args[0].str
		}
		for i := range n.row {
			if k := args[i+1]; k.isConst() && k.num <= 32 {
				n.row[i] = uint32(k.num)
			}
		}
		n.ascii = args[6].num != 0
		return p.needData(n, t)
	case "builtin_expect":
		args := p.arguments(2)
		return args[0]
	case "builtin_constant_p":
		p.arguments(1)
		return constant(0, intType)
	case "print_ns_to_secs", "print_ns_without_secs":
		n := p.arguments(1)[0]
		o := operator.Div
		if strings.HasSuffix(name, "without_secs") {
			o = operator.Mod
		}
		return p.combine(o, p.convert(n, ctype{8, true}, false), constant(1e9, ctype{8, true}))
	}
	if !p.skip("(", ")", 1) {
		return &node{typ: intType}
	}
	return p.postfix(p.spoil(Function, t.text, t.off))
}

// needData is n when what it reads lies in the record.
func (p *parser) needData(n node, t token) *node {
	if n.a.isData() || p.bad || p.failed != nil {
		return p.make(n)
	}
	return p.spoil(Memory, t.text, t.off)
}

func (p *parser) firstField() *format.Field {
	if p.tok.kind != tokName {
		p.fail(Syntax, p.rest(), p.tok.off)
		return nil
	}
	f := p.field(p.tok.text)
	p.next()
	return f
}

// fieldArgument reads the name of a field and the closing parenthesis.
func (p *parser) fieldArgument() *format.Field {
	f := p.firstField()
	p.expect(")")
	return f
}

// arguments reads exactly n arguments and the closing parenthesis.
func (p *parser) arguments(n int) []*node {
	args := make([]*node, n)
	for i := range args {
		if i > 0 {
			p.expect(",")
		}
		args[i] = p.expr()
	}
	p.expect(")")
	return args
}

// table reads the pairs of flags or symbols, and the closing parenthesis:
//
//	, { 1, "ONE" }, { 2UL << 3, "TWO" "PARTS" }, { -1, NULL })
func (p *parser) table() []entry {
	var table []entry
	for p.failed == nil && p.accept(",") {
		if p.accept(")") { // no pairs at all
			return table
		}
		table = p.pair(table)
	}
	p.expect(")")
	return table
}

// pair reads a value and its name in braces. One whose value is not known is left out: it is
// printed as a number.
func (p *parser) pair(table []entry) []entry {
	p.expect("{")
	if p.accept("}") {
		return table
	}
	spoiled := p.bad
	p.bad = false
	value := p.expr()
	p.expect(",")
	name := p.expr()
	p.accept(",")
	p.expect("}")
	if value.isConst() && name.op == opString && !p.bad {
		table = append(table, entry{value.num, name.str})
	}
	p.bad = spoiled
	if p.nodes++; p.nodes > maxNodes {
		p.fail(Limit, "", p.tok.off)
	}
	return table
}

// wideHelper reads what a kernel of 32 bits writes for __print_flags_u64 and
// __print_symbolic_u64, which are macros still where it writes its print fmts
// (include/trace/stages/stage7_class_define.h takes back those of the others):
//
//	{ static const struct trace_print_flags_u64 __flags[] = { { 1, "ONE" }, { -1, ((void *)0) } };
//	trace_print_flags_seq_u64(p, "|", REC->flags, __flags); })
//
// It is nil, and nothing is read, where something else stands there.
func (p *parser) wideHelper() *node {
	back, bad, problem := p.lexer, p.bad, p.problem
	n, ok := p.readWide()
	switch {
	case ok && p.failed == nil:
		return p.make(n)
	case p.failed == nil || p.failed.Reason != Limit:
		p.lexer, p.bad, p.problem, p.failed = back, bad, problem, nil
	}
	return nil
}

func (p *parser) readWide() (n node, ok bool) {
	n.wide = true
	if !p.words("{", "static", "const", "struct", "trace_print_flags_u64") || p.tok.kind != tokName {
		return n, false
	}
	array := p.tok.text
	if p.next(); !p.words("[", "]", "=", "{") {
		return n, false
	}
	for p.failed == nil {
		n.table = p.pair(n.table)
		if !p.accept(",") || p.is("}") { // there may be a last comma
			break
		}
	}
	if !p.words("}", ";") {
		return n, false
	}
	switch strings.TrimPrefix(p.tok.text, "f") { // ftrace_ before Linux 4.2
	case "trace_print_flags_seq_u64":
		n.op = opFlags
	case "trace_print_symbols_seq_u64":
		n.op = opSymbol
	default:
		return n, false
	}
	if p.next(); !p.words("(", "p", ",") {
		return n, false
	}
	if n.op == opFlags {
		if n.str = p.strings(); !p.words(",") {
			return n, false
		}
	}
	n.a = p.expr()
	return n, p.words(",", array, ")", ";", "}", ")")
}

// words passes over tokens that are these, as far as they are; it reports whether all were.
func (p *parser) words(words ...string) bool {
	for _, w := range words {
		if p.tok.text != w || p.tok.kind != tokPunct && p.tok.kind != tokName {
			return false
		}
		p.next()
	}
	return true
}
