package unwind

// Some compilers say of a function what its frame is like once it has been made, and nothing of
// the instructions that make it and take it down again (LLVM before 15 on AArch64, later ones
// where unwind tables need not be asynchronous). Where a program was interrupted at one of these,
// the instructions say it: those of AArch64, in the words of the Arm Architecture Reference
// Manual (DDI 0487), C4.1.

// Registers of AArch64.
const (
	firstSaved = 19 // of those that functions keep
	armFP      = 29
	armLR      = 30
	armSP      = 31
)

// effect is what an instruction does as far as frames are concerned.
type effect struct {
	kind   effectKind
	moves  int64    // of pushes, pops and moves of the stack pointer: what is added to it
	at     int64    // of stores and loads: where, from the stack pointer before it on
	size   int64    // of one register there
	regs   [2]uint8 // of stores and loads: numRegs for none, and for those of the vectors
	target int64    // of branches: from the instruction on
}

type effectKind uint8

const (
	neutral  effectKind = iota // nothing
	store                      // on the stack
	load                       // from the stack
	move                       // of the stack pointer alone
	makesFP                    // the frame pointer is the stack pointer plus at
	branch                     // to target, for good
	branchBy                   // a register: to a function, or a part of this one
	returns                    // to the link register
	unknown                    // calls, conditional branches, what else changes these registers
)

// effectOf decodes an instruction.
func effectOf(ins uint32) effect {
	rd, rn := uint8(ins&31), uint8(ins>>5&31)
	switch {
	case ins == 0xd65f03c0, ins == 0xd65f0bff, ins == 0xd65f0fff: // RET, RETAA, RETAB
		return effect{kind: returns}
	case ins>>26 == 0b000101: // B
		return effect{kind: branch, target: int64(int32(ins<<6)>>6) * 4}
	case ins&0xfffffc1f == 0xd61f0000: // BR
		return effect{kind: branchBy}
	case ins>>22 == 0b1101010100: // hints, barriers, system registers
		if rd == armLR {
			return effect{kind: unknown}
		}
		return effect{}
	case ins>>26&7 == 0b100: // data processing, immediate
		return immediateEffect(ins, rd, rn)
	case ins>>25&7 == 0b101: // data processing, registers
		extended := ins>>24&0x1f == 0b01011 && ins>>21&1 == 1 // of which 31 is the stack pointer
		if rd == armLR || rd == armSP && extended && ins>>29&1 == 0 {
			return effect{kind: unknown}
		}
		return effect{}
	case ins>>25&7 == 0b111: // floating point and vectors
		return effect{}
	case ins>>27&1 == 1 && ins>>25&1 == 0: // loads and stores
		return memoryEffect(ins, rd, rn)
	}
	return effect{kind: unknown}
}

// immediateEffect decodes data processing with an immediate.
func immediateEffect(ins uint32, rd, rn uint8) effect {
	const (
		addSub  = 0b100010
		logical = 0b100100
	)
	class := ins >> 23 & 0x3f
	setsFlags := ins>>29&1 == 1
	if class == addSub && ins>>31 == 1 && !setsFlags && rn == armSP && (rd == armSP || rd == armFP) {
		n := int64(ins >> 10 & 0xfff)
		if ins>>22&1 == 1 {
			n <<= 12
		}
		if ins>>30&1 == 1 {
			n = -n
		}
		if rd == armFP {
			return effect{kind: makesFP, at: n}
		}
		return effect{kind: move, moves: n}
	}
	writesSP := rd == armSP && (class == addSub && !setsFlags || class == logical && ins>>29&3 != 3)
	if writesSP || rd == armLR {
		return effect{kind: unknown}
	}
	return effect{}
}

// memoryEffect decodes loads and stores.
func memoryEffect(ins uint32, rt, rn uint8) effect {
	const (
		literal = 0b011
		pair    = 0b101
		single  = 0b111
	)
	class, vector := ins>>27&7, ins>>26&1 == 1
	e := effect{kind: store, regs: [2]uint8{rt, numRegs}}
	loads := ins>>22&1 == 1
	switch {
	case class == pair:
		e.regs[1] = uint8(ins >> 10 & 31)
	case class == literal && ins>>24&1 == 0:
		loads, rn = true, 0
	case class == single && !vector:
		loads = ins>>22&3 != 0
	}
	if loads {
		e.kind = load
	}
	if vector {
		e.regs = [2]uint8{numRegs, numRegs}
	}
	changesLR := loads && (e.regs[0] == armLR || e.regs[1] == armLR)
	switch {
	case rn != armSP:
	case class == pair:
		return e.pair(ins, vector)
	case class == single && (ins>>24&1 == 1 || ins>>21&1 == 0):
		return e.single(ins, vector)
	case class == single && ins>>10&1 == 0: // by a register, atomic
	default: // whatever else may change the stack pointer
		return effect{kind: unknown}
	}
	if changesLR {
		return effect{kind: unknown}
	}
	return effect{}
}

// pair completes the effect of a load or store of two registers, at the stack pointer plus a
// constant.
func (e effect) pair(ins uint32, vector bool) effect {
	scale := 2 + ins>>31
	if vector {
		scale = 2 + ins>>30
	}
	e.size = 1 << scale
	return e.index(int64(int32(ins<<10)>>25)<<scale, ins>>23&3)
}

// single is pair of one register.
func (e effect) single(ins uint32, vector bool) effect {
	scale := ins >> 30
	if vector {
		scale |= ins >> 21 & 4
	}
	e.size = 1 << scale
	if ins>>24&1 == 1 {
		return e.index(int64(ins>>10&0xfff)<<scale, 0)
	}
	return e.index(int64(int32(ins<<11)>>23), ins>>10&3)
}

// index adds where from the stack pointer on the memory is, and whether that is moved.
func (e effect) index(n int64, mode uint32) effect {
	const (
		post = 0b01
		pre  = 0b11
	)
	switch mode {
	case post:
		e.moves = n
	case pre:
		e.moves, e.at = n, n
	default:
		e.at = n
	}
	if e.size != 8 && (e.regs[0] == armLR || e.regs[1] == armLR) {
		return effect{kind: unknown}
	}
	return e
}
