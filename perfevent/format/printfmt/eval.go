package printfmt

import (
	"bytes"
	"strconv"

	"kprof/perfevent/format"
	"kprof/perfevent/format/internal/operator"
)

// num is the value of n for a record, extended to 64 bits by n's type. It is not
// known when the record is cut short or when it divides by zero.
func (p *Printer) num(n *node, raw []byte) (uint64, bool) {
	switch n.op {
	case opConst:
		return n.num, true
	case opField:
		return n.field.Uint(raw)
	case opLoc:
		lo, ok := u32(p, raw, n.field.Offset)
		return uint64(lo), ok
	case opLen:
		b, ok := n.field.Bytes(raw)
		return uint64(len(b)), ok
	case opIndex:
		b, ok := p.bytes(n.a, raw)
		if a := n.a; !ok && a.op == opData && a.field.Place == format.Inline && a.field.Offset < len(raw) {
			b, ok = raw[a.field.Offset:], true // a stack of the tracer's: of an array only what it takes
		}
		if !ok {
			return 0, false
		}
		i, ok := p.num(n.b, raw)
		return p.element(b, i, n.typ, ok)
	case opCast:
		v, ok := p.num(n.a, raw)
		return n.typ.extend(v), ok
	case operator.Neg:
		v, ok := p.num(n.a, raw)
		return n.typ.extend(-v), ok
	case operator.Not:
		v, ok := p.num(n.a, raw)
		return n.typ.extend(^v), ok
	case operator.LNot:
		v, ok := p.truth(n.a, raw)
		return truth(!v), ok
	case operator.LAnd, operator.LOr:
		v, ok := p.truth(n.a, raw)
		if !ok || v == (n.op == operator.LOr) {
			return truth(v), ok
		}
		v, ok = p.truth(n.b, raw)
		return truth(v), ok
	case opElse:
		v, ok := p.num(n.a, raw)
		if ok && v == 0 {
			v, ok = p.num(n.c, raw)
		}
		return n.typ.extend(v), ok
	case operator.Cond:
		k, ok := p.branch(n, raw)
		if !ok {
			return 0, false
		}
		v, ok := p.num(k, raw)
		return n.typ.extend(v), ok
	}
	if n.op < operator.Mul || n.op > operator.Or {
		return 0, false
	}
	x, ok := p.num(n.a, raw)
	if !ok {
		return 0, false
	}
	y, ok := p.num(n.b, raw)
	if !ok {
		return 0, false
	}
	return arith(n.op, n.meet, n.meet.extend(x), shiftBy(n.op, n.meet, y))
}

func (p *Printer) truth(n *node, raw []byte) (bool, bool) {
	if n.isText() {
		return true, true // an address in the record is not NULL
	}
	v, ok := p.num(n, raw)
	return v != 0, ok
}

// branch is the side of a conditional that holds.
func (p *Printer) branch(n *node, raw []byte) (*node, bool) {
	v, ok := p.truth(n.a, raw)
	if v {
		return n.b, ok
	}
	return n.c, ok
}

func u32(p *Printer, raw []byte, off int) (uint32, bool) {
	if len(raw) < 4 || off > len(raw)-4 {
		return 0, false
	}
	return p.format.Order.Uint32(raw[off:]), true
}

// element reads element i of b.
func (p *Printer) element(b []byte, i uint64, t ctype, ok bool) (uint64, bool) {
	size := uint64(t.size)
	if !ok || size == 0 || i >= uint64(len(b))/size {
		return 0, false
	}
	b = b[i*size:]
	switch size {
	case 1:
		return t.extend(uint64(b[0])), true
	case 2:
		return t.extend(uint64(p.format.Order.Uint16(b))), true
	case 4:
		return t.extend(uint64(p.format.Order.Uint32(b))), true
	}
	return p.format.Order.Uint64(b), true
}

