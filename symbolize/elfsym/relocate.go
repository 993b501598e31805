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
		width := change.width
		if width == uleb {
			width = ulebSize(data[min(r.at, uint64(len(data))):])
		}
		sym, ok := values.at(r.symbol)
		if !ok || width == 0 || r.at > uint64(len(data)) || uint64(len(data))-r.at < uint64(width) {
			return nil, fmt.Errorf("section %s: relocation out of bounds", rel.Name)
		}
		field := data[r.at : r.at+uint64(width)]
		get, put := uintOf, putUint
		if change.width == uleb {
			get, put = ulebOf, putULEB
		}
		here := get(order, field)
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
		put(order, field, v)
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

// ulebSize returns how many bytes the LEB128 number takes that b starts with, 0 if it has
// no end within 64 bits.
func ulebSize(b []byte) int {
	_, n := binary.Uvarint(b)
	return max(n, 0)
}

// ulebOf reads a LEB128 number, all of b.
func ulebOf(_ binary.ByteOrder, b []byte) uint64 {
	v, _ := binary.Uvarint(b)
	return v
}

// putULEB writes as many bits as there is room for: a difference that fits may be set by
// numbers that do not.
func putULEB(_ binary.ByteOrder, b []byte, v uint64) {
	for i := range b {
		b[i] = byte(v) | 0x80
		v >>= 7
	}
	b[len(b)-1] &^= 0x80
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

// uleb is the width of a field that is a LEB128 number, as long as it is already.
const uleb = -1

// A changeOp says what becomes of the field: the address of the symbol with the addend, or that
// added to what is there, or subtracted from it.
type changeOp uint8

const (
	sets changeOp = iota
	adds
	subtracts
)

// Relocations of RISC-V that debug/elf has no names for: lists of ranges have them since
// binutils 2.41 and LLVM 18.
const (
	riscvSetULEB128 = 60
	riscvSubULEB128 = 61
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
		riscvSetULEB128: {uleb, sets}, riscvSubULEB128: {uleb, subtracts},
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
