package printfmt

import (
	"bytes"

	"kprof/perfevent/format"
)

// binary prints what trace_printk wrote in binary form, the event ftrace:bprint: the
// address of a format string, which the recording's printk formats have, and the arguments
// one behind the other (lib/vsprintf.c, vbin_printf). Those of 1 and 2 bytes are aligned to
// their size, all larger ones to 4 bytes; texts, and pointers that are printed by what they
// point to, are texts with a NUL.
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
	switch long := uint8(a.p.format.LongSize); {
	case d.conv == 's':
		nodes[2] = a.string()
	case d.conv == 'c':
		nodes[2] = a.number(1, true)
	case d.conv != 'p':
		nodes[2] = a.number(d.size, d.conv != 'd')
	case d.ext == "" || bytes.IndexByte([]byte("SsFfBxKe"), d.ext[0]) >= 0:
		nodes[2] = a.number(long, true)
	default: // as the kernel printed it
		a.d.conv, nodes[2] = 's', a.string()
	}
	if nodes[2].op == opBad {
		a.d.unknown = true
	}
	a.d.arg = &nodes[2]
	return &a.d
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
