package unwind

import (
	"slices"
	"testing"
)

// rowsAt is a Table with rows at some offsets.
func rowsAt(rows map[uint64]*row) *Table {
	r := &recordedRows{}
	for off := range uint64(0x1000) {
		if row := rows[off]; row != nil {
			r.offs, r.rows = append(r.offs, off), append(r.rows, row)
		}
	}
	return &Table{recorded: r}
}

// TestInnermost walks from where the innermost function is as its row does not say, or has none:
// in stubs, behind pushes that the row lacks and behind pops, and behind the last instruction of the
// return from a signal handler.
func TestInnermost(t *testing.T) {
	const sp, fp, ra = 7, 6, 16
	frame := func(size int64, more ...regRule) *row {
		return &row{cfa: rule{kind: register, reg: sp, off: size}, ra: ra, regs: append(more, regRule{ra, rule{kind: offset, off: -8}})}
	}
	byPointer := frame(16, regRule{fp, rule{kind: offset, off: -16}})
	byPointer.cfa.reg = fp
	handler := frame(24)
	handler.signal = true
	x86 := rowsAt(map[uint64]*row{
		0x0ff: frame(16),                                                                                          // calls what returns to 0x1100
		0x100: frame(8),                                                                                           // is interrupted there
		0x1ff: byPointer,                                                                                          // 0x1200, and has a frame pointer
		0x2ff: {ra: ra, cfa: rule{kind: register, reg: sp, off: 8}, regs: []regRule{{ra, rule{kind: undefined}}}}, // the outermost, 0x1300
		0x600: frame(8),
		0x700: byPointer,
		0x708: handler,
		0x800: frame(8, regRule{fp, rule{kind: offset, off: -16}}), // behind pop %rbp
		0x810: frame(16, regRule{fp, rule{kind: offset, off: -16}}),
	})
	for _, c := range []struct {
		name   string
		pc, fp uint64
		stack  []byte
		want   []uint64
		end    End
	}{
		{"a stub", 0x1500, 0x7fff, words(0x1100, 1, 0x1300), []uint64{0x1500, 0x10ff, 0x12ff}, Outermost},
		{"a stub, and a frame pointer beside it", 0x1500, 0x7008, words(0x1100, 1, 0x1300, 0x1300), []uint64{0x1500, 0x10ff, 0x12ff}, Outermost},
		{"no stub", 0x1500, 0x7008, words(0x1ffe, 1, 0x1300), []uint64{0x1500, 0x12ff}, Outermost},
		{"no stub nor frame", 0x1500, 0, words(0x9000, 1, 0x1300), []uint64{0x1500}, Outermost},
		{"a stub that calls nothing", 0x1100, 0, words(0x1500, 0x1300), []uint64{0x1100, 0x14ff}, Outermost},
		{"a word pushed", 0x1600, 0, words(0x9000, 0x1100, 1, 0x1300), []uint64{0x1600, 0x10ff, 0x12ff}, Outermost},
		{"three words pushed", 0x1600, 0, words(0x9000, 0, 0x9001, 0x1100, 1, 0x1300), []uint64{0x1600, 0x10ff, 0x12ff}, Outermost},
		{"four words pushed", 0x1600, 0, words(0x9000, 1, 2, 3, 0x1100, 1, 0x1300), []uint64{0x1600}, Lost},
		{"what is pushed looks like code", 0x1600, 0, words(0x9000, 0x1500, 0x1100, 1, 0x1300), []uint64{0x1600, 0x10ff, 0x12ff}, Outermost},
		{"with a frame pointer", 0x1700, 0x7000, words(5, 0x9000, 0x1100, 1, 0x1300), []uint64{0x1700}, Lost},
		{"of a caller", 0x1100, 0, words(0x1100, 1, 0x9000, 0x1300), []uint64{0x1100, 0x10ff}, Lost},
		{"popped", 0x1800, 0x7010, words(0x1200, 0, 5, 0x1300), []uint64{0x1800, 0x11ff, 0x12ff}, Outermost},
		{"not yet popped", 0x1810, 0x7000, words(0x7018, 0x1200, 0, 5, 0x1300), []uint64{0x1810, 0x11ff, 0x12ff}, Outermost},
		{"a signal handler returns", 0x1709, 0, words(1, 2, 0x1100, 0x1300), []uint64{0x1709, 0x1100, 0x12ff}, Outermost},
		{"behind any other", 0x1601, 0, words(1, 2, 0x1100, 0x1300), []uint64{0x1601}, Outermost},
	} {
		regs := Registers{PC: c.pc}
		regs.General[sp], regs.General[fp] = 0x7000, c.fp
		got, end := X86_64.Walk(nil, &regs, &Stack{Base: 0x7000, Data: c.stack}, &code{x86, 0x1000, 0x2000})
		if !slices.Equal(got, c.want) || end != c.end {
			t.Errorf("%s: %#x, end %d, want %#x, %d", c.name, got, end, c.want, c.end)
		}
	}
	// On AArch64 the return address of a stub is in a register, signed or not.
	arm := rowsAt(map[uint64]*row{0x0ff: {ra: 30, cfa: rule{kind: register, reg: 31}, regs: []regRule{{30, rule{kind: undefined}}}}})
	for link, want := range map[uint64][]uint64{
		0x1100: {0x1500, 0x10ff}, 0x2a<<48 | 0x1100: {0x1500, 0x10ff}, 0x1504: {0x1500},
	} {
		regs := Registers{PC: 0x1500}
		regs.General[31], regs.General[30] = 0x7000, link
		if got, end := ARM64.Walk(nil, &regs, &Stack{Base: 0x7000}, &code{arm, 0x1000, 0x2000}); !slices.Equal(got, want) || end != Outermost {
			t.Errorf("link register %#x: %#x, end %d", link, got, end)
		}
	}
}

