package elfsym

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math/bits"
	"os"
	"slices"
	"testing"

	"kprof/perfevent/livetest"
)

// TestPLTOfArm: of ARM, linkers differ in the sizes of the header and of the stubs. The code is what
// GNU's linker (2.40) and LLVM's (22) wrote, at those addresses; slots are those of the relocations
// R_ARM_JUMP_SLOT beside it.
func TestPLTOfArm(t *testing.T) {
	header := []uint32{0xe52de004, 0xe59fe004, 0xe08fe00e, 0xe5bef008, 0x00001d50}
	const free, thumb = 0xd4d4d4d4, 0xe7fd4778
	for name, test := range map[string]struct {
		addr uint64
		code []uint32
		want []jump
	}{
		"GNU": {0x2a0, append(header[:5:5], 0xe28fc600, 0xe28cca01, 0xe5bcfd50, 0xe28fc600, 0xe28cca01, 0xe5bcfd48),
			[]jump{{20, 12, 0x200c}, {32, 12, 0x2010}}},
		"GNU, --long-plt": {0x2a0, append(header[:5:5],
			0xe28fc200, 0xe28cc600, 0xe28cca01, 0xe5bcfd50, 0xe28fc200, 0xe28cc600, 0xe28cca01, 0xe5bcfd44),
			[]jump{{20, 16, 0x200c}, {36, 16, 0x2010}}},
		"GNU, called by Thumb code": {0x158, append(header[:5:5],
			thumb, 0xe28fc600, 0xe28cca01, 0xe5bcfe94, thumb, 0xe28fc600, 0xe28cca01, 0xe5bcfe88),
			[]jump{{20, 16, 0x200c}, {36, 16, 0x2010}}},
		"LLVM": {0x103b0, []uint32{
			0xe52de004, 0xe28fe600, 0xe28eea20, 0xe5bef108, free, free, free, free,
			0xe28fc600, 0xe28cca20, 0xe5bcf0f0, free, 0xe28fc600, 0xe28cca20, 0xe5bcf0e4, free},
			[]jump{{32, 12, 0x304c8}, {48, 12, 0x304cc}}},
		"LLVM, far away": {0x20000, append(header[:4:4], 0x3ffdfff0, free, free, free,
			0xe59fc004, 0xe08cc00f, 0xe59cf000, 0x3ffdffe0, 0xe59fc004, 0xe08cc00f, 0xe59cf000, 0x3ffdffd4),
			[]jump{{32, 16, 0x4000000c}, {48, 16, 0x40000010}}},
	} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			var code []byte
			for _, ins := range test.code {
				if ins == thumb && order.String() == binary.BigEndian.String() {
					ins = bits.RotateLeft32(ins, 16) // two instructions
				}
				code = order.AppendUint32(code, ins)
			}
			l := loader{file: &elf.File{FileHeader: elf.FileHeader{Machine: elf.EM_ARM}}, table: &table{}}
			slots := map[uint64]target{}
			var want []symbol
			for i, j := range test.want {
				name, at := uint32(i+1), test.addr+j.at
				slots[j.slot] = target{name, fromPLT}
				want = append(want, symbol{start: at, end: at + j.size, name: name, bind: uint8(elf.STB_GLOBAL), origin: fromPLT})
			}
			plt := &elf.Section{SectionHeader: elf.SectionHeader{Addr: test.addr, Size: uint64(len(code))}}
			if found := l.addSlots(plt, code, 0, slots); !found || !slices.Equal(l.table.symbols, want) {
				t.Errorf("%s, %v: stubs are %+v, want %+v", name, order, l.table.symbols, want)
			}
		}
	}
}

// TestPLTOfS390: GNU's linker writes how large a stub is, LLVM's (22) does not; both have headers and
// stubs of 32 bytes (PLT_FIRST_ENTRY_SIZE and PLT_ENTRY_SIZE of bfd's elf64-s390.c, pltHeaderSize and
// pltEntrySize of lld's SystemZ.cpp).
func TestPLTOfS390(t *testing.T) {
	for _, said := range []uint64{0, 32} {
		plt := &elf.Section{SectionHeader: elf.SectionHeader{Entsize: said}}
		if header, stub := stubSize(elf.EM_S390, plt, nil); header != 32 || stub != 32 {
			t.Errorf("entries of %d bytes: a header of %d and stubs of %d", said, header, stub)
		}
	}
}

// TestPLTWithoutContents: that of a program of 32-bit PowerPC with -mbss-plt is written as it starts.
// Its symbols are all there even so.
func TestPLTWithoutContents(t *testing.T) {
	path := build(t)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	const size, typ = 64, 4 // of Elf64_Shdr
	for i, s := range f.Sections {
		if s.Name == ".plt" {
			f.ByteOrder.PutUint32(b[f.ByteOrder.Uint64(b[40:])+uint64(size*i+typ):], uint32(elf.SHT_NOBITS))
		}
	}
	livetest.WriteFile(t, path, b)
	if err := open(t, path, Options{}).Load(); err != nil {
		t.Error(err)
	}
}
