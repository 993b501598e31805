package disasm

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"kprof/perfevent/x86"
)

func decodeX86(f *File, fn *function) (list []Instruction) {
	bits := 64
	if f.elf.Machine == elf.EM_386 {
		bits = 32
	}
	for at := 0; at < len(fn.code); {
		inst, ok := x86.Decode(fn.code[at:], bits)
		if !ok {
			inst.Op, inst.Len = 0, 1
		}
		x := Instruction{Off: uint64(at)}
		if code := fn.code[at : at+inst.Len]; inst.Op != 0 {
			x.Text, x.Key = f.x86(fn, inst, at)
		} else {
			x.Text = cmp.Or(x86.Name(code), ".byte "+strings.ReplaceAll(fmt.Sprintf("% #x", code), " ", ","))
			x.Key = x.Text
		}
		list = append(list, x)
		at += inst.Len
	}
	return list
}

// x86 writes an instruction: for a reader, and for comparing.
func (f *File) x86(fn *function, inst x86asm.Inst, at int) (text, key string) {
	if isNop(inst, fn.code[at:]) {
		return "nop", "nop"
	}
	pc := fn.Start + uint64(at)
	if t, ok := f.relocation(fn.off+uint64(at), inst.Len); ok {
		text, key = t.name, t.key()
		// What is relative to the program counter counts from the end of its field, four
		// bytes on, in most instructions.
		if n := t.addend + 4; t.whole || n != 0 && t.addend != 0 {
			text = fmt.Sprintf("%s%+#x", t.name, t.addend)
			if !t.whole {
				key = fmt.Sprintf("%s%+#x", t.key(), t.addend)
			}
		}
		as := func(name string) string {
			used := false
			s := syntax(inst, pc, func(addr uint64) (string, uint64) { used = true; return name, addr })
			if !used {
				s += " # " + name
			}
			return s
		}
		return as(text), as(key)
	}
	as := func(pick func(text, key string) string) string {
		s := syntax(inst, pc, func(addr uint64) (string, uint64) {
			if t, k, ok := f.name(fn, addr); ok && (addr >= leastAddress || inst.PCRel > 0) {
				return pick(t, k), addr
			}
			if inst.PCRel > 0 {
				return pick(fmt.Sprintf("%#x", addr), "·"), addr
			}
			return "", 0
		})
		if !f.fixed() {
			return s
		}
		for _, a := range inst.Args {
			var v int64
			switch a := a.(type) {
			case x86asm.Imm:
				v = int64(a)
			case x86asm.Mem:
				v = a.Disp
			}
			if uint64(v) < leastAddress {
				continue
			}
			t, k, ok := f.name(fn, uint64(v))
			if !ok && f.elf.Machine == elf.EM_X86_64 && v == int64(uint32(v)) {
				t, k, ok = f.name(fn, uint64(int64(int32(v)))) // as a kernel's, which it is extended to
			}
			if ok {
				for _, number := range []string{fmt.Sprintf("%#x", v), fmt.Sprintf("%#x", uint32(v))} {
					s = replaceNumber(s, number, pick(t, k))
				}
			}
		}
		return s
	}
	return as(func(text, _ string) string { return text }), as(func(_, key string) string { return key })
}

// syntax writes an instruction as GNU's disassembler does.
func syntax(inst x86asm.Inst, pc uint64, name x86asm.SymLookup) string {
	if pc == 0 {
		pc, name = 1, func(lookup x86asm.SymLookup) x86asm.SymLookup {
			return func(addr uint64) (string, uint64) { s, base := lookup(addr - 1); return s, base + 1 }
		}(name)
	}
	return x86asm.GNUSyntax(inst, pc, name)
}

// replaceNumber replaces a number that is not a part of a longer one.
func replaceNumber(s, number, by string) string {
	i := strings.Index(s, number)
	if i < 0 || number == "" {
		return s
	}
	end := i + len(number)
	if end < len(s) && strings.IndexByte("0123456789abcdef", s[end]) >= 0 {
		return s
	}
	return s[:i] + by + s[end:]
}

// isNop tells an instruction that does nothing: those of one to eleven bytes that
// assemblers pad with.
func isNop(inst x86asm.Inst, code []byte) bool {
	switch {
	case inst.Op == x86asm.NOP:
		return true
	case inst.Op == x86asm.XCHG && inst.Args[0] == inst.Args[1]:
		return bytes.HasSuffix(code[:inst.Len], []byte{0x90})
	}
	return false
}
