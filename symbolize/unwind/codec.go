package unwind

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// The form of the rows that were asked of a Table, numbers as varints:
//
//	1 FramePointers; 2 Vsyscall; 3 rows
//	rows   number; of each: difference to the offset before, and 0 for none,
//	       or the number of an earlier row, or one more, and the row:
//	         return address register, signal, rule of the CFA, rules: number, each: register, rule
//	rule   kind, register, offset (zigzag), expression: length, bytes
//
// 0 stands for no Table.

const (
	noTable = iota
	framePointersTable
	vsyscallTable
	rowsTable
)

var errRows = errors.New("damaged rows of call frame information")

// AppendTo appends what was asked of t so far to b, in a form that Decode reads. ok is false
// where that is not known any more.
func (t *Table) AppendTo(b []byte) (_ []byte, ok bool) {
	switch t {
	case FramePointers:
		return binary.AppendUvarint(b, framePointersTable), true
	case Vsyscall:
		return binary.AppendUvarint(b, vsyscallTable), true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.forgot {
		return b, false
	}
	b = binary.AppendUvarint(b, rowsTable)
	b = binary.AppendUvarint(b, uint64(len(t.rows)))
	known := map[string]uint64{}
	last := uint64(0)
	var row []byte
	for _, off := range slices.Sorted(maps.Keys(t.rows)) {
		b = binary.AppendUvarint(b, off-last)
		last = off
		r := t.rows[off]
		if r == nil {
			b = append(b, 0)
			continue
		}
		row = r.append(row[:0])
		n, ok := known[string(row)]
		if ok {
			b = binary.AppendUvarint(b, n)
			continue
		}
		n = uint64(len(known)) + 1
		known[string(row)] = n
		b = append(binary.AppendUvarint(b, n), row...)
	}
	return b, true
}

func (r *row) append(b []byte) []byte {
	signal := byte(0)
	if r.signal {
		signal = 1
	}
	b = r.cfa.append(append(b, r.ra, signal))
	b = binary.AppendUvarint(b, uint64(len(r.regs)))
	for i := range r.regs {
		b = r.regs[i].append(append(b, r.regs[i].reg))
	}
	return b
}

func (r *rule) append(b []byte) []byte {
	b = binary.AppendVarint(append(b, byte(r.kind), r.reg), r.off)
	return append(binary.AppendUvarint(b, uint64(len(r.expr))), r.expr...)
}

// Decode reads a Table that knows what was asked of another one, nil for none, and returns
// what follows it. Nothing of it refers to b.
func Decode(b []byte) (t *Table, rest []byte, err error) {
	c := cursor{data: b}
	switch c.uleb() {
	case noTable:
	case framePointersTable:
		t = FramePointers
	case vsyscallTable:
		t = Vsyscall
	case rowsTable:
		t = &Table{recorded: c.rows()}
	default:
		c.bad = true
	}
	if c.bad {
		return nil, nil, errRows
	}
	return t, b[c.off:], nil
}

// recordedRows are the rows that were asked of another Table.
type recordedRows struct {
	offs []uint64 // sorted
	rows []*row   // of each; nil for none
}

func (r *recordedRows) row(off uint64) *row {
	if i, ok := slices.BinarySearch(r.offs, off); ok {
		return r.rows[i]
	}
	return nil
}

func (c *cursor) rows() *recordedRows {
	r := &recordedRows{}
	var known []*row
	off := uint64(0)
	for n := c.uleb(); n > 0 && !c.bad; n-- {
		next := off + c.uleb()
		c.bad = c.bad || next < off
		off = next
		var here *row
		switch id := c.uleb(); {
		case id == 0:
		case id <= uint64(len(known)):
			here = known[id-1]
		case id == uint64(len(known))+1:
			here = c.row()
			known = append(known, here)
		default:
			c.bad = true
		}
		r.offs, r.rows = append(r.offs, off), append(r.rows, here)
	}
	return r
}

func (c *cursor) row() *row {
	r := &row{ra: c.register(), signal: c.u8() != 0, cfa: c.rule()}
	c.bad = c.bad || r.cfa.kind != register && r.cfa.kind != valExpr
	n := c.uleb()
	if n > numRegs+1 {
		c.bad = true
		return r
	}
	for range n {
		r.regs = append(r.regs, regRule{c.register(), c.rule()})
	}
	return r
}

func (c *cursor) register() uint8 {
	n := c.u8()
	c.bad = c.bad || n > returnAddr
	return min(n, returnAddr)
}

func (c *cursor) rule() rule {
	r := rule{kind: ruleKind(c.u8()), reg: c.register()}
	c.bad = c.bad || r.kind > valExpr
	v := c.uleb()
	r.off = int64(v>>1) ^ -int64(v&1)
	r.expr = slices.Clone(c.block())
	return r
}
