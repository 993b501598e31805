package printfmt

import (
	"slices"
	"strconv"
	"strings"

	"kprof/perfevent/format"
	"kprof/perfevent/format/internal/operator"
)

// Options are what the text of a record needs beside the record. The zero value
// prints addresses as numbers.
type Options struct {
	// Symbol names an address of the kernel's code: the function and the offset
	// in it. It is for %pS and its like.
	Symbol func(addr uint64) (name string, offset uint64, ok bool)

	// KernelString is the text at an address of the kernel, for a %s that has
	// nothing else: what the recording's printk formats have (ParseStrings).
	KernelString func(addr uint64) (string, bool)

	// Constant is the value of a name of the kernel's, as its type information has
	// the enumerations. It is for the names that the kernel leaves unresolved in
	// its formats, and asked while compiling.
	Constant func(name string) (uint64, bool)
}

// maxOutput is about how many bytes one record may print. The kernel itself stops
// at 8 KiB.
const maxOutput = 64 << 10

// Printer prints the records of one event. It is not for several goroutines at once.
type Printer struct {
	format  *format.Format
	options Options
	pieces  []piece
	also    []*format.Field // follow as name=value
	problem *Problem
	binary  *binary // of ftrace:bprint
	start   int     // of the current record's text in the buffer
}

// Compile reads the print fmt of a format. What it cannot read is told by Problem,
// and the printer prints fields as name=value instead.
func Compile(f *format.Format, o Options) *Printer {
	p := parser{lexer: lexer{src: f.PrintFmt}, format: f, options: o}
	pr := &Printer{format: f, options: o, binary: newBinary(f)}
	pr.pieces, pr.also = p.compile()
	if pr.problem = p.problem; p.failed != nil {
		pr.problem, pr.pieces, pr.also = p.failed, nil, nil
	}
	return pr
}

// Problem is why the text is not all that the kernel would print, nil when it is.
// It is the same for all records of the event, and worth being told once.
func (p *Printer) Problem() *Problem { return p.problem }

func (p *parser) compile() (pieces []piece, also []*format.Field) {
	switch {
	case len(p.src) == 0:
		p.fail(Missing, "", 0)
		return nil, nil
	case len(p.src) > maxText:
		p.fail(Limit, "", 0)
		return nil, nil
	}
	p.next()
	if p.tok.kind != tokString {
		p.fail(Syntax, p.rest(), 0)
		return nil, nil
	}
	pieces = p.cut(strings.TrimRight(p.strings(), "\n"))

	var good, bad []*format.Field
	arg := func() (*node, bool) {
		if !p.accept(",") {
			if p.tok.kind != tokEnd {
				p.fail(Syntax, p.rest(), p.tok.off)
			}
			p.fail(Arguments, "", p.tok.off)
			return nil, false
		}
		p.bad, p.used = false, nil
		n := p.expr()
		if p.bad {
			bad = append(bad, p.used...)
		} else {
			good = append(good, p.used...)
		}
		return n, p.bad
	}
	args := 0
	for i := range pieces {
		d := &pieces[i]
		if d.conv == 0 {
			continue
		}
		var b bool
		if d.starWidth {
			d.widthArg, b = arg()
			d.unknown = d.unknown || b
		}
		if d.starPrec {
			d.precArg, b = arg()
			d.unknown = d.unknown || b
		}
		if d.conv == 's' && d.precArg != nil && d.precArg.isText() {
			// Synthetic events have %.*s without an argument for the precision
			// (kernel/trace/trace_events_synth.c, __set_synth_event_print_fmt).
			d.arg, d.precArg, d.starPrec = d.precArg, nil, false
		} else {
			d.arg, b = arg()
			d.unknown = d.unknown || b
		}
		if args += 3; args > 3*maxArgs {
			p.fail(Limit, "", p.tok.off)
		}
		if p.failed != nil {
			return nil, nil
		}
	}
	// Further arguments, which printf ignores, must be C nevertheless: else the
	// ones before may have been misread.
	for p.is(",") && p.failed == nil {
		arg()
	}
	if p.tok.kind != tokEnd {
		p.fail(Syntax, p.rest(), p.tok.off)
	}
	for _, f := range bad {
		if !slices.Contains(good, f) && !slices.Contains(also, f) {
			also = append(also, f)
		}
	}
	return pieces, also
}

