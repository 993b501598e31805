package unwind

import (
	"slices"
	"testing"
)

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
