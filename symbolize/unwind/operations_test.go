package unwind

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

// TestOperations: each operation as DWARF 5, 2.5.1, defines it, and what it does at its
// bounds.
func TestOperations(t *testing.T) {
	const minus1 = ^uint64(0)
	two := func(op byte) []byte { return []byte{opConst1s, 0xfa, opLit0 + 3, op} } // -6, 3
	var regs [numRegs + 1]uint64
	for i := range regs {
		regs[i] = 0x100 * uint64(i)
	}
	push := func(n int) []byte { return bytes.Repeat([]byte{opLit0 + 1}, n) }
	nops := func(n int) []byte { return append(bytes.Repeat([]byte{opNop}, n), opLit0+1) }
	for _, c := range []struct {
		code []byte
		want uint64
		ok   bool
	}{
		{[]byte{opLit0}, 0, true},
		{[]byte{opLit31}, 31, true},
		{[]byte{opBreg0, 5}, 5, true},
		{[]byte{opBreg31, 0x7f}, 0x1eff, true}, // less one
		{[]byte{opBregx, 9, 0x80, 1}, 0x980, true},
		{[]byte{opBregx, 0x80, 2, 1}, 0x2001, true}, // none of those that are followed
		{[]byte{opConst1u, 0xfe}, 0xfe, true},
		{[]byte{opConst1s, 0xfe}, minus1 - 1, true},
		{[]byte{opConst2u, 0xfe, 0xff}, 0xfffe, true},
		{[]byte{opConst2s, 0xfe, 0xff}, minus1 - 1, true},
		{[]byte{opConst4u, 0xfe, 0xff, 0xff, 0xff}, 0xfffffffe, true},
		{[]byte{opConst4s, 0xfe, 0xff, 0xff, 0xff}, minus1 - 1, true},
		{[]byte{opConst8u, 1, 2, 3, 4, 5, 6, 7, 8}, 0x0807060504030201, true},
		{[]byte{opConst8s, 1, 2, 3, 4, 5, 6, 7, 0x88}, 0x8807060504030201, true},
		{[]byte{opConst8u, 1, 2, 3, 4, 5, 6, 7}, 0, false},
		{[]byte{opConstu, 0xe5, 0x8e, 0x26}, 624485, true},        // DWARF 5, 7.6
		{[]byte{opConsts, 0x80, 0x7f}, minus1 - 127, true},        // -128
		{[]byte{opConsts, 0xff, 0}, 127, true},                    //
		{[]byte{opLit0 + 5, opDup, opPlus}, 10, true},             //
		{[]byte{opLit0 + 5, opLit0 + 6, opDrop}, 5, true},         //
		{[]byte{opLit0 + 5, opLit0 + 6, opOver}, 5, true},         //
		{[]byte{opLit0 + 5, opOver}, 0, false},                    //
		{[]byte{opLit0 + 5, opLit0 + 6, opSwap}, 5, true},         //
		{[]byte{opLit0 + 5, opLit0 + 6, opSwap, opDrop}, 6, true}, //
		{[]byte{opDup}, 0, false},
		{[]byte{opDrop, opLit0}, 0, false},
		{[]byte{opLit0 + 5, opNeg}, minus1 - 4, true},
		{[]byte{opLit0 + 5, opNot}, minus1 - 5, true},
		{[]byte{opLit0 + 5, opPlusUconst, 0x80, 1}, 133, true},
		{two(opAnd), 2, true},
		{two(opOr), minus1 - 4, true},
		{two(opXor), minus1 - 6, true},
		{two(opPlus), minus1 - 2, true},
		{two(opMinus), minus1 - 8, true},
		{two(opMul), minus1 - 17, true},
		{two(opShl), minus1 - 47, true},
		{two(opShr), minus1 >> 3, true},
		{two(opShra), minus1, true},
		{two(opEq), 0, true}, {two(opNe), 1, true},
		{two(opGe), 0, true}, {two(opGt), 0, true}, {two(opLe), 1, true}, {two(opLt), 1, true},
		{[]byte{opLit0, opLit0, opEq}, 1, true}, {[]byte{opLit0, opLit0, opNe}, 0, true},
		{[]byte{opLit0, opLit0, opGe}, 1, true}, {[]byte{opLit0, opLit0, opGt}, 0, true},
		{[]byte{opLit0, opLit0, opLe}, 1, true}, {[]byte{opLit0, opLit0, opLt}, 0, true},
		{[]byte{opLit0 + 1, opLit0, opGe}, 1, true}, {[]byte{opLit0 + 1, opLit0, opGt}, 1, true},
		{[]byte{opLit0 + 9, opSkip, 1, 0, opDrop}, 9, true},                          // to the end
		{[]byte{opLit0 + 9, opSkip, 2, 0, opDrop}, 0, false},                         // behind it
		{[]byte{opLit0 + 9, opSkip, 0xfb, 0xff}, 0, false},                           // before the begin
		{[]byte{opLit0 + 9, opLit0 + 1, opBra, 1, 0, opDrop}, 9, true},               //
		{[]byte{opLit0 + 9, opLit0, opBra, 1, 0, opNop}, 9, true},                    // not taken
		{[]byte{opLit0 + 3, opLit0 + 1, opMinus, opDup, opBra, 0xfa, 0xff}, 0, true}, // three times
		{push(maxDepth), 1, true},
		{push(maxDepth + 1), 0, false},
		{nops(maxSteps - 1), 1, true},
		{nops(maxSteps), 0, false},
	} {
		if got, ok := eval(c.code, &regs, &Stack{}); ok != c.ok || ok && got != c.want {
			t.Errorf("%x: %#x %v, want %#x %v", c.code, got, ok, c.want, c.ok)
		}
	}
	if got, ok := eval([]byte{opPlusUconst, 8}, &regs, &Stack{}, 0x7000); !ok || got != 0x7008 {
		t.Errorf("from the CFA on: %#x %v", got, ok)
	}
}

