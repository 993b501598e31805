package elfsym

import (
	"debug/elf"
	"math"
)

// addPLT names the stubs of the procedure linkage table, which no symbol table
// does: the n-th relocation of the table belongs to its n-th stub.
//
// perf 6.1 knows .plt only. Where the linker split it for branch tracking
// (-z ibtplt), code runs through .plt.sec, whose stubs are in the same order
// and have no header in front.
func (l *loader) addPLT(dynsym *elf.Section) error {
	rel := l.file.Section(".rela.plt")
	if rel == nil {
		rel = l.file.Section(".rel.plt")
	}
	if rel == nil || rel.Link >= uint32(len(l.file.Sections)) || l.file.Sections[rel.Link] != dynsym {
		return nil
	}
	entry := relocationSize(l.file.Class, rel.Type)
	if entry == 0 {
		return nil
	}
	relocs, err := sectionData(rel, maxTable)
	if err != nil {
		return err
	}
	syms, err := sectionData(dynsym, maxTable)
	if err != nil {
		return err
	}

	for _, name := range []string{".plt", ".plt.sec"} {
		plt := l.file.Section(name)
		if plt == nil || plt.Flags&elf.SHF_EXECINSTR == 0 {
			continue
		}
		header, stub := stubSize(l.file.Machine, plt)
		if name != ".plt" {
			header = 0
		}
		if stub == 0 || plt.Addr+plt.Size < plt.Addr {
			continue
		}
		addr := plt.Addr + header
		for b := relocs; len(b) >= entry && addr+stub <= plt.Addr+plt.Size; b = b[entry:] {
			l.table.symbols = append(l.table.symbols, symbol{
				start:  addr,
				end:    addr + stub,
				name:   l.symbolName(syms, l.relocated(b)),
				bind:   uint8(elf.STB_GLOBAL),
				origin: fromPLT,
			})
			addr += stub
			if len(l.table.symbols) == math.MaxInt32 {
				return nil
			}
		}
	}
	return nil
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

// stubSize returns the sizes of the table's header and of each stub.
func stubSize(machine elf.Machine, plt *elf.Section) (header, stub uint64) {
	switch machine {
	case elf.EM_ARM:
		return 20, 12
	case elf.EM_AARCH64, elf.EM_RISCV:
		return 32, 16
	}
	return plt.Entsize, plt.Entsize
}

// relocated returns the index of the symbol that relocation b is for.
func (l *loader) relocated(b []byte) uint64 {
	if l.file.Class == elf.ELFCLASS64 {
		return l.file.ByteOrder.Uint64(b[8:]) >> 32
	}
	return uint64(l.file.ByteOrder.Uint32(b[4:]) >> 8)
}

// symbolName returns where symbol i of table syms has its name. Relocations
// without a symbol, for functions chosen at start-up, get symbol 0, which has
// none; perf then prints "@plt".
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
