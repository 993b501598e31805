package printfmt

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"kprof/perfevent/format"
)

// binary prints what trace_printk wrote in binary form, the event ftrace:bprint: the
// address of a format string, which the recording's printk formats have, and the arguments
// one behind the other (lib/vsprintf.c, vbin_printf). Those of 1 and 2 bytes are aligned to
// their size, all larger ones to 4 bytes; texts, and most pointers that are printed by what they
// point to, are texts with a NUL (binaryArgs.pointer).
type binary struct {
	ip, fmt, buf *format.Field
	formats      map[uint64][]piece // by address
	args         [3]node            // width, precision, argument of the conversion at hand
}

// maxFormats bounds the formats that are kept.
const maxFormats = 1 << 14

// newBinary returns what prints the records of a format, nil for all formats but bprint.
func newBinary(f *format.Format) *binary {
	b := &binary{ip: f.Field("ip"), fmt: f.Field("fmt"), buf: f.Field("buf")}
	if f.Name != "bprint" || b.ip == nil || b.fmt == nil || b.buf == nil {
		return nil
	}
	b.formats = map[uint64][]piece{}
	return b
}

// bprint appends the text of a record; false where its format string is not known.
func (p *Printer) bprint(dst, raw []byte) ([]byte, bool) {
	b := p.binary
	ip, ok1 := b.ip.Uint(raw)
	addr, ok2 := b.fmt.Uint(raw)
	if !ok1 || !ok2 || b.buf.Offset > len(raw) || p.options.KernelString == nil {
		return dst, false
	}
	pieces, ok := b.formats[addr]
	if !ok {
		s, ok := p.options.KernelString(addr)
		if !ok || len(b.formats) >= maxFormats {
			return dst, false
		}
		cutter := parser{format: p.format}
		pieces = cutter.cut(s)
		b.formats[addr] = pieces
	}
	p.start = len(dst)
	dst = append(p.appendSymbol(dst, ip, false), ": "...)
	args := binaryArgs{p: p, b: raw[b.buf.Offset:]} // declared u32 buf[], or u32 buf of size 0
	for i := range pieces {
		if p.full(dst) {
			dst = append(dst, "…"...)
			break
		}
		if d := &pieces[i]; d.conv == 0 {
			dst = append(dst, d.literal...)
		} else {
			dst = p.print(dst, args.bind(d), raw)
		}
	}
	for len(dst) > p.start && dst[len(dst)-1] == '\n' {
		dst = dst[:len(dst)-1]
	}
	return dst, true
}

// binaryArgs reads arguments.
type binaryArgs struct {
	p  *Printer
	b  []byte
	at int
	d  piece
}

// bind returns a conversion with the arguments that come next.
func (a *binaryArgs) bind(d *piece) *piece {
	a.d = *d
	nodes := &a.p.binary.args
	*nodes = [3]node{}
	if d.starWidth {
		nodes[0] = a.number(4, false)
		a.d.widthArg = &nodes[0]
	}
	if d.starPrec {
		nodes[1] = a.number(4, false)
		a.d.precArg = &nodes[1]
	}
	switch {
	case d.conv == 's':
		nodes[2] = a.string()
	case d.conv == 'c':
		nodes[2] = a.number(1, true)
	case d.conv != 'p':
		nodes[2] = a.number(d.size, d.conv != 'd')
	default:
		nodes[2] = a.pointer(d.ext)
		if nodes[2].op == opString { // as the kernel printed it, width and all
			a.d.conv, a.d.width, a.d.prec, a.d.starWidth, a.d.starPrec = 's', -1, -1, false, false
		}
	}
	if nodes[2].op == opBad {
		a.d.unknown = true
	}
	a.d.arg = &nodes[2]
	return &a.d
}

// pointer reads the argument of a %p with an extension: the pointer, or the text that the kernel
// made of it when it was there (lib/vsprintf.c, vbin_printf). Kernels differ, and a recording does
// not always say which one it is of:
//
//	before 4.16   all are pointers
//	4.16 to 5.0   all are texts but for S s F f, and those without an extension
//	5.1 to 5.4    pointers are also x and K, as in stable kernels of the versions before
//	since 5.5     F and f are no more, but fw and fwP are texts; since 5.6 there is e, a pointer
//
// So a text is what can be one: pointers to the kernel's memory are no UTF-8, and null pointers
// begin with a 0. Where a text is the exception, it has all digits of an address, at least.
func (a *binaryArgs) pointer(ext string) node {
	long := a.p.format.LongSize
	is := func(kinds string) bool { return ext != "" && strings.IndexByte(kinds, ext[0]) >= 0 }
	if ext == "" || is("Sse") {
		return a.number(uint8(long), true)
	}
	at := a.at
	text := a.string()
	after := a.at
	a.at = at
	address := a.number(uint8(long), true)
	likely := text.op == opString && utf8.ValidString(text.str) && !strings.ContainsFunc(text.str, unicode.IsControl)
	switch {
	case strings.HasPrefix(ext, "fw"):
	case is("xKFf"):
		if !likely || len(text.str) < 8 {
			return address
		}
	case address.op == opBad, likely && (text.str != "" || is("bE")): // which may be empty
	case address.num == 0 || address.num>>(8*long-1) != 0:
		return address
	}
	a.at = after
	return text
}

func (a *binaryArgs) number(size uint8, unsigned bool) node {
	n := int(size)
	align := min(n, 4)
	at := (a.at + align - 1) / align * align
	if at+n > len(a.b) {
		a.at = len(a.b)
		return node{}
	}
	a.at = at + n
	t := ctype{size, unsigned}
	v, ok := a.p.element(a.b[at:], 0, t, true)
	if !ok {
		return node{}
	}
	return node{op: opConst, typ: t, num: v}
}

func (a *binaryArgs) string() node {
	rest := a.b[min(a.at, len(a.b)):]
	n := bytes.IndexByte(rest, 0)
	if n < 0 {
		a.at = len(a.b)
		return node{}
	}
	a.at += n + 1
	return node{op: opString, str: string(rest[:n])}
}