// TestEncodings: pointers as the Linux Standard Base, 10.5.1, has them.
func TestEncodings(t *testing.T) {
	bytes := []byte{0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa, 0xf9, 0xf8, 0x07, 0, 0, 0}
	for _, c := range []struct {
		enc    byte
		narrow bool
		want   uint64
		read   int
		bad    bool
	}{
		{enc: 0, want: 0xf8f9fafbfcfdfeff, read: 8},
		{enc: 0, narrow: true, want: 0xfcfdfeff, read: 4},
		{enc: encUData2, want: 0xfeff, read: 2},
		{enc: 0x0a, want: 0xfffffffffffffeff, read: 2},
		{enc: encUData4, want: 0xfcfdfeff, read: 4},
		{enc: encSData4, want: 0xfffffffffcfdfeff, read: 4},
		{enc: encSData4, narrow: true, want: 0xfcfdfeff, read: 4},
		{enc: encUData8, want: 0xf8f9fafbfcfdfeff, read: 8},
		{enc: encSData8, want: 0xf8f9fafbfcfdfeff, read: 8},
		{enc: encULEB, want: 0x7f | 0x7e<<7 | 0x7d<<14 | 0x7c<<21 | 0x7b<<28 | 0x7a<<35 | 0x79<<42 | 0x78<<49 | 7<<56, read: 9},
		{enc: encSLEB, want: 0x7f | 0x7e<<7 | 0x7d<<14 | 0x7c<<21 | 0x7b<<28 | 0x7a<<35 | 0x79<<42 | 0x78<<49 | 7<<56, read: 9},
		{enc: encPCRel | encUData2, want: 0xfeff + 0x1000, read: 2},
		{enc: encDataRel | encUData2, want: 0xfeff + 0x20000, read: 2},
		{enc: encOmit},
		{enc: 0x20 | encUData2, bad: true}, // relative to the text
		{enc: 0x80 | encUData2, bad: true}, // where it is found
		{enc: 0x05, bad: true},
	} {
		cur := cursor{data: bytes, addr: 0x1000, narrow: c.narrow}
		got := cur.encoded(c.enc, 0x20000)
		if cur.bad != c.bad || !c.bad && (got != c.want || cur.off != c.read) {
			t.Errorf("%#x narrow %v: %#x after %d bytes, bad %v; want %#x, %d, %v", c.enc, c.narrow, got, cur.off, cur.bad, c.want, c.read, c.bad)
		}
	}
	for n, ok := range map[int]bool{0: true, 3: true, 4: false} {
		cur := cursor{data: []byte{byte(n), 1, 2, 3}}
		if b := cur.block(); cur.bad == ok || ok && len(b) != n {
			t.Errorf("a block of %d bytes: %x, bad %v", n, b, cur.bad)
		}
		cur = cursor{data: []byte{1, 2, 3}}
		if cur.skip(uint64(n)); cur.bad == ok || ok && cur.off != n {
			t.Errorf("%d bytes skipped: at %d, bad %v", n, cur.off, cur.bad)
		}
	}
}

