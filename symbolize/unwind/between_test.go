package unwind

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/fuzztest"
	"kprof/perfevent/memtest"
)

// TestEffects decodes instructions as clang 14 encodes them.
func TestEffects(t *testing.T) {
	for _, c := range []struct {
		ins  uint32
		text string
		want effect
	}{
		{0xd65f03c0, "ret", effect{kind: returns}},
		{0xd65f0bff, "retaa", effect{kind: returns}},
		{0xd65f0120, "ret x9", effect{kind: unknown}},
		{0x14000002, "b .+8", effect{kind: branch, target: 8}},
		{0x17ffffff, "b .-4", effect{kind: branch, target: -4}},
		{0xd61f0200, "br x16", effect{kind: branchBy}},
		{0x94000000, "bl .", effect{kind: unknown}},
		{0x5400000d, "b.le .", effect{kind: unknown}},
		{0xb4000000, "cbz x0, .", effect{kind: unknown}},
		{0xd63f0020, "blr x1", effect{kind: unknown}},
		{0xd503233f, "paciasp", effect{}},
		{0xd503245f, "bti c", effect{}},
		{0xd503201f, "nop", effect{}},
		{0xd50323bf, "autiasp", effect{}},
		{0xd5033bbf, "dmb ish", effect{}},
		{0xd53bd048, "mrs x8, tpidr_el0", effect{}},
		{0xd53bd05e, "mrs x30, tpidr_el0", effect{kind: unknown}},
		{0xd4000001, "svc #0", effect{kind: unknown}},
		{0xd10083ff, "sub sp, sp, #32", effect{kind: move, moves: -32}},
		{0xd14047ff, "sub sp, sp, #17, lsl #12", effect{kind: move, moves: -17 << 12}},
		{0x913fffff, "add sp, sp, #4095", effect{kind: move, moves: 4095}},
		{0x910003fd, "mov x29, sp", effect{kind: makesFP}},
		{0x910343fd, "add x29, sp, #208", effect{kind: makesFP, at: 208}},
		{0x910003bf, "mov sp, x29", effect{kind: unknown}},
		{0xd10043bf, "sub sp, x29, #16", effect{kind: unknown}},
		{0x910023e9, "add x9, sp, #8", effect{}},
		{0x927ae53f, "and sp, x9, #0xffffffffffffffc0", effect{kind: unknown}},
		{0xf27ae53f, "ands xzr, x9, #0xffffffffffffffc0", effect{}},
		{0xf100147f, "cmp x3, #5", effect{}},
		{0xf10017ff, "cmp sp, #5", effect{}},
		{0xb10023fd, "adds x29, sp, #8", effect{}},
		{0x110023fd, "add w29, wsp, #8", effect{}},
		{0xcb2863ff, "sub sp, sp, x8", effect{kind: unknown}},
		{0xcb28613f, "sub sp, x9, x8", effect{kind: unknown}},
		{0xeb2863ff, "cmp sp, x8", effect{}},
		{0xaa0903fe, "mov x30, x9", effect{kind: unknown}},
		{0xaa0003f3, "mov x19, x0", effect{}},
		{0x2a1303e0, "mov w0, w19", effect{}},
		{0xea01001f, "tst x0, x1", effect{}},
		{0x1e6e1000, "fmov d0, #1.0", effect{}},
		{0xa9bd7bfd, "stp x29, x30, [sp, #-48]!", effect{kind: store, at: -48, size: 8, regs: [2]uint8{29, 30}, moves: -48}},
		{0xa90e4ff4, "stp x20, x19, [sp, #224]", effect{kind: store, at: 224, size: 8, regs: [2]uint8{20, 19}}},
		{0x29034ff4, "stp w20, w19, [sp, #24]", effect{kind: store, at: 24, size: 4, regs: [2]uint8{20, 19}}},
		{0x6dbe23e9, "stp d9, d8, [sp, #-32]!", effect{kind: store, at: -32, size: 8, regs: [2]uint8{numRegs, numRegs}, moves: -32}},
		{0xad2023e9, "stp q9, q8, [sp, #-1024]", effect{kind: store, at: -1024, size: 16, regs: [2]uint8{numRegs, numRegs}}},
		{0xf81d0ffe, "str x30, [sp, #-48]!", effect{kind: store, at: -48, size: 8, regs: [2]uint8{30, numRegs}, moves: -48}},
		{0xf9006bfe, "str x30, [sp, #208]", effect{kind: store, at: 208, size: 8, regs: [2]uint8{30, numRegs}}},
		{0xb9000fe3, "str w3, [sp, #12]", effect{kind: store, at: 12, size: 4, regs: [2]uint8{3, numRegs}}},
		{0x3d800be3, "str q3, [sp, #32]", effect{kind: store, at: 32, size: 16, regs: [2]uint8{numRegs, numRegs}}},
		{0xf9000668, "str x8, [x19, #8]", effect{}},
		{0xf81f83fe, "stur x30, [sp, #-8]", effect{kind: store, at: -8, size: 8, regs: [2]uint8{30, numRegs}}},
		{0xa8c37bfd, "ldp x29, x30, [sp], #48", effect{kind: load, at: 0, size: 8, regs: [2]uint8{29, 30}, moves: 48}},
		{0xa94e4ff4, "ldp x20, x19, [sp, #224]", effect{kind: load, at: 224, size: 8, regs: [2]uint8{20, 19}}},
		{0x6cc223e9, "ldp d9, d8, [sp], #32", effect{kind: load, at: 0, size: 8, regs: [2]uint8{numRegs, numRegs}, moves: 32}},
		{0xa8417bfd, "ldnp x29, x30, [sp, #16]", effect{kind: load, at: 16, size: 8, regs: [2]uint8{29, 30}}},
		{0x69410be1, "ldpsw x1, x2, [sp, #8]", effect{kind: load, at: 8, size: 4, regs: [2]uint8{1, 2}}},
		{0xf84307fe, "ldr x30, [sp], #48", effect{kind: load, at: 0, size: 8, regs: [2]uint8{30, numRegs}, moves: 48}},
		{0xf9406bfe, "ldr x30, [sp, #208]", effect{kind: load, at: 208, size: 8, regs: [2]uint8{30, numRegs}}},
		{0xb9400bfe, "ldr w30, [sp, #8]", effect{kind: unknown}},
		{0xf940013e, "ldr x30, [x9]", effect{kind: unknown}},
		{0xf9400535, "ldr x21, [x9, #8]", effect{}},
		{0x5800001e, "ldr x30, .", effect{kind: unknown}},
		{0x58000003, "ldr x3, .", effect{}},
		{0xf8646be3, "ldr x3, [sp, x4]", effect{}},
		{0xf8646bfe, "ldr x30, [sp, x4]", effect{kind: unknown}},
		{0xb9800be3, "ldrsw x3, [sp, #8]", effect{kind: load, at: 8, size: 4, regs: [2]uint8{3, numRegs}}},
		{0x394007e3, "ldrb w3, [sp, #1]", effect{kind: load, at: 1, size: 1, regs: [2]uint8{3, numRegs}}},
		{0x3c4017e3, "ldr b3, [sp], #1", effect{kind: load, at: 0, size: 1, regs: [2]uint8{numRegs, numRegs}, moves: 1}},
		{0x3cc107e3, "ldr q3, [sp], #16", effect{kind: load, at: 0, size: 16, regs: [2]uint8{numRegs, numRegs}, moves: 16}},
		{0x4cdf73e0, "ld1 {v0.16b}, [sp], #16", effect{kind: unknown}},
		{0x4c4073e0, "ld1 {v0.16b}, [sp]", effect{kind: unknown}},
		{0x4c9f7020, "st1 {v0.16b}, [x1], #16", effect{}},
		{0xd92017ff, "stg sp, [sp], #16", effect{kind: unknown}},
		{0xc85f7c3e, "ldxr x30, [x1]", effect{kind: unknown}},
		{0xf82103e2, "ldadd x1, x2, [sp]", effect{}},
		{0xf98007e0, "prfm pldl1keep, [sp, #8]", effect{kind: load, at: 8, size: 8, regs: [2]uint8{0, numRegs}}},
	} {
		if got := effectOf(c.ins); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.text, got, c.want)
		}
	}
}

