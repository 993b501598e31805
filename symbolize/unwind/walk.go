package unwind

// Stack is a copy of the part of a stack from address Base on.
type Stack struct {
	Base uint64
	Data []byte

	narrow bool // its words have 4 bytes, not 8
}

// read returns the word at addr.
func (s *Stack) read(addr uint64) (uint64, bool) {
	if s.narrow {
		const word = 4
		off := uint64(uint32(addr - s.Base))
		if off < uint64(len(s.Data)) && uint64(len(s.Data))-off >= word {
			return uint64(le.Uint32(s.Data[off:])), true
		}
		return 0, false
	}
	const word = 8
	if off := addr - s.Base; off < uint64(len(s.Data)) && uint64(len(s.Data))-off >= word {
		return le.Uint64(s.Data[off:]), true
	}
	return 0, false
}

// Registers are those of user code at a moment: the program counter, and the
// general ones by their numbers in DWARF. Those that were not recorded are 0.
type Registers struct {
	PC      uint64
	General [numRegs + 1]uint64
}

// End says why a walk came to its end.
type End uint8

// Ends of walks.
const (
	Outermost End = iota // nothing called the last function
	CutOff               // the copy of the stack is too short, or there are maxFrames
	Lost                 // nothing says where the last function was called from
)

// maxFrames is how many frames a walk has at the most: perf's
// PERF_MAX_STACK_DEPTH.
const maxFrames = 127

// Finder finds the table of the file that is mapped at an address, and the offset in
// it; nil for a file that is not there. mapped is false where nothing is mapped.
type Finder interface {
	Find(pc uint64) (t *Table, off uint64, mapped bool)
}

// Walk appends addresses in the functions on a stack, the innermost first: that of
// the instruction to be executed next, and in callers one within the call. regs is
// changed.
//
// Where a file has no call frame information for its code, a frame pointer is
// believed if it leads up the stack.
func (m Machine) Walk(dst []uint64, regs *Registers, stack *Stack, f Finder) ([]uint64, End) {
	r := registersOf(m)
	stack.narrow = r.word == 4
	exact := true // the program counter is not behind a call
	for n := 0; n < maxFrames; n++ {
		at := regs.PC
		if !exact {
			at--
		}
		t, off, mapped := f.Find(at)
		if mapped || n == 0 { // where it was is known, whatever is there
			dst = append(dst, at)
		}
		if !mapped || t == nil {
			return dst, Lost
		}
		before := regs.General[r.sp]
		var end End
		var more bool
		if row := t.row(off); row != nil {
			more, end = regs.step(row, r, stack)
			exact = row.signal
		} else if t == Vsyscall {
			more, end = regs.stepVsyscall(r, stack, f), CutOff
			exact = false
		} else {
			more, end = regs.stepFramePointer(r, stack)
			exact = false
		}
		switch {
		case !more:
			return dst, end
		case regs.PC == 0:
			return dst, Outermost
		case regs.General[r.sp] < before || regs.General[r.sp] == before && n > 0:
			return dst, Lost // up the stack is the only way, but for a leaf without a frame
		}
	}
	return dst, CutOff
}

// special are the numbers of registers that have a role, and what words are like.
type special struct {
	sp, fp uint8
	pc     uint8  // noRegister where no rule refers to it
	word   uint64 // bytes
	mask   uint64 // bits of a register
	strip  uint64 // bits of a return address that are one
}

const noRegister = 0xff

func registersOf(m Machine) special {
	const all, low = ^uint64(0), 1<<32 - 1
	switch m {
	case ARM64:
		// Above its 48 bits an address can be signed (pointer authentication).
		return special{sp: 31, fp: 29, pc: noRegister, word: 8, mask: all, strip: 1<<48 - 1}
	case I386:
		return special{sp: 4, fp: 5, pc: 8, word: 4, mask: low, strip: low}
	}
	return special{sp: 7, fp: 6, pc: 16, word: 8, mask: all, strip: all}
}

// step goes to the caller by a row.
func (regs *Registers) step(row *row, r special, stack *Stack) (more bool, end End) {
	old := regs.General
	cfa, ok := uint64(0), true
	if row.cfa.kind == register {
		cfa = old[row.cfa.reg] + uint64(row.cfa.off)
	} else {
		cfa, ok = eval(row.cfa.expr, &old, stack)
	}
	if !ok {
		return false, CutOff
	}
	cfa &= r.mask
	regs.General[r.sp] = cfa
	for i := range row.regs {
		rr := &row.regs[i]
		if rr.kind == undefined {
			if rr.reg == row.ra {
				return false, Outermost
			}
			continue
		}
		v, ok := rr.value(cfa, &old, stack)
		if !ok {
			if rr.reg == row.ra {
				return false, CutOff
			}
			v = 0 // it may not be needed
		}
		regs.General[rr.reg] = v & r.mask
	}
	regs.PC = regs.General[row.ra] & r.strip
	return true, 0
}

func (rr *regRule) value(cfa uint64, old *[numRegs + 1]uint64, stack *Stack) (uint64, bool) {
	switch rr.kind {
	case offset:
		return stack.read(cfa + uint64(rr.off))
	case valOffset:
		return cfa + uint64(rr.off), true
	case register:
		return old[rr.rule.reg], true
	case expr:
		addr, ok := eval(rr.expr, old, stack, cfa)
		if !ok {
			return 0, false
		}
		return stack.read(addr)
	case valExpr:
		return eval(rr.expr, old, stack, cfa)
	}
	return 0, false
}

// stepFramePointer goes to the caller by the frame pointer, which points to its
// caller's, with the return address behind it.
func (regs *Registers) stepFramePointer(r special, stack *Stack) (more bool, end End) {
	fp := regs.General[r.fp]
	switch {
	case fp == 0: // what the psABIs want of the outermost frame
		return false, Outermost
	case fp < regs.General[r.sp] || fp%r.word != 0:
		return false, Lost
	}
	up, ok := stack.read(fp)
	ret, ok2 := stack.read(fp + r.word)
	if !ok || !ok2 {
		return false, CutOff
	}
	regs.General[r.fp], regs.General[r.sp] = up, fp+2*r.word
	regs.PC = ret & r.strip
	return true, 0
}

// Vsyscall is the table of the vDSO of a 32-bit program of x86, as far as it is
// __kernel_vsyscall. That is the kernel's, of which there may be no copy.
var Vsyscall = &Table{}

// stepVsyscall goes to the caller of __kernel_vsyscall, which has up to three
// registers on the stack, ebp on top of all of them (Linux 4.4, entry/vdso/vdso32's
// system_call.S): the first word that leads to code of a file is the return address.
func (regs *Registers) stepVsyscall(r special, stack *Stack, f Finder) bool {
	const pushed = 3
	sp := regs.General[r.sp]
	for n := range uint64(pushed + 1) {
		ret, ok := stack.read(sp + n*r.word)
		if !ok {
			return false
		}
		if t, off, mapped := f.Find(ret - 1); !mapped || t == nil || t.row(off) == nil {
			continue // nothing, or memory: the stack itself has a mapping
		}
		if n == pushed {
			regs.General[r.fp], _ = stack.read(sp)
		}
		regs.PC, regs.General[r.sp] = ret, sp+(n+1)*r.word
		return true
	}
	return false
}