// rowOf runs instructions for code at 0x100 to 0x200, of which each unit is 4 bytes, and
// offsets are in units of -8.
func rowOf(initial, program []byte, addr uint64) *row {
	f := fdeData{cieData: cieData{codeAlign: 4, dataAlign: -8, ra: 16, initial: initial}, start: 0x100, size: 0x100, program: program}
	return f.row(addr)
}

// TestInstructions: each call frame instruction as DWARF 5, 6.4.2, defines it.
func TestInstructions(t *testing.T) {
	initial := []byte{cfaDef, 7, 8, cfaOffset | 16, 1}
	rules := func(r *row) string {
		if r == nil {
			return "none"
		}
		s := fmt.Sprintf("%d:%d%+d", r.cfa.kind, r.cfa.reg, r.cfa.off)
		for _, x := range r.regs {
			s += fmt.Sprintf(" %d=%d:%d%+d", x.reg, x.kind, x.rule.reg, x.off)
			if x.expr != nil {
				s += fmt.Sprintf("%x", x.expr)
			}
		}
		return s
	}
	for _, c := range []struct {
		program []byte
		addr    uint64
		want    string
	}{
		{nil, 0x100, "4:7+8 16=2:0-8"},
		{[]byte{cfaNop, cfaDefOffset, 16}, 0x100, "4:7+16 16=2:0-8"},
		{[]byte{cfaAdvance | 4, cfaDefOffset, 16}, 0x10f, "4:7+8 16=2:0-8"},
		{[]byte{cfaAdvance | 4, cfaDefOffset, 16}, 0x110, "4:7+16 16=2:0-8"},
		{[]byte{cfaAdvance1, 4, cfaDefOffset, 16}, 0x10f, "4:7+8 16=2:0-8"},
		{[]byte{cfaAdvance1, 4, cfaDefOffset, 16}, 0x110, "4:7+16 16=2:0-8"},
		{[]byte{cfaAdvance2, 4, 1, cfaDefOffset, 16}, 0x50f, "4:7+8 16=2:0-8"},
		{[]byte{cfaAdvance2, 4, 1, cfaDefOffset, 16}, 0x510, "4:7+16 16=2:0-8"},
		{[]byte{cfaAdvance4, 4, 0, 1, 0, cfaDefOffset, 16}, 0x4010f, "4:7+8 16=2:0-8"},
		{[]byte{cfaAdvance4, 4, 0, 1, 0, cfaDefOffset, 16}, 0x40110, "4:7+16 16=2:0-8"},
		{[]byte{cfaDefRegister, 6}, 0x100, "4:6+8 16=2:0-8"},
		{[]byte{cfaDefSF, 6, 0x7e}, 0x100, "4:6+16 16=2:0-8"},
		{[]byte{cfaDefOffsetSF, 0x7d}, 0x100, "4:7+24 16=2:0-8"},
		{[]byte{cfaDefExpression, 1, opLit0}, 0x100, "6:0+0 16=2:0-8"},
		{[]byte{cfaOffset | 6, 2}, 0x100, "4:7+8 6=2:0-16 16=2:0-8"},
		{[]byte{cfaOffsetExtended, 6, 2}, 0x100, "4:7+8 6=2:0-16 16=2:0-8"},
		{[]byte{cfaOffsetSF, 6, 0x7e}, 0x100, "4:7+8 6=2:0+16 16=2:0-8"},
		{[]byte{cfaNegativeOffset, 6, 2}, 0x100, "4:7+8 6=2:0+16 16=2:0-8"},
		{[]byte{cfaValOffset, 6, 2}, 0x100, "4:7+8 6=3:0-16 16=2:0-8"},
		{[]byte{cfaValOffsetSF, 6, 0x7e}, 0x100, "4:7+8 6=3:0+16 16=2:0-8"},
		{[]byte{cfaRegister, 6, 3}, 0x100, "4:7+8 6=4:3+0 16=2:0-8"},
		{[]byte{cfaExpression, 6, 1, opLit0}, 0x100, "4:7+8 6=5:0+030 16=2:0-8"},
		{[]byte{cfaValExpression, 6, 1, opLit0}, 0x100, "4:7+8 6=6:0+030 16=2:0-8"},
		{[]byte{cfaUndefined, 16}, 0x100, "4:7+8 16=1:0+0"},
		{[]byte{cfaSameValue, 16}, 0x100, "4:7+8"},
		{[]byte{cfaOffset | 16, 3, cfaRestore | 16}, 0x100, "4:7+8 16=2:0-8"},
		{[]byte{cfaOffset | 6, 3, cfaRestoreExtended, 6}, 0x100, "4:7+8 16=2:0-8"},
		{[]byte{cfaOffset | 40, 3}, 0x100, "4:7+8 16=2:0-8"}, // a vector's
		{[]byte{cfaOffset | numRegs, 3}, 0x100, "4:7+8 16=2:0-8"},
		{[]byte{cfaRememberState, cfaDefOffset, 16, cfaOffset | 6, 2, cfaRestoreState}, 0x100, "4:7+8 16=2:0-8"},
		{[]byte{cfaArgsSize, 0x80, 1, cfaNegateRAState, cfaDefOffset, 16}, 0x100, "4:7+16 16=2:0-8"},
		{[]byte{cfaSetRAState, 2, 0xfc, 0x7f, cfaNegateRAStateWithPC, cfaDefOffset, 16}, 0x100, "4:7+16 16=2:0-8"},
		{append(slices.Repeat([]byte{cfaRememberState}, maxKept), cfaDefOffset, 16), 0x100, "4:7+16 16=2:0-8"},
		{slices.Repeat([]byte{cfaRememberState}, maxKept+1), 0x100, "none"},
		{[]byte{cfaRestoreState}, 0x100, "none"},
		{[]byte{cfaSetLoc}, 0x100, "none"},
		{[]byte{0x3f}, 0x100, "none"},
		{[]byte{cfaDefOffset}, 0x100, "none"},
	} {
		if got := rules(rowOf(initial, c.program, c.addr)); got != c.want {
			t.Errorf("%x at %#x: %s, want %s", c.program, c.addr, got, c.want)
		}
	}
	if r := rowOf(nil, nil, 0x100); r != nil {
		t.Errorf("no rule for the CFA: %+v", r)
	}
}