// coarseFunctions is code of clang 14, whose call frame information says of each function once what
// its frame is like. Behind each instruction is where the caller's frame is before it, where the
// return address, which is in x30 or from there on, and the frame pointer, if it is no more the
// caller's.
const coarseFunctions = `
1000 paciasp                    3f2303d5  sp+0 x30
     str x30, [sp, #-48]!       fe0f1df8  sp+0 x30
     stp x22, x21, [sp, #16]    f65701a9  sp+48 x30
     stp x20, x19, [sp, #32]    f44f02a9  sp+48 x30
     mov w19, w3                f303032a  sp+48 -48
     bl .+1000                  fa000094  sp+48 -48
     cbz w0, .+28               e0000034  sp+48 -48
     mov w0, w19                e003132a  sp+48 -48
     ldp x20, x19, [sp, #32]    f44f42a9  sp+48 -48
     ldp x22, x21, [sp, #16]    f65741a9  sp+48 -48
     ldr x30, [sp], #48         fe0743f8  sp+48 -48
     autiasp                    bf2303d5  sp+0 x30
     b 2000                     f4030014  sp+0 x30
     add w8, w8, w19            0801130b  sp+48 -48
     ldp x20, x19, [sp, #32]    f44f42a9  sp+48 -48
     ldp x22, x21, [sp, #16]    f65741a9  sp+48 -48
     ldr x30, [sp], #48         fe0743f8  sp+48 -48
     retaa                      ff0b5fd6  sp+0 x30
1100 str x29, [sp, #-48]!       fd0f1df8  sp+0 x30
     stp x30, x21, [sp, #16]    fe5701a9  sp+48 x30
     sub sp, sp, #17, lsl #12   ff4740d1  sp+48 x30
     sub sp, sp, #368           ffc305d1  sp+69680 x30
     bl .+1000                  fa000094  sp+70048 -32 -48
     add sp, sp, #17, lsl #12   ff474091  sp+70048 -32 -48
     add sp, sp, #368           ffc30591  sp+416 -32 -48
     ldp x30, x21, [sp, #16]    fe5741a9  sp+48 -32 -48
     ldr x29, [sp], #48         fd0743f8  sp+48 x30 -48
     ret                        c0035fd6  sp+0 x30
1200 sub sp, sp, #240           ffc303d1  sp+0 x30
     stp x29, x30, [sp, #208]   fd7b0da9  sp+240 x30
     add x29, sp, #208          fd430391  sp+240 x30
     stp x20, x19, [sp, #224]   f44f0ea9  sp+240 x30 -32
     bl .+1000                  fa000094  fp+32 -24 -32
     ldp x20, x19, [sp, #224]   f44f4ea9  fp+32 -24 -32
     ldp x29, x30, [sp, #208]   fd7b4da9  fp+32 -24 -32
     add sp, sp, #240           ffc30391  sp+240 x30
     ret                        c0035fd6  sp+0 x30
1300 str x30, [sp, #-16]!       fe0f1ff8  sp+0 x30
     stp x20, x19, [sp, #-16]!  f44fbfa9  sp+16 x30
     b 1310                     02000014  sp+32 -16
     b 1400                     3d000014  sp+32 -16
     ldp x20, x19, [sp], #16    f44fc1a8  sp+32 -16
     ldr x30, [sp], #16         fe0741f8  sp+16 -16
     br x1                      20001fd6  sp+32 -16
1500 str x30, [sp, #-16]!       fe0f1ff8  sp+0 x30
     mov w0, w19                e003132a  sp+16 -16
     b 1600                     3e000014  sp+16 -16
     ldr x30, [sp], #16         fe0741f8  sp+16 -16
     b 1700                     7c000014  sp+0 x30
1600 mov w19, w3                f303032a
     b 150c                     c2ffff17
1700 adrp x16, .                10000090
     br x17                     20021fd6
`

