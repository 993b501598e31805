package elfsym

import (
	"debug/elf"
	"encoding/binary"
	"math"
	"slices"
)

// addPLT names the stubs of the procedure linkage table, which no symbol table
// does: the n-th relocation of the table belongs to its n-th stub. On x86 and ARM a stub is
// known by the slot through which it jumps: linkers differ in the header of the table,
// do not all say how large a stub is, have those of functions chosen at start-up (IFUNC) in
// another order than their relocations, and write .plt.got in an order of its own.
//
// perf 6.1 knows .plt only, and not where a file has no symbol otherwise. Where the linker split it for branch tracking
// (-z ibtplt), code runs through .plt.sec, whose stubs are in the same order
// and have no header in front.
func (l *loader) addPLT(dynsym *elf.Section) error {
	relocs, entry, err := l.relocations(dynsym, ".rela.plt", ".rel.plt")
	if err != nil {
		return err
	}
	var syms []byte
	if dynsym != nil {
		if syms, err = sectionData(dynsym, maxTable); err != nil {
			return err
		}
	}
	named := l.table.symbols
	var slots map[uint64]target
	known := jumpSlots[l.file.Machine] != nil
	if known {
		l.got = gotOf(l.file)
		if slots, err = l.slots(dynsym, syms, named, relocs, entry); err != nil {
			return err
		}
	}
	for _, name := range []string{".plt", ".plt.sec", iPLT, pltGOT} {
		plt := l.file.Section(name)
		if plt == nil || plt.Flags&elf.SHF_EXECINSTR == 0 || plt.Type == elf.SHT_NOBITS { // of old 32-bit PowerPC, written as it starts
			continue
		}
		code, err := sectionData(plt, maxTable)
		if err != nil {
			return err
		}
		header, stub := stubSize(l.file.Machine, plt, code)
		if plt.Addr+plt.Size < plt.Addr || l.addSlots(plt, code, stub, slots) || name == pltGOT || stub == 0 {
			continue
		}
		if known && plt.Entsize == 0 {
			continue // stubs of another form, as LLVM's linker's with -z retpolineplt
		}
		if name != ".plt" || dynsym == nil {
			header = 0
		}
		of, size := relocs, entry
		if name == iPLT {
			if of, size, err = l.relocations(dynsym, ".rela.dyn", ".rel.dyn"); err != nil {
				return err
			}
		}
		addr := plt.Addr + header
		for b := of; size > 0 && len(b) >= size && addr+stub <= plt.Addr+plt.Size; b = b[size:] {
			r := readReloc(l.file, b[:size])
			if name == iPLT && !slices.Contains(chosenAtStart[l.file.Machine], r.kind) {
				continue
			}
			if !l.addStub(addr, stub, l.target(r, syms, named)) {
				return nil
			}
			addr += stub
		}
	}
	return nil
}

const (
	pltGOT = ".plt.got" // has stubs of functions whose address is taken too
	iPLT   = ".iplt"    // of functions chosen at start-up
)

// addStub adds a stub, and returns false if there is no room for more.
func (l *loader) addStub(addr, size uint64, to target) bool {
	l.table.symbols = append(l.table.symbols, symbol{
		start:  addr,
		end:    addr + size,
		name:   to.name,
		bind:   uint8(elf.STB_GLOBAL),
		origin: to.origin,
	})
	return len(l.table.symbols) < math.MaxInt32
}

// relocations returns the first of some sections of relocations for symbols of dynsym, which is nil
// for those without symbols, and the size of one; 0 if there is none.
func (l *loader) relocations(dynsym *elf.Section, names ...string) (data []byte, entry int, err error) {
	for _, name := range names {
		rel := l.file.Section(name)
		if rel == nil {
			continue
		}
		if dynsym != nil && (rel.Link >= uint32(len(l.file.Sections)) || l.file.Sections[rel.Link] != dynsym) {
			return nil, 0, nil
		}
		entry = relocationSize(l.file.Class, rel.Type)
		if entry == 0 {
			return nil, 0, nil
		}
		data, err = sectionData(rel, maxTable)
		return data, entry, err
	}
	return nil, 0, nil
}