// TestSteps goes to the caller by each kind of rule.
func TestSteps(t *testing.T) {
	x86 := registersOf(X86_64)
	data := make([]byte, 64)
	for i := range data {
		data[i] = byte(i)
	}
	word := func(at int) uint64 { return le.Uint64(data[at:]) }
	cfa := rule{kind: register, reg: 7, off: 16}
	for _, c := range []struct {
		name string
		rule rule
		want uint64
		ok   bool
	}{
		{"in memory", rule{kind: offset, off: -8}, word(8), true},
		{"at the copy's end", rule{kind: offset, off: 40}, word(56), true},
		{"beyond it", rule{kind: offset, off: 41}, 0, false},
		{"below it", rule{kind: offset, off: -17}, 0, false},
		{"an address", rule{kind: valOffset, off: -8}, 0x7008, true},
		{"in a register", rule{kind: register, reg: 3}, 0x333, true},
		{"where an expression says", rule{kind: expr, expr: []byte{opLit0 + 8, opPlus}}, word(24), true},
		{"a bad one", rule{kind: expr, expr: []byte{opPlus}}, 0, false},
		{"what an expression says", rule{kind: valExpr, expr: []byte{opLit0 + 8, opPlus}}, 0x7018, true},
	} {
		for _, reg := range []uint8{16, 6} {
			regs := Registers{}
			regs.General[7], regs.General[3], regs.General[6], regs.General[16] = 0x7000, 0x333, 0x666, 0x1616
			stack := &Stack{Base: 0x7000, Data: data}
			more, end := regs.step(&row{cfa: cfa, ra: 16, regs: []regRule{{reg, c.rule}}}, x86, stack, nil, 0)
			if more != (c.ok || reg == 6) || !more && end != CutOff {
				t.Errorf("%s: %v, end %d", c.name, more, end)
			}
			want := c.want
			if c.name == "below it" {
				want = 0x666 // it is popped already
			}
			if more && (regs.General[reg] != want || regs.General[7] != 0x7010 || regs.PC != regs.General[16]) {
				t.Errorf("%s: register %d is %#x, want %#x; sp %#x, pc %#x", c.name, reg, regs.General[reg], want, regs.General[7], regs.PC)
			}
		}
	}
	regs := Registers{}
	if more, end := regs.step(&row{cfa: cfa, ra: 16, regs: []regRule{{16, rule{kind: undefined}}}}, x86, &Stack{}, nil, 0); more || end != Outermost {
		t.Errorf("no caller: %v, end %d", more, end)
	}
	regs.General[6] = 0x66
	if more, _ := regs.step(&row{cfa: cfa, ra: 16, regs: []regRule{{6, rule{kind: undefined}}}}, x86, &Stack{}, nil, 0); !more || regs.General[6] != 0x66 {
		t.Errorf("a register that is lost: %v, %#x", more, regs.General[6])
	}
	if more, end := regs.step(&row{cfa: rule{kind: valExpr, expr: []byte{opPlus}}, ra: 16}, x86, &Stack{}, nil, 0); more || end != CutOff {
		t.Errorf("a CFA that cannot be had: %v, end %d", more, end)
	}
}