// coarseFrames are what it says, in .debug_frame: where the code begins, how long it is, how many
// instructions it takes to make the frame, and what that is. The code at 1400 is a part of what is at
// 1300, and has its frame; that at 1600 is a linker's, to get around an erratum, and at 1700 a stub.
var coarseFrames = []struct {
	start, size uint64
	program     []byte
}{
	{0x1000, 0x48, []byte{cfaAdvance | 1, cfaNegateRAState, cfaAdvance | 3, cfaDefOffset, 48, cfaOffset | armLR, 6}},
	{0x1100, 0x28, []byte{cfaAdvance | 4, cfaDefOffset, 0xa0, 0xa3, 4, cfaOffset | armLR, 4, cfaOffset | armFP, 6}},
	{0x1200, 0x24, []byte{cfaAdvance | 4, cfaDef, armFP, 32, cfaOffset | armLR, 3, cfaOffset | armFP, 4}},
	{0x1300, 0x1c, []byte{cfaAdvance | 2, cfaDefOffset, 32, cfaOffset | armLR, 2}},
	{0x1400, 0x10, []byte{cfaDefOffset, 32, cfaOffset | armLR, 2}},
	{0x1500, 0x14, []byte{cfaAdvance | 1, cfaDefOffset, 16, cfaOffset | armLR, 2}},
	{0x2000, 0x10, nil},
}

