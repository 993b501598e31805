package elfsym

import (
	"debug/elf"
	"io"
	"slices"
	"sort"
)

// target is the function that a stub jumps to, by where its name is: in the string table
// of .dynsym (fromPLT) or of .symtab (fromPLTChosen). Name 0 is none.
type target struct {
	name   uint32
	origin uint8
}

// chosenAtStart are the relocations of functions that are chosen at start-up (IFUNC): they have no symbol, but
// the address of the function that chooses, which the symbol of type STT_GNU_IFUNC has too.
var chosenAtStart = map[elf.Machine][]uint32{
	elf.EM_X86_64:    types(elf.R_X86_64_IRELATIVE),
	elf.EM_386:       types(elf.R_386_IRELATIVE),
	elf.EM_ARM:       types(elf.R_ARM_IRELATIVE),
	elf.EM_AARCH64:   types(elf.R_AARCH64_P32_IRELATIVE, elf.R_AARCH64_IRELATIVE),
	elf.EM_LOONGARCH: types(elf.R_LARCH_IRELATIVE),
	elf.EM_RISCV:     {58}, // R_RISCV_IRELATIVE of the psABI
	elf.EM_S390:      {61}, // R_390_IRELATIVE of glibc's elf.h
}

// reloc is an Elf32_Rel, Elf64_Rela or the like.
type reloc struct {
	at     uint64 // vaddr of what it changes
	kind   uint32
	symbol uint64
	addend uint64 // where hasAddend
	// hasAddend is whether the addend is here; else it is what stands at the address.
	hasAddend bool
}

// Sizes of Elf32_Rela and Elf64_Rela, include/uapi/linux/elf.h.
const (
	rela32Size = 12
	relaSize   = 24
)

// readReloc decodes a relocation of f that is as long as b.
func readReloc(f *elf.File, b []byte) reloc {
	order := f.ByteOrder
	if f.Class == elf.ELFCLASS64 {
		info := order.Uint64(b[8:])
		r := reloc{at: order.Uint64(b), kind: uint32(info), symbol: info >> 32}
		if r.hasAddend = len(b) == relaSize; r.hasAddend {
			r.addend = order.Uint64(b[16:])
		}
		return r
	}
	info := order.Uint32(b[4:])
	r := reloc{at: uint64(order.Uint32(b)), kind: info & 0xff, symbol: uint64(info >> 8)}
	if r.hasAddend = len(b) == rela32Size; r.hasAddend {
		r.addend = uint64(order.Uint32(b[8:]))
	}
	return r
}

// target returns the function of a stub with relocation r, as perf does since 6.3 (get_ifunc_name in its
// symbol-elf.c). syms is the contents of .dynsym, and named the symbols of the file, by address.
func (l *loader) target(r reloc, syms []byte, named []symbol) target {
	if !slices.Contains(chosenAtStart[l.file.Machine], r.kind) {
		return target{l.symbolName(syms, r.symbol), fromPLT}
	}
	addr := r.addend
	if !r.hasAddend {
		addr = l.wordAt(r.at)
	}
	if l.file.Machine == elf.EM_ARM {
		addr &^= 1 // set for Thumb code
	}
	i := sort.Search(len(named), func(i int) bool { return named[i].start >= addr })
	if i == len(named) || named[i].start != addr || addr == 0 {
		return target{0, fromPLT}
	}
	if named[i].origin == fromDynsym {
		return target{named[i].name, fromPLT}
	}
	return target{named[i].name, fromPLTChosen}
}

// wordAt returns the word that the file has at vaddr, 0 if it has none.
func (l *loader) wordAt(vaddr uint64) uint64 {
	b := make([]byte, 4)
	if l.file.Class == elf.ELFCLASS64 {
		b = make([]byte, 8)
	}
	for _, s := range l.file.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NOBITS || vaddr < s.Addr || vaddr-s.Addr >= s.FileSize {
			continue
		}
		if _, err := s.ReadAt(b, int64(vaddr-s.Addr)); err != nil && err != io.EOF {
			return 0
		}
		if len(b) == 4 {
			return uint64(l.file.ByteOrder.Uint32(b))
		}
		return l.file.ByteOrder.Uint64(b)
	}
	return 0
}

// symbolName returns where symbol i of table syms has its name, 0 if it has none.
func (l *loader) symbolName(syms []byte, i uint64) uint32 {
	size := uint64(elf.Sym32Size)
	if l.file.Class == elf.ELFCLASS64 {
		size = elf.Sym64Size
	}
	if i >= uint64(len(syms))/size {
		return 0
	}
	return l.file.ByteOrder.Uint32(syms[i*size:])
}
