package unwind

import (
	"slices"
	"testing"

	"kprof/perfevent/livetest"
)

// words32 are words of 4 bytes.
func words32(w ...uint32) (b []byte) {
	for _, v := range w {
		b = le.AppendUint32(b, v)
	}
	return b
}

// ehFrame32 is the call frame information of a program of 32 bits: a CIE, and an FDE
// for [0xffff1000, 0xffff1100), as gcc -m32 makes them (readelf -wF), the CFA being esp+4 and behind two
// bytes, which push ebx, esp+8.
func ehFrame32() []byte {
	cie := []byte{1, 'z', 'R', 0, 1, 0x7c, 8, 1, 0x1b, cfaDef, 4, 4, cfaOffset | 8, 1, cfaNop, cfaNop}
	b := words32(uint32(len(cie)+4), 0)
	b = append(b, cie...)
	at := uint32(len(b))
	program := []byte{0, cfaAdvance | 2, cfaDefOffset, 8, cfaOffset | 3, 2, cfaNop, cfaNop}
	b = append(b, words32(uint32(len(program)+12), at+4)...)
	b = append(b, words32(0xffff1000-(0x2000+at+8), 0x100)...) // relative to here, modulo 2^32
	b = append(b, program...)
	return append(b, words32(0)...)
}

// TestWalkNarrow walks the stack of a program of 32 bits: words, addresses and the
// numbers of registers are those of i386. Addresses wrap at 4 GiB.
func TestWalkNarrow(t *testing.T) {
	table, err := New(File{Narrow: true, EHFrame: Section{Addr: 0x2000, Data: ehFrame32()}, Code: []Segment{{0, 0xffff1000, 0x100}}})
	if err != nil {
		t.Fatal(err)
	}
	const base = 0xffffc000
	for _, c := range []struct {
		name  string
		pc    uint64
		stack []byte
		want  []uint64
		end   End
	}{
		{"before the push", 0x1000, words32(0x1011, 0xb, 0), []uint64{0x1000, 0x1010}, Outermost},
		{"behind it", 0x1002, words32(0xb, 0x1011, 0xb, 0), []uint64{0x1002, 0x1010}, Outermost},
		{"cut", 0x1002, words32(0xb, 0x1011, 0xb), []uint64{0x1002, 0x1010}, CutOff},
		{"half a word", 0x1002, words32(0xb, 0x1011)[:7], []uint64{0x1002}, CutOff},
	} {
		regs := Registers{PC: c.pc}
		regs.General[4] = base
		got, end := I386.Walk(nil, &regs, &Stack{Base: base, Data: c.stack}, &code{table, 0x1000, 0x2000})
		if !slices.Equal(got, c.want) || end != c.end {
			t.Errorf("%s: %#x, end %d, want %#x, %d", c.name, got, end, c.want, c.end)
		}
		if c.name == "behind it" && regs.General[3] != 0xb {
			t.Errorf("ebx is %#x", regs.General[3])
		}
	}
	regs := Registers{PC: 0x1000}
	regs.General[4], regs.General[5] = 0x7000, 0x7004
	got, end := I386.Walk(nil, &regs, &Stack{Base: 0x7000, Data: words32(1, 0x7010, 0x1101, 3, 0, 0x1201)}, &code{FramePointers, 0x1000, 0x2000})
	if want := []uint64{0x1000, 0x1100, 0x1200}; !slices.Equal(got, want) || end != Outermost {
		t.Errorf("by frame pointers: %#x, end %d", got, end)
	}
}

// vsyscallCode is __kernel_vsyscall at 0x9000 and code that calls it.
type vsyscallCode struct{ code }

func (c *vsyscallCode) Find(pc uint64) (*Table, uint64, bool) {
	switch pc >> 12 {
	case 9:
		return Vsyscall, 0, true
	case 7:
		return FramePointers, 0, true // the stack
	}
	return c.code.Find(pc)
}

// TestVsyscall goes from __kernel_vsyscall to its caller, at each of its instructions:
// up to three registers lie on the stack, which may look like addresses of memory.
func TestVsyscall(t *testing.T) {
	table, err := New(File{Narrow: true, EHFrame: Section{Addr: 0x2000, Data: ehFrame32()}, Code: []Segment{{0, 0xffff1000, 0x100}}})
	if err != nil {
		t.Fatal(err)
	}
	saved := []uint32{0x7004, 0x9001, 0x1800} // the last is mapped, but no code
	for n := range 4 {
		stack := append(slices.Clone(saved[:n]), 0x1021, 0xb, 0x1011, 0xb, 0)
		regs := Registers{PC: 0x9007}
		regs.General[4], regs.General[5] = 0x7000, 0x5555
		got, end := I386.Walk(nil, &regs, &Stack{Base: 0x7000, Data: words32(stack...)}, &vsyscallCode{code{table, 0x1000, 0x2000}})
		if want := []uint64{0x9007, 0x1020, 0x1010}; !slices.Equal(got, want) || end != Outermost {
			t.Errorf("%d on the stack: %#x, end %d, want %#x", n, got, end, want)
		}
		if n == 3 && regs.General[5] != 0x7004 {
			t.Errorf("ebp is %#x", regs.General[5])
		}
	}
	regs := Registers{PC: 0x9007}
	regs.General[4] = 0x7000
	if got, end := I386.Walk(nil, &regs, &Stack{Base: 0x7000, Data: words32(1, 2, 3, 4, 0x1011)}, &vsyscallCode{code{table, 0x1000, 0x2000}}); len(got) != 1 || end != CutOff {
		t.Errorf("no caller: %#x, end %d", got, end)
	}
}