// coarseFile is a file of these functions.
func coarseFile(t *testing.T, functions int) (f File, lines map[uint64]string) {
	t.Helper()
	section := func(words ...[]byte) []byte {
		b := slices.Concat(words...)
		return append(le.AppendUint32(nil, uint32(len(b))), b...)
	}
	frames := section([]byte{0xff, 0xff, 0xff, 0xff, 1, 0, 4, 0x78, armLR, cfaDef, armSP, 0})
	for _, c := range coarseFrames[:functions] {
		head := le.AppendUint64(le.AppendUint64(make([]byte, 4), c.start), c.size)
		frames = append(frames, section(head, c.program)...)
	}
	code := make([]byte, 0x2000)
	lines = map[uint64]string{}
	addr := uint64(0)
	for line := range strings.Lines(strings.TrimSpace(coarseFunctions)) {
		if line[0] != ' ' {
			fmt.Sscanf(line, "%x", &addr)
		}
		line = strings.TrimRight(line, "\n")
		if b, err := hex.DecodeString(line[32:40]); err != nil || copy(code[addr-0x1000:], b) != 4 {
			t.Fatalf("%q: %v", line, err)
		}
		if len(line) > 40 {
			lines[addr] = line
		}
		addr += 4
	}
	return File{DebugFrame: Section{Data: frames}, Code: []Segment{{0x3000, 0x1000, uint64(len(code))}},
		Text: func(s Segment) ([]byte, error) { return code, nil }}, lines
}

// TestMemory: a table counts what is kept of code, beside its call frame information.
func TestMemory(t *testing.T) {
	f, _ := coarseFile(t, len(coarseFrames))
	with, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	f.Text = nil
	without, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	if got := without.Memory(); got != len(f.DebugFrame.Data)+16*len(coarseFrames) {
		t.Errorf("%d bytes of call frame information, of which there are %d, and %d functions", got, len(f.DebugFrame.Data), len(coarseFrames))
	}
	if got := with.Memory() - without.Memory(); uint64(got) != f.Code[0].Size {
		t.Errorf("%d bytes of code, of which there are %d", got, f.Code[0].Size)
	}
}

// TestBetween: the rows of code whose call frame information is not true where frames are made and
// taken down.
func TestBetween(t *testing.T) {
	f, lines := coarseFile(t, len(coarseFrames))
	table, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	for addr, line := range lines {
		r := table.row(addr + 0x2000)
		got := fmt.Sprintf("%s%+d", map[uint8]string{armSP: "sp", armFP: "fp"}[r.cfa.reg], r.cfa.off)
		link, pointer := " x30", ""
		for _, rr := range r.regs {
			switch {
			case rr.kind != offset:
				t.Errorf("%s: %+v", line, rr)
			case rr.reg == armLR:
				link = fmt.Sprintf(" %d", rr.off)
			case rr.reg == armFP:
				pointer = fmt.Sprintf(" %d", rr.off)
			}
		}
		if got += link + pointer; !strings.HasSuffix(line, "  "+got) {
			t.Errorf("%#x: %s; has %s", addr, line, got)
		}
	}
	first := &row{cfa: rule{kind: register, reg: armSP}, ra: armLR, regs: []regRule{{armLR, rule{kind: undefined}}}}
	fde, ok := table.frames[0].fde(table.frames[0].index[0].off)
	if r := table.text.between(&fde, 0x1008, first, table.isEntry); !ok || r != nil {
		t.Errorf("of the outermost function: %+v, %v", r, ok)
	}
	// A caller is at a call, where the information is true.
	if r := table.row(0x302c + 3); r.cfa.off != 48 {
		t.Errorf("before a return address: %+v", r)
	}
}

