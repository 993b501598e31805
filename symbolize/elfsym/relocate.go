package elfsym

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// relocate returns the contents of section index of a relocatable file (a kernel
// module) with its relocations applied: without them all references from debug
// information to code and names are 0, or count from the start of a section.
func (im *image) relocate(data []byte, index int) ([]byte, error) {
	var rel *elf.Section
	for _, s := range im.elf.Sections {
		if (s.Type == elf.SHT_RELA || s.Type == elf.SHT_REL) && s.Info == uint32(index) {
			rel = s
		}
	}
	if rel == nil || len(data) == 0 {
		return data, nil
	}
	relocs, err := im.bytes(rel)
	if err != nil {
		return nil, err
	}
	if rel.Link >= uint32(len(im.elf.Sections)) {
		return nil, fmt.Errorf("section %s: no symbol table %d", rel.Name, rel.Link)
	}
	syms, err := im.bytes(im.elf.Sections[rel.Link])
	if err != nil {
		return nil, err
	}
	data = bytes.Clone(data) // it may be mapped
	values := symbolReader{file: im.elf, data: syms}
	known, order, size := relocations[im.elf.Machine], im.elf.ByteOrder, relocationSize(im.elf.Class, rel.Type)
	for ; len(relocs) >= size; relocs = relocs[size:] {
		r := readReloc(im.elf, relocs[:size])
		change, ok := known[r.kind]
		if !ok {
			return nil, fmt.Errorf("section %s: relocation %d for %v is not supported", rel.Name, r.kind, im.elf.Machine)
		}
		if change.width == 0 {
			continue // of no use here
		}
		sym, ok := values.at(r.symbol)
		if !ok || r.at > uint64(len(data)) || uint64(len(data))-r.at < uint64(change.width) {
			return nil, fmt.Errorf("section %s: relocation out of bounds", rel.Name)
		}
		field := data[r.at : r.at+uint64(change.width)]
		here := uintOf(order, field)
		v := sym.value + r.addend
		if !r.hasAddend {
			v = sym.value + here
		}
		if i := int(sym.section); i > 0 && i < len(im.elf.Sections) {
			v += im.elf.Sections[i].Addr
		}
		switch change.op {
		case adds:
			v = here + v
		case subtracts:
			v = here - v
		}
		putUint(order, field, v)
	}
	return data, nil
}

// at returns symbol i of those that are left to read.
func (r *symbolReader) at(i uint64) (rawSymbol, bool) {
	size := uint64(elf.Sym32Size)
	if r.file.Class == elf.ELFCLASS64 {
		size = elf.Sym64Size
	}
	if i >= uint64(len(r.data))/size {
		return rawSymbol{}, false
	}
	one := symbolReader{file: r.file, data: r.data[i*size:]}
	return one.next()
}

// uintOf reads an integer of one, two, four or eight bytes.
func uintOf(order binary.ByteOrder, b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b))
	case 4:
		return uint64(order.Uint32(b))
	}
	return order.Uint64(b)
}

// putUint writes one, of which it takes as many bytes as there is room for.
func putUint(order binary.ByteOrder, b []byte, v uint64) {
	switch len(b) {
	case 1:
		b[0] = byte(v)
	case 2:
		order.PutUint16(b, uint16(v))
	case 4:
		order.PutUint32(b, uint32(v))
	default:
		order.PutUint64(b, v)
	}
}

// bytes returns the contents of a section that is not compressed.
func (im *image) bytes(sec *elf.Section) ([]byte, error) {
	if im.mapped == nil || sec.Type == elf.SHT_NOBITS || sec.Offset > uint64(len(im.mapped)) || sec.FileSize > uint64(len(im.mapped))-sec.Offset {
		return sectionData(sec, maxTable)
	}
	return im.mapped[sec.Offset : sec.Offset+sec.FileSize], nil
}

// change is what a kind of relocation does to bytes of a section.
type change struct {
	width int // of the field in bytes, 0 for none
	op    changeOp
}

// A changeOp says what becomes of the field: the address of the symbol with the addend, or that
// added to what is there, or subtracted from it.
type changeOp uint8

const (
	sets changeOp = iota
	adds
	subtracts
)

// relocations are those that compilers use for debug information, of each machine.
var relocations = map[elf.Machine]map[uint32]change{
	elf.EM_X86_64: {
		uint32(elf.R_X86_64_NONE): {}, uint32(elf.R_X86_64_64): {8, sets},
		uint32(elf.R_X86_64_32): {4, sets}, uint32(elf.R_X86_64_32S): {4, sets},
	},
	elf.EM_386: {uint32(elf.R_386_NONE): {}, uint32(elf.R_386_32): {4, sets}},
	elf.EM_AARCH64: {
		uint32(elf.R_AARCH64_NONE): {}, uint32(elf.R_AARCH64_NULL): {},
		uint32(elf.R_AARCH64_ABS64): {8, sets}, uint32(elf.R_AARCH64_ABS32): {4, sets},
	},
	elf.EM_ARM: {uint32(elf.R_ARM_NONE): {}, uint32(elf.R_ARM_ABS32): {4, sets}},
	// The linker may make code of RISC-V shorter, so that differences are left to it.
	elf.EM_RISCV: {
		uint32(elf.R_RISCV_NONE): {}, uint32(elf.R_RISCV_32): {4, sets}, uint32(elf.R_RISCV_64): {8, sets},
		uint32(elf.R_RISCV_SET8): {1, sets}, uint32(elf.R_RISCV_SET16): {2, sets}, uint32(elf.R_RISCV_SET32): {4, sets},
		uint32(elf.R_RISCV_ADD8): {1, adds}, uint32(elf.R_RISCV_ADD16): {2, adds},
		uint32(elf.R_RISCV_ADD32): {4, adds}, uint32(elf.R_RISCV_ADD64): {8, adds},
		uint32(elf.R_RISCV_SUB8): {1, subtracts}, uint32(elf.R_RISCV_SUB16): {2, subtracts},
		uint32(elf.R_RISCV_SUB32): {4, subtracts}, uint32(elf.R_RISCV_SUB64): {8, subtracts},
	},
	elf.EM_S390:  {uint32(elf.R_390_NONE): {}, uint32(elf.R_390_64): {8, sets}, uint32(elf.R_390_32): {4, sets}},
	elf.EM_PPC64: {uint32(elf.R_PPC64_NONE): {}, uint32(elf.R_PPC64_ADDR64): {8, sets}, uint32(elf.R_PPC64_ADDR32): {4, sets}},
}

func types[T ~int](all ...T) (numbers []uint32) {
	for _, t := range all {
		numbers = append(numbers, uint32(t))
	}
	return numbers
}