// TestMachineOf tells machines by the registers that perf asks for (tools/perf/arch,
// PERF_REGS_MASK).
func TestMachineOf(t *testing.T) {
	livetest.Table(t, MachineOf, map[uint64]Machine{
		0xff0fff: X86_64, 0xfff: X86_64, 1<<6 | 1<<7 | 1<<8: X86_64,
		1<<33 - 1: ARM64, 1<<46 | 1<<33 - 1: ARM64,
		1<<16 - 1:                  ARM,
		1<<32 - 1:                  0, // RISC-V
		1<<34 - 1:                  0, // s390
		1 << 7:                     0,
		0:                          0,
		1<<6 | 1<<7 | 1<<8 | 1<<30: 0,
	})
}

// TestLayouts takes what there is of dumps of other machines, and of 32 bits.
func TestLayouts(t *testing.T) {
	l, ok := I386.LayoutOf(0xfff)
	dump := []uint64{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21} // ax bx cx dx si di bp sp ip
	var regs Registers
	sp, ok2 := l.Registers(&regs, dump)
	want := [9]uint64{10, 12, 13, 11, 17, 16, 14, 15, 18} // eax ecx edx ebx esp ebp esi edi eip
	if !ok || !ok2 || sp != 17 || regs.PC != 18 || [9]uint64(regs.General[:9]) != want {
		t.Errorf("i386: %v %v %d %+v", ok, ok2, sp, regs)
	}
	for m, c := range map[Machine]struct {
		mask uint64
		dump []uint64
		pc   uint64
	}{
		ARM: {1<<13 | 1<<15, []uint64{1, 2}, 2}, PPC64: {1<<1 | 1<<32, []uint64{3, 4}, 4},
		S390X: {1<<15 | 1<<33, []uint64{5, 6}, 6}, RISCV64: {1 | 1<<2, []uint64{7, 8}, 7},
	} {
		l, walks := m.LayoutOf(c.mask)
		if pc, ok := l.PC(c.dump); walks || !ok || pc != c.pc {
			t.Errorf("machine %d: walks %v, pc %d, %v", m, walks, pc, ok)
		}
		if _, ok := l.PC(nil); ok {
			t.Errorf("machine %d: a program counter in nothing", m)
		}
	}
	if l, ok := Machine(0).LayoutOf(1); ok || l.pc != -1 {
		t.Error("a layout of no machine")
	}
	if X86_64.Narrow() != I386 || I386.Narrow() != I386 || ARM64.Narrow() != 0 {
		t.Error("programs of 32 bits")
	}
	// Linkage tables reckon with the program counter (.eh_frame of .plt).
	l, _ = X86_64.LayoutOf(1<<7 | 1<<8)
	if _, ok := l.Registers(&regs, []uint64{1, 0x401016}); !ok || regs.General[16] != 0x401016 {
		t.Errorf("rip is %#x", regs.General[16])
	}
}

// TestSignalNarrow goes from where a signal handler returns to, to what it interrupted, whose
// registers the kernel has put on the stack, in either of two forms.
func TestSignalNarrow(t *testing.T) {
	table, err := New(File{Narrow: true, EHFrame: Section{Addr: 0x2000, Data: ehFrame32()}, Code: []Segment{{0, 0xffff1000, 0x100}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, segment := range []uint32{0x23, 0x73, 0x7b0023, 0x33} {
		//                gs  fs es ds edi esi ebp esp      ebx edx ecx eax trap err eip cs
		context := words32(0, 0, 0, 0, 17, 16, 15, 0x7800, 13, 12, 11, 10, 0, 0, 0x1010, segment, 0x246, 0x7800, 0)
		for name, head := range map[string][]byte{
			"sigreturn":    words32(14),
			"rt_sigreturn": append(words32(14, 0x700c, 0x708c), make([]byte, 128+20)...),
		} {
			data := append(append([]byte{}, head...), context...)
			data = append(data, make([]byte, 0x800-len(data))...)
			data = append(data, words32(0xb, 0x1021, 0xb, 0)...) // 0x1010 is behind a push
			regs := Registers{PC: 0x9440}
			regs.General[4] = 0x7000
			got, end := I386.Walk(nil, &regs, &Stack{Base: 0x7000, Data: data}, &vsyscallCode{code{table, 0x1000, 0x2000}})
			want, wantEnd := []uint64{0x9440, 0x1010, 0x1020}, Outermost
			if segment == 0x33 {
				want, wantEnd = want[:1], CutOff
			}
			if !slices.Equal(got, want) || end != wantEnd {
				t.Errorf("%s, segment %#x: %#x, end %d, want %#x", name, segment, got, end, want)
			}
		}
	}
	var regs Registers
	regs.General[4] = 0x7000
	data := append(words32(14), words32(0, 0, 0, 0, 17, 16, 15, 0x7800, 13, 12, 11, 10, 0, 0, 0x1010, 0x23)...)
	if ok := regs.stepSignal(&Stack{Base: 0x7000, Data: data, narrow: true}); !ok || !slices.Equal(regs.General[:8], []uint64{10, 11, 12, 13, 0x7800, 15, 16, 17}) || regs.PC != 0x1010 {
		t.Errorf("registers %d, pc %#x", regs.General[:8], regs.PC)
	}
	if regs.General[4] = 0x7000; regs.stepSignal(&Stack{Base: 0x7000, Data: data[:len(data)-1], narrow: true}) {
		t.Error("a context that is cut")
	}
}
