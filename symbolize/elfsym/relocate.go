package elfsym

import (
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
)

// relocate returns the contents of section index of a relocatable file (a kernel
// module) with its relocations applied: without them all references from debug
// information to code and names are 0.
func (im *image) relocate(data []byte, index int) ([]byte, error) {
	var rela *elf.Section
	for _, s := range im.elf.Sections {
		if s.Type == elf.SHT_RELA && s.Info == uint32(index) {
			rela = s
		}
	}
	if rela == nil || len(data) == 0 {
		return data, nil
	}
	if im.elf.Class != elf.ELFCLASS64 {
		return nil, fmt.Errorf("section %s: relocations of 32-bit files are not supported", rela.Name)
	}
	relocs, err := im.bytes(rela)
	if err != nil {
		return nil, err
	}
	if rela.Link >= uint32(len(im.elf.Sections)) {
		return nil, fmt.Errorf("section %s: no symbol table %d", rela.Name, rela.Link)
	}
	syms, err := im.bytes(im.elf.Sections[rela.Link])
	if err != nil {
		return nil, err
	}
	data = bytes.Clone(data) // it may be mapped
	order, known := im.elf.ByteOrder, relocations[im.elf.Machine]
	for ; len(relocs) >= relaSize; relocs = relocs[relaSize:] {
		off, info, addend := order.Uint64(relocs), order.Uint64(relocs[8:]), order.Uint64(relocs[16:])
		width := known.width(uint32(info))
		switch {
		case width == 0:
			continue // of no use here
		case width < 0:
			return nil, fmt.Errorf("section %s: relocation %d for %v is not supported", rela.Name, uint32(info), im.elf.Machine)
		case off > uint64(len(data)) || uint64(len(data))-off < uint64(width) || info>>32 >= uint64(len(syms))/elf.Sym64Size:
			return nil, fmt.Errorf("section %s: relocation out of bounds", rela.Name)
		}
		sym := syms[info>>32*elf.Sym64Size:]
		v := order.Uint64(sym[8:]) + addend
		if i := int(order.Uint16(sym[6:])); i > 0 && i < len(im.elf.Sections) {
			v += im.elf.Sections[i].Addr
		}
		if width == 8 {
			order.PutUint64(data[off:], v)
		} else {
			order.PutUint32(data[off:], uint32(v))
		}
	}
	return data, nil
}

const relaSize = 24 // of Elf64_Rela, include/uapi/linux/elf.h

// bytes returns the contents of a section that is not compressed.
func (im *image) bytes(sec *elf.Section) ([]byte, error) {
	if im.mapped == nil || sec.Type == elf.SHT_NOBITS || sec.Offset > uint64(len(im.mapped)) || sec.FileSize > uint64(len(im.mapped))-sec.Offset {
		return sectionData(sec, maxTable)
	}
	return im.mapped[sec.Offset : sec.Offset+sec.FileSize], nil
}

// absolutes are the types of a machine's relocations that change nothing, and those that are
// an address in eight bytes or in four.
type absolutes struct{ none, eight, four []uint32 }

var relocations = map[elf.Machine]*absolutes{
	elf.EM_X86_64: {
		none: types(elf.R_X86_64_NONE), eight: types(elf.R_X86_64_64), four: types(elf.R_X86_64_32, elf.R_X86_64_32S),
	},
	elf.EM_AARCH64: {
		none: types(elf.R_AARCH64_NONE, elf.R_AARCH64_NULL), eight: types(elf.R_AARCH64_ABS64), four: types(elf.R_AARCH64_ABS32),
	},
	elf.EM_RISCV: {none: types(elf.R_RISCV_NONE), eight: types(elf.R_RISCV_64), four: types(elf.R_RISCV_32)},
	elf.EM_S390:  {none: types(elf.R_390_NONE), eight: types(elf.R_390_64), four: types(elf.R_390_32)},
	elf.EM_PPC64: {none: types(elf.R_PPC64_NONE), eight: types(elf.R_PPC64_ADDR64), four: types(elf.R_PPC64_ADDR32)},
}

func types[T ~int](all ...T) (numbers []uint32) {
	for _, t := range all {
		numbers = append(numbers, uint32(t))
	}
	return numbers
}

// width returns how many bytes a relocation changes, 0 if it changes none, -1 for any other
// kind. Nil is a machine that is not known.
func (a *absolutes) width(typ uint32) int {
	switch {
	case a == nil:
		return -1
	case slices.Contains(a.eight, typ):
		return 8
	case slices.Contains(a.four, typ):
		return 4
	case slices.Contains(a.none, typ):
		return 0
	}
	return -1
}