// TestLinkRegister walks on AArch64 from where call frame information says the return address to be
// in another register, which it is not yet, and from where a linkage table has pushed it.
func TestLinkRegister(t *testing.T) {
	sp := func(size int64, more ...regRule) *row {
		return &row{cfa: rule{kind: register, reg: armSP, off: size}, ra: armLR, regs: more}
	}
	moved := sp(0)
	moved.ra = 15
	arm := rowsAt(map[uint64]*row{
		0x0ff: sp(16, regRule{armLR, rule{kind: offset, off: -8}}), // calls what returns to 0x1100
		0x1ff: sp(0, regRule{armLR, rule{kind: undefined}}),        // the outermost, 0x1200
		0x400: moved,
		0x407: moved,
		0x600: sp(32, regRule{armLR, rule{kind: offset, off: 8}}), // behind a stub that has pushed two words
	})
	const signed = 0x2a<<48 | 0x1100
	for _, c := range []struct {
		name          string
		pc, link, x15 uint64
		stack         []byte
		want          []uint64
	}{
		{"moved", 0x1400, 0, 0x1100, words(0, 0x1200), []uint64{0x1400, 0x10ff, 0x11ff}},
		{"not yet", 0x1400, 0x1100, 0, words(0, 0x1200), []uint64{0x1400, 0x10ff, 0x11ff}},
		{"not yet, another value", 0x1400, signed, 0x1500, words(0, 0x1200), []uint64{0x1400, 0x10ff, 0x11ff}},
		{"pushed by a stub", 0x1600, 0, 0, words(1, 2, 3, 4, 5, 0x1100, 0, 0x1200), []uint64{0x1600, 0x10ff, 0x11ff}},
		{"in a stub", 0x1500, signed, 0, words(0, 0x1200), []uint64{0x1500, 0x10ff, 0x11ff}},
		{"in a stub that recursion has come to", 0x1500, signed, 0, words(5, signed, 0, 0x1200), []uint64{0x1500, 0x10ff, 0x10ff, 0x11ff}},
		{"in a stub called without a frame", 0x1500, 0x1408, signed, words(0, 0x1200), []uint64{0x1500, 0x1407, 0x10ff, 0x11ff}},
	} {
		regs := Registers{PC: c.pc}
		regs.General[armSP], regs.General[armLR], regs.General[15] = 0x7000, c.link, c.x15
		got, end := ARM64.Walk(nil, &regs, &Stack{Base: 0x7000, Data: c.stack}, &code{arm, 0x1000, 0x2000})
		if !slices.Equal(got, c.want) || end != Outermost {
			t.Errorf("%s: %#x, end %d, want %#x", c.name, got, end, c.want)
		}
	}
}