// bytes is the data that n is, up to its end or that of the record.
func (p *Printer) bytes(n *node, raw []byte) ([]byte, bool) {
	switch n.op {
	case opData:
		return n.field.Bytes(raw)
	case opAddr:
		if n.field.Offset > len(raw) {
			return nil, false
		}
		return raw[n.field.Offset:], true
	case opRecord:
		return raw, true
	case opOffset:
		b, ok := p.bytes(n.a, raw)
		if !ok {
			return nil, false
		}
		i, ok := p.num(n.b, raw)
		size := uint64(n.meet.size)
		if !ok || size == 0 || i > uint64(len(b))/size {
			return nil, false
		}
		return b[i*size:], true
	case opElse:
		return p.bytes(n.a, raw)
	case operator.Cond:
		if k, ok := p.branch(n, raw); ok {
			return p.bytes(k, raw)
		}
	}
	return nil, false
}

// full reports whether the current record has printed what one may.
func (p *Printer) full(dst []byte) bool { return len(dst)-p.start > maxOutput }

// text appends what n is as a string.
func (p *Printer) text(dst []byte, n *node, raw []byte) []byte {
	switch n.op {
	case opString:
		return append(dst, n.str...)
	case opElse:
		if v, ok := p.truth(n.a, raw); ok && !v {
			return p.text(dst, n.c, raw)
		}
		return p.text(dst, n.a, raw)
	case operator.Cond:
		k, ok := p.branch(n, raw)
		if !ok {
			return append(dst, '?')
		}
		return p.text(dst, k, raw)
	case opFlags:
		return p.flags(dst, n, raw)
	case opSymbol:
		return p.symbol(dst, n, raw)
	case opHex, opHexDump:
		b, ok := p.counted(n, raw)
		switch {
		case !ok:
			return append(dst, '?')
		case n.op == opHexDump:
			return p.hexDump(dst, n, b)
		}
		for i, c := range b {
			if p.full(dst) {
				break
			}
			if i > 0 {
				dst = append(dst, n.str...)
			}
			dst = appendHexByte(dst, c)
		}
		return dst
	case opArray:
		return p.array(dst, n, raw)
	case opMask:
		b, ok := n.field.Bytes(raw)
		if !ok {
			return append(dst, '?')
		}
		return format.AppendBitmask(dst, b, len(b)*8, p.format.LongSize, p.format.Order)
	case opStack:
		b, ok := n.field.Bytes(raw)
		if !ok {
			return append(dst, '?')
		}
		t := ctype{uint8(p.format.LongSize), true}
		for i := uint64(0); !p.full(dst); i++ {
			addr, ok := p.element(b, i, t, true)
			if !ok || addr == t.extend(^uint64(0)) {
				break
			}
			dst = append(dst, "=> "...)
			dst = append(p.appendSymbol(dst, addr, true), '\n')
		}
		return dst
	case opData, opAddr, opRecord, opOffset:
		b, ok := p.bytes(n, raw)
		if !ok {
			return append(dst, '?')
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			b = b[:i]
		}
		return append(dst, b[:min(len(b), maxOutput)]...)
	}
	v, ok := p.num(n, raw)
	if !ok {
		return append(dst, '?')
	}
	if s, ok := p.kernelString(v); ok {
		return append(dst, s...)
	}
	return appendHex(append(dst, "0x"...), v)
}

func (p *Printer) kernelString(addr uint64) (string, bool) {
	if p.options.KernelString == nil {
		return "", false
	}
	return p.options.KernelString(addr)
}

// counted is the data of n.a, n.b bytes of it.
func (p *Printer) counted(n *node, raw []byte) ([]byte, bool) {
	b, ok := p.bytes(n.a, raw)
	if !ok {
		return nil, false
	}
	count, ok := p.num(n.b, raw)
	if !ok || int64(count) < 0 {
		return nil, false
	}
	return b[:min(count, uint64(len(b)))], true
}

// toLong is v as the unsigned long that the kernel's helpers take, but for those whose names
// end in _u64.
func (p *Printer) toLong(n *node, v uint64) uint64 {
	if p.format.LongSize == 4 && !n.wide {
		return uint64(uint32(v))
	}
	return v
}

