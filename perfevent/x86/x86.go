// Package x86 decodes instructions of x86 by golang.org/x/arch's decoder, and mends what that one has wrong.
package x86

import (
	"bytes"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// names are those of instructions that x86asm does not know and that compilers and kernels
// have everywhere: control-flow enforcement, and what opens user memory to the kernel.
var names = map[string]string{
	"\xf3\x0f\x1e\xfa": "endbr64", "\xf3\x0f\x1e\xfb": "endbr32",
	"\x0f\x01\xca": "clac", "\x0f\x01\xcb": "stac",
	"\x0f\x01\xee": "rdpkru", "\x0f\x01\xef": "wrpkru",
}

// Name is that of an instruction of which Decode has the length alone, whose bytes are code;
// empty where it has none.
func Name(code []byte) string { return names[string(code)] }

// Decode decodes the instruction at the start of code, of a program of 32 or 64 bits, which
// has inst.Len bytes. inst.Op is 0 where no more than its length is known. ok is false where
// that is not certain either, and where code is cut short.
//
// What x86asm v0.32 has wrong, of all that objdump finds in programs: vzeroupper and vzeroall are
// given operands; prefixes of an instruction that it does not know are instructions
// without an Op; the maps of AVX512-FP16 are taken for others.
func Decode(code []byte, bits int) (inst x86asm.Inst, ok bool) {
	if op, n := vzero(code, bits); n > 0 {
		return x86asm.Inst{Op: op, Mode: bits, DataSize: 32, Len: n}, true
	}
	if len(code) < 2 || code[0] != 0x62 || code[1]&4 == 0 || !isVEX(code, bits) {
		inst, err := x86asm.Decode(code, bits)
		if err == nil && inst.Op != 0 && inst.Len > 0 && inst.Len <= len(code) {
			return inst, true
		}
	}
	const most = 15 // bytes of an instruction
	code = code[:min(len(code), most)]
	n := length(code, bits)
	return x86asm.Inst{Mode: bits, Len: n}, n > 0 && n <= len(code)
}

// isVEX reports whether C5, C4 or 62 at the start of code is a prefix of AVX (VEX, EVEX): in
// programs of 32 bits it is another instruction with an operand in memory (LDS, LES, BOUND).
func isVEX(code []byte, bits int) bool { return bits == 64 || len(code) > 1 && code[1] >= 0xc0 }

// vzero returns the length of vzeroupper and vzeroall, VEX.0F 77, and 0 for others: they alone
// of the instructions with such prefixes have no ModR/M.
func vzero(code []byte, bits int) (x86asm.Op, int) {
	n := 0
	switch {
	case len(code) >= 3 && code[0] == 0xc5 && code[2] == 0x77:
		n = 3
	case len(code) >= 4 && code[0] == 0xc4 && code[1]&0x1f == 1 && code[3] == 0x77:
		n = 4
	}
	switch {
	case n == 0 || !isVEX(code, bits):
		return 0, 0
	case code[n-2]&4 != 0: // VEX.L
		return x86asm.VZEROALL, n
	}
	return x86asm.VZEROUPPER, n
}

// length is the length of an instruction that x86asm does not know, 0 where it is not certain,
// and may be more than there is of code. It knows maps and groups of opcodes in which the
// operands of all are encoded alike (Intel's manual, volume 2, appendix A):
//
//	[prefixes] [REX] 0F 38 opcode ModR/M        [prefixes] [REX] 0F opcode ModR/M: hints, and groups 7, 9, 15
//	[prefixes] [REX] 0F 3A opcode ModR/M imm8
//	[prefixes] C4 map byte opcode ModR/M: 2 as 0F 38, 3 as 0F 3A
//	[prefixes] 62 map byte byte opcode ModR/M: these, 5 and 6 as 0F 38
func length(code []byte, bits int) int {
	at := 0
	for at < len(code) && strings.IndexByte("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", code[at]) >= 0 {
		at++
	}
	if bits == 32 && bytes.IndexByte(code[:at], 0x67) >= 0 {
		return 0 // addresses of 16 bits have another ModR/M
	}
	rex := bits == 64 && at < len(code) && code[at]&0xf0 == 0x40
	if rex {
		at++
	}
	if len(code) < at+6 {
		code = append(code[:len(code):len(code)], make([]byte, 6)...) // the length is then more than there was
	}
	imm := 0
	switch op := code[at:]; {
	case op[0] == 0x0f && op[1] == 0x38:
		at += 3
	case op[0] == 0x0f && op[1] == 0x3a:
		at, imm = at+3, 1
	case op[0] == 0x0f && strings.IndexByte("\x01\x0d\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\xae\xc7", op[1]) >= 0:
		at += 2
	case op[0] == 0xc4 && !rex && isVEX(op, bits):
		if m := op[1] & 0x1f; m == 3 {
			imm = 1
		} else if m != 2 {
			return 0
		}
		at += 4
	case op[0] == 0x62 && !rex && isVEX(op, bits):
		if m := op[1] & 7; m == 3 {
			imm = 1
		} else if m != 2 && m != 5 && m != 6 {
			return 0
		}
		at += 5
	default:
		return 0
	}
	return at + modRM(code[at:]) + imm
}

// modRM is the length of ModR/M, SIB and displacement at the start of code.
func modRM(code []byte) int {
	n, mod, rm := 1, code[0]>>6, code[0]&7
	if mod != 3 && rm == 4 {
		n++
		if len(code) > 1 {
			rm = code[1] & 7 // the base of SIB
		}
	}
	switch {
	case mod == 1:
		n++
	case mod == 2 || mod == 0 && rm == 5:
		n += 4
	}
	return n
}