// TestThrown walks from a function that libgcc calls while it replaces what the function that throws
// has saved.
func TestThrown(t *testing.T) {
	frame := func(size int64, saved ...uint8) *row {
		r := &row{cfa: rule{kind: register, reg: armSP, off: size}, ra: armLR, regs: []regRule{{armLR, rule{kind: offset, off: 8 - size}}}}
		for i, reg := range saved {
			r.regs = append(r.regs, regRule{reg, rule{kind: offset, off: 16 + 8*int64(i) - size}})
		}
		return r
	}
	const caller, another, outermost = 0x1100, 0x1180, 0x1200
	arm := rowsAt(map[uint64]*row{
		0x400: frame(16),
		0x4ff: frame(80, 0, 1, 2, 3), // throws
		0x5ff: frame(80, 0, 1, 2),
		0x0ff: frame(16), 0x17f: frame(32),
		0x1ff: {ra: armLR, cfa: rule{kind: register, reg: armSP}, regs: []regRule{{armLR, rule{kind: undefined}}}},
	})
	for _, c := range []struct {
		name         string
		thrower, cfa uint64 // what is in its frame as the CFA
		ret          uint64 // behind it
		slot         uint64 // where a pointer before them leads to
		want         uint64
	}{
		{"replaced", 0x1500, 0x7060, 0x2a<<48 | caller, 0x7018, caller},
		{"no context", 0x1500, 0x7068, caller, 0x7018, another},
		{"one of before", 0x1500, 0x7060, caller, 0x7098, another},
		{"not of code", 0x1500, 0x7060, 0x1900, 0x7018, another},
		{"being made", 0x1500, 0x7060, 0x1500, 0x7018, another},
		{"of another kind", 0x1600, 0x7060, caller, 0x7018, another},
	} {
		words := make([]byte, 0x200)
		for at, v := range map[int]uint64{0x08: c.thrower, 0x18: another, 0x48: c.slot, 0x50: c.cfa, 0x58: c.ret, 0x68: outermost, 0x78: outermost} {
			le.PutUint64(words[at:], v)
		}
		regs := Registers{PC: 0x1400}
		regs.General[armSP] = 0x7000
		got, end := ARM64.Walk(nil, &regs, &Stack{Base: 0x7000, Data: words}, &code{arm, 0x1000, 0x2000})
		if want := []uint64{0x1400, c.thrower - 1, c.want - 1, outermost - 1}; c.want == caller && (!slices.Equal(got, want) || end != Outermost) ||
			c.want == another && (len(got) < 3 || got[2] != another-1) {
			t.Errorf("%s: %#x, end %d, want %#x", c.name, got, end, want)
		}
	}
}