// maxSlots is more than any program has, so that the relocations of a file made to harm take
// no memory.
const maxSlots = 1 << 20

// jumpSlots are the relocations by which the loader writes the address of a function into a slot,
// of machines whose stubs are known by their slots.
var jumpSlots = map[elf.Machine][]uint32{
	elf.EM_X86_64: types(elf.R_X86_64_JMP_SLOT, elf.R_X86_64_GLOB_DAT, elf.R_X86_64_IRELATIVE),
	elf.EM_386:    types(elf.R_386_JMP_SLOT, elf.R_386_GLOB_DAT, elf.R_386_IRELATIVE),
	elf.EM_ARM:    types(elf.R_ARM_JUMP_SLOT, elf.R_ARM_GLOB_DAT, elf.R_ARM_IRELATIVE),
}

// slots returns the functions whose addresses the loader of the program writes, by where it does.
func (l *loader) slots(dynsym *elf.Section, syms []byte, named []symbol, relocs []byte, entry int) (map[uint64]target, error) {
	slots := map[uint64]target{}
	kinds := jumpSlots[l.file.Machine]
	add := func(b []byte, size int) {
		for ; size > 0 && len(b) >= size && len(slots) < maxSlots; b = b[size:] {
			if r := readReloc(l.file, b[:size]); slices.Contains(kinds, r.kind) {
				slots[r.at] = l.target(r, syms, named)
			}
		}
	}
	add(relocs, entry)
	if l.file.Section(pltGOT) == nil && l.file.Section(iPLT) == nil {
		return slots, nil
	}
	data, size, err := l.relocations(dynsym, ".rela.dyn", ".rel.dyn")
	add(data, size)
	return slots, err
}

// addSlots adds the stubs that jump through slots, and reports whether there are any.
func (l *loader) addSlots(plt *elf.Section, code []byte, stub uint64, slots map[uint64]target) bool {
	next, found := uint64(0), false
	for j := range l.jumps(plt, code, stub) {
		to, ok := slots[j.slot]
		if !ok || found && j.at < next {
			continue
		}
		next, found = j.at+j.size, true
		if !l.addStub(plt.Addr+j.at, j.size, to) {
			break
		}
	}
	return found
}

// relocationSize returns the size of Elf32_Rel, Elf64_Rela and their like, 0
// for a section that holds none.
func relocationSize(class elf.Class, typ elf.SectionType) int {
	word := 4
	if class == elf.ELFCLASS64 {
		word = 8
	}
	switch typ {
	case elf.SHT_REL:
		return 2 * word
	case elf.SHT_RELA:
		return 3 * word
	}
	return 0
}

// stubSize returns the sizes of the table's header and of each stub, 0 if that is not known.
func stubSize(machine elf.Machine, plt *elf.Section, code []byte) (header, stub uint64) {
	switch machine {
	case elf.EM_ARM:
		return 0, 0 // they differ
	case elf.EM_AARCH64:
		return 32, armStub(code)
	case elf.EM_RISCV, elf.EM_LOONGARCH:
		return 32, 16
	case elf.EM_S390: // LLVM's linker does not say
		return 32, 32
	case elf.EM_386, elf.EM_X86_64:
		// LLVM's linker and mold do not say.
		stub = plt.Entsize
		if stub != 8 && stub != 16 {
			if stub = 16; plt.Addralign == 8 {
				stub = 8
			}
		}
		return stub, stub
	}
	return plt.Entsize, plt.Entsize
}

// armStub returns the size of a stub of AArch64, which is larger where one begins with a landing
// pad (BTI) or checks where it jumps to (PAC): by how far apart they end.
func armStub(code []byte) uint64 {
	const header, small, large, brX17 = 32, 16, 24, 0xd61f0220
	last := -1
	for at := header; at+4 <= len(code); at += 4 {
		if binary.LittleEndian.Uint32(code[at:]) != brX17 {
			continue
		}
		if last >= 0 {
			if at-last > small {
				return large
			}
			return small
		}
		last = at
	}
	return small
}