// TestReadStack: words within a copy, at its ends, and of 32 bits.
func TestReadStack(t *testing.T) {
	data := []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}
	for _, c := range []struct {
		narrow bool
		addr   uint64
		want   uint64
		ok     bool
	}{
		{false, 0x1000, 2<<32 | 1, true}, {false, 0x1004, 3<<32 | 2, true}, {false, 0x1005, 0, false}, {false, 0xfff, 0, false},
		{true, 0x1000, 1, true}, {true, 0x1008, 3, true}, {true, 0x1009, 0, false}, {true, 0xfff, 0, false}, {true, 0x100c, 0, false}, {true, 1<<32 | 0x1004, 2, true},
	} {
		s := Stack{Base: 0x1000, Data: data, narrow: c.narrow}
		if got, ok := s.read(c.addr); ok != c.ok || got != c.want {
			t.Errorf("narrow %v, %#x: %#x %v, want %#x %v", c.narrow, c.addr, got, ok, c.want, c.ok)
		}
	}
}

// TestWalkBounds: up the stack is the only way, but for a leaf without a frame, and no walk
// is longer than maxFrames.
func TestWalkBounds(t *testing.T) {
	// A row whose CFA is so far from the stack pointer, and whose return address is the
	// same code again.
	walk := func(by int64, n int) ([]uint64, End) {
		table := &Table{recorded: &recordedRows{offs: []uint64{0x0f, 0x10}, rows: slices.Repeat([]*row{{
			cfa: rule{kind: register, reg: 7, off: by}, ra: 16, regs: []regRule{{16, rule{kind: valExpr, expr: []byte{opDrop, opConst2u, 0x10, 0x10}}}},
		}}, 2)}}
		regs := Registers{PC: 0x1010}
		regs.General[7] = 0x7000
		return X86_64.Walk(nil, &regs, &Stack{Base: 0x7000, Data: make([]byte, n)}, &code{table, 0x1000, 0x2000})
	}
	for by, want := range map[int64]int{8: maxFrames, 0: 2, -8: 1} {
		got, end := walk(by, 64)
		if len(got) != want || (end == CutOff) != (want == maxFrames) || want < maxFrames && end != Lost || got[0] != 0x1010 || want > 1 && got[1] != 0x100f {
			t.Errorf("by %d: %d frames, want %d, end %d", by, len(got), want, end)
		}
	}
}

