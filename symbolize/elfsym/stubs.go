package elfsym

import (
	"debug/elf"
	"encoding/binary"
	"iter"
	"math/bits"
)

// jump is a stub of the procedure linkage table, as its code tells it.
type jump struct {
	at, size uint64 // in the section
	slot     uint64 // vaddr of the word through which it jumps
}

// jumps yields what may be stubs in section plt, in order; none for machines whose stubs are not
// known by their code. Each of x86 is in stub bytes of its own.
func (l *loader) jumps(plt *elf.Section, code []byte, stub uint64) iter.Seq[jump] {
	switch l.file.Machine {
	case elf.EM_386, elf.EM_X86_64:
		return l.x86Jumps(plt.Addr, code, stub)
	case elf.EM_ARM:
		return func(yield func(jump) bool) {
			for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} { // of instructions: BE8 has big data alone
				for j := range armJumps(plt.Addr, code, order) {
					if !yield(j) {
						return
					}
				}
			}
		}
	}
	return func(func(jump) bool) {}
}

// x86Jumps yields the indirect jumps at the places of stubs: ff 25, and where the slot is, on i386
// as an address, on x86-64 from behind them on; or, of i386 alone, ff a3, and where it is from the
// global offset table on.
func (l *loader) x86Jumps(addr uint64, code []byte, stub uint64) iter.Seq[jump] {
	const size = 6 // bytes of a jump
	return func(yield func(jump) bool) {
		for at := uint64(0); at+stub <= uint64(len(code)); at += stub {
			for i := at; i+size <= at+stub; i++ {
				if code[i] != 0xff {
					continue
				}
				j, disp := jump{at: at, size: stub}, uint64(int64(int32(l.file.ByteOrder.Uint32(code[i+2:]))))
				switch narrow := l.file.Machine == elf.EM_386; {
				case code[i+1] == 0x25 && narrow:
					j.slot = uint64(uint32(disp))
				case code[i+1] == 0x25:
					j.slot = addr + i + size + disp
				case code[i+1] == 0xa3 && narrow:
					j.slot = uint64(uint32(l.got + disp))
				default:
					continue
				}
				if !yield(j) {
					return
				}
			}
		}
	}
}

// armJumps yields stubs of ARM, in one of two forms:
//
//	add ip, pc, #A; add ip, ip, #B (any number); ldr pc, [ip, #C]!
//	ldr ip, [pc, #4]; add ip, ip, pc; ldr pc, [ip]; .word D    LLVM's linker's, for slots far away
//
// GNU's linker puts "bx pc" and a nop of Thumb before a stub that Thumb code calls too; LLVM's leaves
// four bytes free behind each, and both have headers of different sizes.
func armJumps(addr uint64, code []byte, order binary.ByteOrder) iter.Seq[jump] {
	const (
		pc               = 8 // what it is ahead of the instruction
		addPC, addIP     = 0xe28fc000, 0xe28cc000
		load, bits12     = 0xe5bcf000, 0xfff
		far, far2, far3  = 0xe59fc004, 0xe08cc00f, 0xe59cf000
		bxPC, thumbEntry = 0x4778, 4
	)
	ins := func(at uint64) uint32 {
		if at+4 > uint64(len(code)) {
			return 0
		}
		return order.Uint32(code[at:])
	}
	immediate := func(ins uint32) uint64 {
		return uint64(bits.RotateLeft32(ins&0xff, -2*int(ins>>8&0xf)))
	}
	return func(yield func(jump) bool) {
		for at := uint64(0); at < uint64(len(code)); at += 4 {
			slot, end := addr+at+pc, at+4
			switch {
			case ins(at)&^bits12 == addPC:
				slot += immediate(ins(at))
				for ; ins(end)&^bits12 == addIP; end += 4 {
					slot += immediate(ins(end))
				}
				if ins(end)&^bits12 != load {
					continue
				}
				slot += uint64(ins(end) & bits12)
				end += 4
			case ins(at) == far && ins(at+4) == far2 && ins(at+8) == far3:
				slot += 4 + uint64(ins(at+12))
				end = at + 16
			default:
				continue
			}
			j := jump{at, end - at, uint64(uint32(slot))}
			if at >= thumbEntry && order.Uint16(code[at-thumbEntry:]) == bxPC {
				j.at, j.size = at-thumbEntry, j.size+thumbEntry
			}
			if !yield(j) {
				return
			}
			at = end - 4
		}
	}
}

// gotOf returns where a program for i386 has its global offset table, 0 if that is not known.
func gotOf(f *elf.File) uint64 {
	dyn := f.SectionByType(elf.SHT_DYNAMIC)
	if dyn == nil || f.Machine != elf.EM_386 {
		return 0
	}
	data, err := sectionData(dyn, maxTable)
	if err != nil {
		return 0
	}
	for b := data; len(b) >= 8; b = b[8:] { // Elf32_Dyn
		if elf.DynTag(f.ByteOrder.Uint32(b)) == elf.DT_PLTGOT {
			return uint64(f.ByteOrder.Uint32(b[4:]))
		}
	}
	return 0
}