// TestThrownFrame: what throws has saved the frame pointer of the function that catches, too, where
// its caller has another.
func TestThrownFrame(t *testing.T) {
	thrower := &row{cfa: rule{kind: register, reg: armSP, off: 80}, ra: armLR, regs: []regRule{
		{armLR, rule{kind: offset, off: -72}}, {29, rule{kind: offset, off: -80}},
		{0, rule{kind: offset, off: -64}}, {1, rule{kind: offset, off: -56}}, {2, rule{kind: offset, off: -48}}, {3, rule{kind: offset, off: -40}}}}
	byFramePointer := &row{cfa: rule{kind: register, reg: 29, off: 16}, ra: armLR, regs: []regRule{{armLR, rule{kind: offset, off: -8}}, {29, rule{kind: offset, off: -16}}}}
	arm := rowsAt(map[uint64]*row{
		0x400: {cfa: rule{kind: register, reg: armSP, off: 16}, ra: armLR, regs: []regRule{{armLR, rule{kind: offset, off: -8}}}},
		0x4ff: thrower,
		0x0ff: byFramePointer, 0x17f: byFramePointer,
		0x1ff: {ra: armLR, cfa: rule{kind: register, reg: armSP}, regs: []regRule{{armLR, rule{kind: undefined}}}},
	})
	const caller, middle, outermost = 0x1100, 0x1180, 0x1200
	for _, c := range []struct {
		name       string
		saved, ret uint64 // by the function that throws
		more       map[int]uint64
		want       []uint64
	}{
		{"not yet replaced", 0x7090, caller, nil, []uint64{caller, middle, outermost}},
		{"replaced", 0x70c0, middle, nil, []uint64{caller, middle, outermost}},
		{"replaced, and what is no frame before", 0x70c0, middle, map[int]uint64{0x70: 0x7060, 0x78: middle, 0x80: 0x7100, 0x88: 0x1900}, []uint64{caller, middle, outermost}},
		// As far as can be known: there is none but that which catches.
		{"no frame", 0x70c0, middle, map[int]uint64{0x98: 0x1900}, []uint64{caller, outermost}},
	} {
		words := make([]byte, 0x200)
		for _, at := range []map[int]uint64{{
			0x08: 0x1500, 0x10: c.saved, 0x18: c.ret, 0x48: 0x7018, 0x50: 0x7060, 0x58: caller,
			0x90: 0x70c0, 0x98: middle, 0xc0: 0x7100, 0xc8: outermost,
		}, c.more} {
			for at, v := range at {
				le.PutUint64(words[at:], v)
			}
		}
		regs := Registers{PC: 0x1400}
		regs.General[armSP] = 0x7000
		got, end := ARM64.Walk(nil, &regs, &Stack{Base: 0x7000, Data: words}, &code{arm, 0x1000, 0x2000})
		want := []uint64{0x1400, 0x14ff}
		for _, ret := range c.want {
			want = append(want, ret-1)
		}
		if !slices.Equal(got, want) || end != Outermost {
			t.Errorf("%s: %#x, end %d, want %#x", c.name, got, end, want)
		}
	}
}

// TestFrameRecord goes from where a signal handler returns to on AArch64, to what it interrupted,
// whose registers the kernel has put on the stack. What only looks like that is a frame.
func TestFrameRecord(t *testing.T) {
	arm := rowsAt(map[uint64]*row{
		0x100: {ra: 30, cfa: rule{kind: register, reg: 31}}, // a leaf, is interrupted there
		0x1ff: {ra: 30, cfa: rule{kind: register, reg: 31}, regs: []regRule{{30, rule{kind: undefined}}}},
	})
	const record = 0x7000 + 4688
	const restoring = 1 << 10
	for _, c := range []struct {
		name     string
		link, pc uint64 // of the frame record, of the context
		cut      int
		want     []uint64
		end      End
	}{
		{"whole", 0x1200, 0x1100, 0, []uint64{0x1500, 0x1100, 0x11ff}, Outermost},
		{"another link register", 0x1201, 0x1100, 0, []uint64{0x1500, 0x1200}, Lost}, // by the frame pointer
		{"another frame pointer", 0x1200, 0x1100, -1, []uint64{0x1500, 0x11ff}, Outermost},
		{"cut", 0x1200, 0x1100, 8, []uint64{0x1500}, CutOff},
		{"being restored", 0x1200, 0x1100, restoring, []uint64{0x1500, 0x1100, 0x11ff}, Outermost},
		{"not quite", 0x1200, 0x1100, restoring - 1, []uint64{0x1500}, Outermost},
	} {
		stack := make([]byte, 4688+16)
		for i := range 31 {
			le.PutUint64(stack[312+8*i:], uint64(0x100+i))
		}
		le.PutUint64(stack[312+8*29:], 0x7ff0)
		le.PutUint64(stack[312+8*30:], 0x1200)
		le.PutUint64(stack[312+8*31:], 0x7800)
		le.PutUint64(stack[312+8*32:], c.pc)
		le.PutUint64(stack[4688:], 0x7ff0)
		le.PutUint64(stack[4696:], c.link)
		if c.cut < 0 {
			stack[4688]++
			c.cut = 0
		}
		regs := Registers{PC: 0x1500}
		regs.General[31], regs.General[29] = 0x7000, record
		if c.cut >= restoring-1 {
			for i := range 30 {
				regs.General[i] = le.Uint64(stack[312+8*i:])
			}
			regs.General[28] += uint64(restoring - c.cut)
			c.cut = 0
		}
		got, end := ARM64.Walk(nil, &regs, &Stack{Base: 0x7000, Data: stack[:len(stack)-c.cut]}, &code{arm, 0x1000, 0x1fff})
		if !slices.Equal(got, c.want) || end != c.end {
			t.Errorf("%s: %#x, end %d, want %#x, %d", c.name, got, end, c.want, c.end)
		}
		if c.name == "whole" && (regs.General[0] != 0x100 || regs.General[28] != 0x11c || regs.General[31] != 0x7800) {
			t.Errorf("registers %#x", regs.General)
		}
	}
}