// TestCountFramePointers: functions are counted by what finds their frames in the middle of
// them, but for those that are short, of the kernel's, or without a caller.
func TestCountFramePointers(t *testing.T) {
	const byFP, bySP = 6, 7
	fde := func(cfa byte, size uint32, more ...byte) []byte {
		b := le.AppendUint32(nil, 0) // offset of the CIE
		b = le.AppendUint64(b, 0x1000)
		b = le.AppendUint64(b, uint64(size))
		return append(append(b, cfaAdvance|1, cfaDef, cfa, 16), more...)
	}
	section := func(fdes ...[]byte) *Table {
		cie := append(le.AppendUint32(nil, 0xffffffff), 1, 0, 1, 0x78, 16, cfaDef, 7, 8, cfaOffset|16, 1)
		var data []byte
		for _, rec := range append([][]byte{cie}, fdes...) {
			data = append(le.AppendUint32(data, uint32(len(rec))), rec...)
		}
		table, err := New(File{DebugFrame: Section{Data: data}, Code: []Segment{{0, 0x1000, 0x1000}}})
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	saved := []byte{cfaOffset | 29, 2}
	for _, c := range []struct {
		name          string
		table         *Table
		m             Machine
		with, without int
	}{
		{"with", section(fde(byFP, 32), fde(byFP, 64)), X86_64, 2, 0},
		{"without", section(fde(bySP, 32), fde(byFP, 64)), X86_64, 1, 1},
		{"short", section(fde(bySP, 31), fde(byFP, 31)), X86_64, 0, 0},
		{"outermost", section(fde(bySP, 64, cfaUndefined, 16)), X86_64, 0, 0},
		{"a table of jumps", section(fde(bySP, 64, cfaDefExpression, 1, opLit0)), X86_64, 0, 0},
		{"arm64", section(fde(31, 64, saved...), fde(31, 64)), ARM64, 1, 1},
		{"another machine", section(fde(byFP, 64)), S390X, 0, 0},
		{"nothing known", FramePointers, X86_64, 0, 0},
		{"many", section(slices.Repeat([][]byte{fde(byFP, 64)}, 3*maxProbed)...), X86_64, maxProbed, 0},
	} {
		if with, without := c.table.FramePointers(c.m); with != c.with || without != c.without {
			t.Errorf("%s: %d with, %d without, want %d and %d", c.name, with, without, c.with, c.without)
		}
	}
}
