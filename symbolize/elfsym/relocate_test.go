package elfsym

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"
)

// TestRelocateLEB128: a length in a list of ranges is, of RISC-V, the difference of two symbols, and
// keeps the bytes that it takes, whatever the numbers are that it is the difference of.
func TestRelocateLEB128(t *testing.T) {
	relocate := func(data []byte, at ...uint64) ([]byte, error) {
		order := binary.LittleEndian
		syms := make([]byte, 3*elf.Sym64Size)
		for i, value := range []uint64{0x12340, 0x12340 + 0x7e8} {
			sym := syms[(i+1)*elf.Sym64Size:]
			order.PutUint16(sym[6:], 1)
			order.PutUint64(sym[8:], value)
		}
		var relocs []byte
		for _, at := range at {
			relocs = order.AppendUint64(order.AppendUint64(order.AppendUint64(relocs, at), 2<<32|riscvSetULEB128), 4)
			relocs = order.AppendUint64(order.AppendUint64(order.AppendUint64(relocs, at), 1<<32|riscvSubULEB128), 4)
		}
		im := &image{mapped: append(syms, relocs...), elf: &elf.File{FileHeader: elf.FileHeader{
			Class: elf.ELFCLASS64, Data: elf.ELFDATA2LSB, ByteOrder: order, Machine: elf.EM_RISCV, Type: elf.ET_REL,
		}}}
		for _, h := range []elf.SectionHeader{
			{},
			{Name: ".text", Type: elf.SHT_PROGBITS, Addr: 0x1000},
			{Name: ".debug_rnglists", Type: elf.SHT_PROGBITS},
			{Name: ".rela.debug_rnglists", Type: elf.SHT_RELA, Info: 2, Link: 4, Offset: uint64(len(syms)), FileSize: uint64(len(relocs))},
			{Name: ".symtab", Type: elf.SHT_SYMTAB, FileSize: uint64(len(syms))},
		} {
			im.elf.Sections = append(im.elf.Sections, &elf.Section{SectionHeader: h})
		}
		return im.relocate(data, 2)
	}
	for _, tt := range []struct{ before, want []byte }{
		{[]byte{0x80, 0x00, 0xaa}, []byte{0xe8, 0x0f, 0xaa}},
		{[]byte{0x80, 0x80, 0x80, 0x00, 0xaa}, []byte{0xe8, 0x8f, 0x80, 0x00, 0xaa}},
	} {
		got, err := relocate(tt.before, 0)
		if err != nil || !bytes.Equal(got, tt.want) {
			t.Errorf("% x: % x, %v, want % x", tt.before, got, err, tt.want)
		}
	}
	if got, err := relocate([]byte{1, 0x80, 0x00, 0x80, 0x80, 0x00}, 1, 3); err != nil || !bytes.Equal(got, []byte{1, 0xe8, 0x0f, 0xe8, 0x8f, 0x00}) {
		t.Errorf("two: % x, %v", got, err)
	}
	for _, endless := range [][]byte{{0x80}, bytes.Repeat([]byte{0x80}, 20)} {
		if got, err := relocate(endless, 0); err == nil {
			t.Errorf("% x: % x, want an error", endless, got)
		}
	}
	if got, err := relocate([]byte{0x80, 0x00}, 1<<40); err == nil {
		t.Errorf("beyond the section: % x, want an error", got)
	}
}