// TestSignedAddresses: signatures take all bits above those of addresses, which are 39 on Android.
func TestSignedAddresses(t *testing.T) {
	sp := func(size int64, more ...regRule) *row {
		return &row{cfa: rule{kind: register, reg: armSP, off: size}, ra: armLR, regs: more}
	}
	arm := rowsAt(map[uint64]*row{
		0x0ff: sp(16, regRule{armLR, rule{kind: offset, off: -8}}),
		0x1ff: sp(0, regRule{armLR, rule{kind: undefined}}),
		0x400: sp(0),
	})
	const pac = 0x7f << 48
	for base, signatures := range map[uint64][]uint64{
		0x1000:         {0, pac, pac | 0xffff<<39, pac | 0x15<<42, 1 << 39},
		1<<38 + 0x1000: {0, pac, pac | 0xffff<<39, pac | 0x15<<42, 1 << 39},
		1<<41 + 0x1000: {0, pac, pac | 0x3f<<42, 1 << 42},
		1<<46 + 0x1000: {0, pac, pac | 1<<47},
		1<<47 + 0x1000: {0, pac},
	} {
		for _, signature := range signatures {
			f := &code{arm, base, base + 0x1000}
			signed := func(off uint64) uint64 { return base + off | signature }
			want := []uint64{base + 0x400, base + 0xff, base + 0x1ff}
			regs := Registers{PC: base + 0x400}
			regs.General[armSP], regs.General[armLR] = 0x7000, signed(0x100)
			got, end := ARM64.Walk(nil, &regs, &Stack{Base: 0x7000, Data: words(0, signed(0x200))}, f)
			if !slices.Equal(got, want) || end != Outermost {
				t.Errorf("at %#x, signed %#x: %#x, end %d", base, signature, got, end)
			}
			if ret, ok := ARM64.LeafCaller(base+0x400, signed(0x100), f); ret != base+0x100 || !ok {
				t.Errorf("at %#x, signed %#x: caller %#x, %v", base, signature, ret, ok)
			}
			f.table, want = FramePointers, []uint64{base + 0x400, base + 0xff}
			regs = Registers{PC: base + 0x400}
			regs.General[armSP], regs.General[29] = 0x7000, 0x7000
			got, end = ARM64.Walk(nil, &regs, &Stack{Base: 0x7000, Data: words(0, signed(0x100))}, f)
			if !slices.Equal(got, want) || end != Outermost {
				t.Errorf("at %#x, signed %#x, by frame pointers: %#x, end %d", base, signature, got, end)
			}
		}
	}
}