// long is the number that n looks for in its table.
func (p *Printer) long(n *node, raw []byte) (uint64, bool) {
	v, ok := p.num(n.a, raw)
	return p.toLong(n, v), ok
}

// flags does as trace_print_flags_seq: a flag of several bits needs them all, and
// what no name is for is one number.
func (p *Printer) flags(dst []byte, n *node, raw []byte) []byte {
	v, ok := p.long(n, raw)
	if !ok {
		return append(dst, '?')
	}
	first := true
	for i := range n.table {
		mask := p.toLong(n, n.table[i].value)
		if v == 0 || p.full(dst) {
			break
		}
		if v&mask != mask {
			continue
		}
		v &^= mask
		if !first {
			dst = append(dst, n.str...)
		}
		dst = append(dst, n.table[i].name...)
		first = false
	}
	if v != 0 {
		if !first {
			dst = append(dst, n.str...)
		}
		dst = appendHex(append(dst, "0x"...), v)
	}
	return dst
}

func (p *Printer) symbol(dst []byte, n *node, raw []byte) []byte {
	v, ok := p.long(n, raw)
	if !ok {
		return append(dst, '?')
	}
	for i := range n.table {
		if v == p.toLong(n, n.table[i].value) {
			return append(dst, n.table[i].name...)
		}
	}
	return appendHex(append(dst, "0x"...), v)
}

// array prints "{0x1,0x2}".
func (p *Printer) array(dst []byte, n *node, raw []byte) []byte {
	b, ok := p.bytes(n.a, raw)
	count, ok2 := p.num(n.b, raw)
	size, ok3 := p.num(n.c, raw)
	if !ok || !ok2 || !ok3 || size != 1 && size != 2 && size != 4 && size != 8 {
		return append(dst, '?')
	}
	dst = append(dst, '{')
	for i := uint64(0); i < count && !p.full(dst); i++ {
		v, ok := p.element(b, i, ctype{uint8(size), true}, true)
		if !ok {
			break
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendHex(append(dst, "0x"...), v)
	}
	return append(dst, '}')
}

func appendHexByte(dst []byte, c byte) []byte {
	return append(dst, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
}

// hexDump prints rows as print_hex_dump does: the prefix, by its type nothing more
// or the place, the bytes in groups, which are numbers of the recording's order,
// and the text.
func (p *Printer) hexDump(dst []byte, n *node, b []byte) []byte {
	row, group := int(n.row[1]), int(n.row[2])
	if row != 16 && row != 32 {
		row = 16
	}
	if group != 1 && group != 2 && group != 4 && group != 8 {
		group = 1
	}
	for at, groups := 0, group; at < len(b) && !p.full(dst); at += row {
		line := b[at:min(at+row, len(b))]
		if group = groups; len(line)%group != 0 { // of this line alone (lib/hexdump.c)
			group = 1
		}
		dst = append(append(dst, '\n'), n.str...)
		if n.row[0] != 0 {
			dst = pad(dst, len(dst), strconv.AppendUint, uint64(at), 8)
			dst = append(dst, ": "...)
		}
		from := len(dst)
		for i := 0; i < len(line); i += group {
			if i > 0 {
				dst = append(dst, ' ')
			}
			v, _ := p.element(line[i:], 0, ctype{uint8(group), true}, true)
			dst = pad(dst, len(dst), strconv.AppendUint, v, 2*group)
		}
		if n.ascii {
			for len(dst)-from < row*2+row/group+1 {
				dst = append(dst, ' ')
			}
			for _, c := range line {
				if c < ' ' || c > '~' {
					c = '.'
				}
				dst = append(dst, c)
			}
		}
	}
	return dst
}

// pad appends v in hexadecimal with zeros up to width digits.
func pad(dst []byte, from int, format func([]byte, uint64, int) []byte, v uint64, width int) []byte {
	for d := width - 1; d > 0 && v>>(4*d) == 0; d-- {
		dst = append(dst, '0')
	}
	return format(dst, v, 16)
}
