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

// twoFiles is a Finder for code with call frame information and, above it, without any.
type twoFiles struct{ with, without *Table }

func (f twoFiles) Find(pc uint64) (*Table, uint64, bool) {
	switch {
	case pc >= 0x1000 && pc < 0x2000:
		return f.with, pc - 0x1000, true
	case pc >= 0x3000 && pc < 0x4000:
		return f.without, pc - 0x3000, true
	}
	return nil, 0, false
}

// TestTrampoline walks from a function that one made at run time has called, which keeps no
// frame: its caller is found where the alignment of the stack has it, unless a frame pointer
// leads to code.
func TestTrampoline(t *testing.T) {
	const sp, fp, ra = 7, 6, 16
	frame := func(size int64, rules ...regRule) *row {
		return &row{cfa: rule{kind: register, reg: sp, off: size}, ra: ra, regs: append(rules, regRule{ra, rule{kind: offset, off: -8}})}
	}
	with := rowsAt(map[uint64]*row{
		0x100: frame(16),                                                                                          // the innermost
		0x1ff: frame(16),                                                                                          // calls the trampoline, which returns to 0x1200
		0x2ff: {ra: ra, cfa: rule{kind: register, reg: sp, off: 8}, regs: []regRule{{ra, rule{kind: undefined}}}}, // the outermost, 0x1300
	})
	words := func(w ...uint64) (b []byte) {
		for _, v := range w {
			b = le.AppendUint64(b, v)
		}
		return b
	}
	for _, c := range []struct {
		name  string
		fp    uint64
		stack []byte
		want  []uint64
		end   End
	}{
		// The frame of the innermost is two words; 0x7010 is what the trampoline has.
		{"no frame pointer", 5, words(1, 0x3100, 2, 0x1200, 3, 0x1300), []uint64{0x1100, 0x30ff, 0x11ff, 0x12ff}, Outermost},
		{"that of the outermost", 0, words(1, 0x3100, 2, 0x1200, 3, 0x1300), []uint64{0x1100, 0x30ff, 0x11ff, 0x12ff}, Outermost},
		{"a pointer to what is no frame", 0x7018, words(1, 0x3100, 2, 0x1200, 3, 0x1300), []uint64{0x1100, 0x30ff, 0x11ff, 0x12ff}, Outermost},
		{"a pointer beyond the copy", 0x7100, words(1, 0x3100, 2, 0x1200, 3, 0x1300), []uint64{0x1100, 0x30ff, 0x11ff, 0x12ff}, Outermost},
		{"a frame, whose pointer leads to code", 0x7020, words(1, 0x3100, 2, 0x1200, 0, 0x1300), []uint64{0x1100, 0x30ff, 0x12ff}, Outermost},
		{"a frame, whose pointer leads to such code", 0x7020, words(1, 0x3100, 2, 0x1200, 0x7030, 0x3200, 0, 0x1300), []uint64{0x1100, 0x30ff, 0x31ff, 0x12ff}, Outermost},
		{"no frame, in what nobody describes", 5, words(1, 0x3100, 2, 0x3200, 3, 0x1300), []uint64{0x1100, 0x30ff}, Lost},
		{"two words lower", 5, words(1, 0x3100, 0x1200, 2, 3, 0x1300), []uint64{0x1100, 0x30ff}, Lost},
	} {
		regs := Registers{PC: 0x1100}
		regs.General[sp], regs.General[fp] = 0x7000, c.fp
		got, end := X86_64.Walk(nil, &regs, &Stack{Base: 0x7000, Data: c.stack}, twoFiles{with, FramePointers})
		if !slices.Equal(got, c.want) || end != c.end {
			t.Errorf("%s: %#x, end %d, want %#x, %d", c.name, got, end, c.want, c.end)
		}
	}
	// A stack that is not aligned there is that of another kind of code.
	regs := Registers{PC: 0x1100}
	regs.General[sp] = 0x7008
	if got, _ := X86_64.Walk(nil, &regs, &Stack{Base: 0x7008, Data: words(1, 0x3100, 2, 0x1200, 3, 0x1300)}, twoFiles{with, FramePointers}); len(got) != 2 {
		t.Errorf("not aligned: %#x", got)
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
		got, end := ARM64.Walk(nil, &regs, &Stack{Base: 0x7000, Data: stack[:len(stack)-c.cut]}, &code{arm, 0x1000, 0x1fff})
		if !slices.Equal(got, c.want) || end != c.end {
			t.Errorf("%s: %#x, end %d, want %#x, %d", c.name, got, end, c.want, c.end)
		}
		if c.name == "whole" && (regs.General[0] != 0x100 || regs.General[28] != 0x11c || regs.General[31] != 0x7800) {
			t.Errorf("registers %#x", regs.General)
		}
	}
}
