package unwind

// Stack is a copy of the part of a stack from address Base on.
type Stack struct {
	Base uint64
	Data []byte
}

// read returns the word at addr.
func (s *Stack) read(addr uint64) (uint64, bool) {
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
	exact := true // the program counter is not behind a call
	for n := 0; n < maxFrames; n++ {
		at := regs.PC
		if !exact {
			at--
		}
		t, off, mapped := f.Find(at)
		if !mapped {
			return dst, Lost
		}
		dst = append(dst, at)
		if t == nil {
			return dst, Lost
		}
		before := regs.General[r.sp]
		var end End
		var more bool
		if row := t.row(off); row != nil {
			more, end = regs.step(row, r, stack)
			exact = row.signal
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

// special are the numbers of registers that have a role.
type special struct {
	sp, fp uint8
	strip  uint64 // bits of a return address that are one
}

func registersOf(m Machine) special {
	if m == ARM64 {
		// Above its 48 bits an address can be signed (pointer authentication).
		return special{sp: 31, fp: 29, strip: 1<<48 - 1}
	}
	return special{sp: 7, fp: 6, strip: ^uint64(0)}
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
		regs.General[rr.reg] = v
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
	case fp < regs.General[r.sp] || fp%8 != 0:
		return false, Lost
	}
	up, ok := stack.read(fp)
	ret, ok2 := stack.read(fp + 8)
	if !ok || !ok2 {
		return false, CutOff
	}
	regs.General[r.fp], regs.General[r.sp] = up, fp+16
	regs.PC = ret & r.strip
	return true, 0
}

// Layout says where in a dump of registers those of a machine are.
type Layout struct {
	machine Machine
	slots   []slot
}

type slot struct {
	at  uint8 // in the dump
	reg uint8 // pcSlot for the program counter
}

const pcSlot = 0xff

// LayoutOf returns the layout of dumps that have the registers in mask (perf_regs.h of
// the kernel: enum perf_event_x86_regs, perf_event_arm_regs), and false if they are
// not enough to walk a stack.
func (m Machine) LayoutOf(mask uint64) (Layout, bool) {
	l := Layout{machine: m}
	// The kernel's numbers in the order of DWARF's, and that of the program counter.
	var order []uint8
	var pc uint8
	switch m {
	case X86_64:
		order = []uint8{0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23}
		pc = 8
	case ARM64:
		for i := range uint8(32) {
			order = append(order, i)
		}
		pc = 32
	default:
		return l, false
	}
	reg := map[uint8]uint8{pc: pcSlot}
	for dwarf, kernel := range order {
		reg[kernel] = uint8(dwarf)
	}
	at, have := uint8(0), 0
	for i := range uint8(64) {
		if mask>>i&1 == 0 {
			continue
		}
		if n, ok := reg[i]; ok {
			l.slots = append(l.slots, slot{at, n})
			if n == pcSlot || n == registersOf(m).sp {
				have++
			}
		}
		at++
	}
	return l, have == 2
}

// Registers takes those of a dump; the stack pointer is returned too.
func (l *Layout) Registers(r *Registers, dump []uint64) (sp uint64, ok bool) {
	*r = Registers{}
	for _, s := range l.slots {
		if int(s.at) >= len(dump) {
			return 0, false
		}
		if s.reg == pcSlot {
			r.PC = dump[s.at]
		} else {
			r.General[s.reg] = dump[s.at]
		}
	}
	return r.General[registersOf(l.machine).sp], true
}
