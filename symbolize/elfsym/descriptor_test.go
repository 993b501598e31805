package elfsym

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"
)

// TestDescriptors: symbols of big-endian PowerPC programs have the addresses of descriptors, of
// which the linker's have the address of the code in the first of three words.
func TestDescriptors(t *testing.T) {
	be := binary.BigEndian
	words := func(all ...uint64) (b []byte) {
		for _, w := range all {
			b = be.AppendUint64(b, w)
		}
		return b
	}
	const code, table = 0x10000400, 0x10020000
	var symtab bytes.Buffer
	for _, s := range []elf.Sym64{
		{},
		{Name: 1, Info: elf.ST_INFO(elf.STB_GLOBAL, elf.STT_FUNC), Shndx: 2, Value: table + 24, Size: 0x40},
		{Name: 6, Info: elf.ST_INFO(elf.STB_LOCAL, elf.STT_FUNC), Shndx: 2, Value: table, Size: 0x20},
		{Name: 6, Info: elf.ST_INFO(elf.STB_GLOBAL, elf.STT_FUNC), Shndx: 2, Value: table + 48, Size: 0x20},  // elsewhere
		{Name: 6, Info: elf.ST_INFO(elf.STB_GLOBAL, elf.STT_FUNC), Shndx: 2, Value: table + 300, Size: 0x20}, // in no descriptor
	} {
		if err := binary.Write(&symtab, be, s); err != nil {
			t.Fatal(err)
		}
	}
	sections := []struct {
		elf.Section64
		data []byte
	}{
		{},
		{elf.Section64{Name: 1, Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC | elf.SHF_EXECINSTR), Addr: code}, make([]byte, 0x100)},
		{elf.Section64{Name: 7, Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC | elf.SHF_WRITE), Addr: table}, words(code, table, 0, code+0x40, table, 0, 0x42, table, 0)},
		{elf.Section64{Name: 12, Type: uint32(elf.SHT_SYMTAB), Link: 4, Entsize: elf.Sym64Size}, symtab.Bytes()},
		{elf.Section64{Name: 20, Type: uint32(elf.SHT_STRTAB)}, []byte("\x00main\x00local\x00")},
		{elf.Section64{Name: 28, Type: uint32(elf.SHT_STRTAB)}, []byte("\x00.text\x00.opd\x00.symtab\x00.strtab\x00.shstrtab\x00")},
	}
	const head = 64 // of Elf64_Ehdr, and of Elf64_Shdr
	var headers, data bytes.Buffer
	for _, s := range sections {
		s.Off, s.Size = head+uint64(head*len(sections)+data.Len()), uint64(len(s.data))
		data.Write(s.data)
		if err := binary.Write(&headers, be, s.Section64); err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	h := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2MSB), 1}, Type: uint16(elf.ET_EXEC),
		Machine: uint16(elf.EM_PPC64), Version: 1, Flags: 1, Shoff: head, Ehsize: head, Shentsize: head, Shnum: uint16(len(sections)), Shstrndx: 5,
	}
	if err := binary.Write(&file, be, h); err != nil {
		t.Fatal(err)
	}
	file.Write(headers.Bytes())
	file.Write(data.Bytes())

	f, err := New(bytes.NewReader(file.Bytes()), Options{DebugDirs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Load(); err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]Symbol{
		code + 0x1f: {Name: "local", Start: code, End: code + 0x20}, code + 0x20: {},
		code + 0x50: {Name: "main", Start: code + 0x40, End: code + 0x80},
		table:       {}, table + 24: {}, 0x42: {},
	} {
		if got, _ := f.Lookup(addr); got != want {
			t.Errorf("%#x: %+v, want %+v", addr, got, want)
		}
	}
}
