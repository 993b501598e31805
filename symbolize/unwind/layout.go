package unwind

// Layout says where in a dump of registers those of a machine are.
type Layout struct {
	machine Machine
	slots   []slot
	pc      int // where the program counter is, -1 nowhere
}

type slot struct {
	at  uint8 // in the dump
	reg uint8 // pcSlot for the program counter
}

const pcSlot = 0xff

// kernelRegs are the numbers that registers have in the kernel's dumps (perf_regs.h,
// enum perf_event_*_regs): the general ones in the order of DWARF's, none of machines
// whose stacks are not walked, and the program counter.
var kernelRegs = map[Machine]struct {
	general []uint8
	pc      uint8
}{
	X86_64:  {[]uint8{0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23}, 8},
	I386:    {[]uint8{0, 2, 3, 1, 7, 6, 4, 5}, 8},
	ARM64:   {first(32), 32},
	ARM:     {nil, 15},
	PPC64:   {nil, 32},
	S390X:   {nil, 33},
	RISCV64: {nil, 0},
}

// first returns the numbers below n.
func first(n uint8) (all []uint8) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// MachineOf returns the machine whose programs are dumped with the registers in mask,
// as perf asks for all that a machine has, or on arm64 for the link register; 0 for none.
func MachineOf(mask uint64) Machine {
	const arm64 = 1<<33 - 1
	switch {
	case mask&^(1<<46) == arm64, mask == 1<<armLR: // the other one is of its vectors
		return ARM64
	case mask == 1<<16-1:
		return ARM
	case mask>>7&3 == 3 && mask&0xf000 == 0 && mask>>24 == 0: // sp and ip, no segments
		return X86_64
	}
	return 0
}

// Narrow returns the machine that programs of 32 bits see on m, 0 where their stacks
// cannot be walked.
func (m Machine) Narrow() Machine {
	if m == X86_64 || m == I386 {
		return I386
	}
	return 0
}

// LayoutOf returns the layout of dumps that have the registers in mask, and whether
// they are enough to walk a stack.
func (m Machine) LayoutOf(mask uint64) (Layout, bool) {
	l := Layout{machine: m, pc: -1}
	known, ok := kernelRegs[m]
	if !ok {
		return l, false
	}
	reg := map[uint8]uint8{known.pc: pcSlot}
	for dwarf, kernel := range known.general {
		reg[kernel] = uint8(dwarf)
	}
	at, sp := uint8(0), false
	for i := range uint8(64) {
		if mask>>i&1 == 0 {
			continue
		}
		if n, ok := reg[i]; ok {
			l.slots = append(l.slots, slot{at, n})
			if n == pcSlot {
				l.pc = int(at)
			}
			sp = sp || n == registersOf(m).sp
		}
		at++
	}
	return l, sp && l.pc >= 0 && len(known.general) > 0
}

// PC returns the program counter in a dump.
func (l *Layout) PC(dump []uint64) (pc uint64, ok bool) {
	if l.pc < 0 || l.pc >= len(dump) {
		return 0, false
	}
	return dump[l.pc], true
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
	special := registersOf(l.machine)
	if special.pc != noRegister { // rules of linkage tables look at it
		r.General[special.pc] = r.PC
	}
	return r.General[special.sp], true
}