// TestTextNeeded: the code is read if a function has a frame that is there at once, alone.
func TestTextNeeded(t *testing.T) {
	f, _ := coarseFile(t, 1)
	text := f.Text
	read := 0
	advance := func(n byte) []byte { return []byte{cfaAdvance | n} }
	frame := func(n byte) []byte { return []byte{cfaDefOffset, n} }
	saves := []byte{cfaOffset | 19, 1, cfaOffset | 20, 2, cfaOffset | armLR, 4}
	f.Text = func(s Segment) ([]byte, error) { read++; return text(s) }
	for _, c := range []struct {
		name    string
		program []byte
		want    int
	}{
		{"three registers at once", slices.Concat(advance(2), frame(32), saves), 1},
		{"with the frame pointer", slices.Concat(advance(2), []byte{cfaDef, armFP, 16}), 1},
		{"two registers", slices.Concat(advance(2), frame(16), saves[:4]), 0},
		{"one later", slices.Concat(advance(2), frame(32), saves[:4], advance(1), saves[4:]), 0},
		{"after one instruction", slices.Concat(advance(1), frame(32), saves), 0},
		{"in two steps", slices.Concat(advance(2), frame(32), saves, advance(1), frame(48)), 0},
		{"taken down", slices.Concat(advance(2), frame(32), saves, advance(4), frame(0)), 0},
		{"remembered", slices.Concat(advance(2), []byte{cfaRememberState}, frame(32), saves), 0},
		{"restored", slices.Concat(advance(2), frame(32), saves, advance(4), []byte{cfaRestore | armLR}), 0},
		{"none", nil, 0},
	} {
		keep := coarseFrames[0].program
		coarseFrames[0].program = c.program
		with, _ := coarseFile(t, 1)
		coarseFrames[0].program = keep
		read = 0
		f.DebugFrame = with.DebugFrame
		if _, err := New(f); err != nil || read != c.want {
			t.Errorf("%s: read %d times, %v", c.name, read, err)
		}
	}
	f, _ = coarseFile(t, len(coarseFrames))
	failed := errors.New("failed")
	f.Text = func(Segment) ([]byte, error) { return nil, failed }
	if _, err := New(f); !errors.Is(err, failed) {
		t.Error(err)
	}
}

// FuzzBetween finds the rows of arbitrary code whose frames are there at once.
func FuzzBetween(f *testing.F) {
	fuzztest.Add(f)
	f.Fuzz(func(t *testing.T, code, program []byte) {
		defer memtest.Within(t, 1<<20+1000*(len(code)+len(program)))()
		if len(code) > 1<<10 || len(program) > 1<<8 {
			return
		}
		fde := fdeData{cieData: cieData{codeAlign: 4, dataAlign: -8, ra: armLR, initial: []byte{cfaDef, armSP, 0}}, start: 0x1000, size: uint64(len(code)), program: program}
		text := text{{0x1000, code}}
		for addr := fde.start; addr < fde.start+fde.size; addr += 4 {
			r := fde.row(addr)
			if r == nil {
				continue
			}
			better := text.between(&fde, addr, r, func(to uint64) (bool, bool) { return to%8 == 0, to%16 < 12 })
			if better != nil && (better.cfa.kind != register || better.cfa.reg != armSP || better.ra != armLR) {
				t.Errorf("%#x: %+v", addr, better)
			}
		}
	})
}