// AppendTo appends the text of a record to dst. raw is the payload from the common
// fields on. A line end at the end is left out; other control characters, which
// names may have, stand as they are.
func (p *Printer) AppendTo(dst, raw []byte) []byte {
	if p.binary != nil {
		if text, ok := p.bprint(dst, raw); ok {
			return text
		}
	}
	if p.problem != nil && p.problem.Whole {
		own := p.format.Own()
		for i := range own {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = p.appendField(dst, &own[i], raw)
		}
		return dst
	}
	p.start = len(dst)
	for i := range p.pieces {
		if p.full(dst) {
			dst = append(dst, "…"...)
			break
		}
		if d := &p.pieces[i]; d.conv == 0 {
			dst = append(dst, d.literal...)
		} else {
			dst = p.print(dst, d, raw)
		}
	}
	for len(dst) > p.start && dst[len(dst)-1] == '\n' {
		dst = dst[:len(dst)-1]
	}
	for _, f := range p.also {
		dst = p.appendField(append(dst, ' '), f, raw)
	}
	return dst
}

// appendField appends name=value, where addresses of code have names.
func (p *Printer) appendField(dst []byte, f *format.Field, raw []byte) []byte {
	dst = append(append(dst, f.Name...), '=')
	if f.Scalar() && f.Size == p.format.LongSize && format.CodeAddress(f.Name) {
		if addr, ok := f.Uint(raw); ok {
			return p.appendSymbol(dst, addr, true)
		}
	}
	return f.AppendValue(dst, raw)
}

// Symbolic returns how the print fmt writes the field: by the names of flags or
// symbols. It is nil when the field is printed otherwise.
func (p *Printer) Symbolic(field string) *Symbolic {
	for i := range p.pieces {
		if n := p.pieces[i].symbolic(field); n != nil {
			return &Symbolic{p, n}
		}
	}
	return nil
}

// Symbolic writes a field by names.
type Symbolic struct {
	printer *Printer
	node    *node
}

// AppendTo appends the names that the field of a record has.
func (s *Symbolic) AppendTo(dst, raw []byte) []byte {
	s.printer.start = len(dst)
	return s.printer.text(dst, s.node, raw)
}

// symbolic finds the argument that is flags or symbols of exactly the field,
// alone or on a side of a conditional that is printed as text.
func (d *piece) symbolic(field string) *node {
	if d.conv != 's' || d.unknown {
		return nil
	}
	n := d.arg
	for _, k := range [...]*node{n, n.b, n.c} {
		if k == nil || k.op != opFlags && k.op != opSymbol || k != n && n.op != operator.Cond && n.op != opElse {
			continue
		}
		a := k.a
		for a.op == opCast || a.op == operator.And && a.b.isConst() {
			a = a.a
		}
		if a.op == opField && a.field.Name == field {
			return n
		}
	}
	return nil
}

// ParseStrings reads tracefs' printk_formats, as recordings have them: lines of an
// address and the text there,
//
//	0xffffffff82a1b2c3 : "rcu_sched"
//
// Lines of other forms are left out.
func ParseStrings(text string) map[uint64]string {
	m := map[uint64]string{}
	for line := range strings.Lines(text) {
		addr, quoted, ok := strings.Cut(strings.TrimRight(line, "\n"), " : ")
		if !ok {
			continue
		}
		v, err := strconv.ParseUint(strings.TrimSpace(addr), 0, 64)
		if i := strings.LastIndexByte(quoted, '"'); err == nil && i > 0 && quoted[0] == '"' {
			m[v] = unescape(quoted[1:i])
		}
	}
	return m
}
