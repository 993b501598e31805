package elfsym

import (
	"debug/elf"
	"encoding/binary"
	"slices"
)

// Words of struct moduledata, the runtime's description of a program (symtab.go): the same from
// Go 1.20 to 1.26, which has them in section .go.module, those before among other data.
const (
	moduleHeader = 0  // where the function table is
	moduleNames  = 1  // where the names in it are
	moduleMin    = 20 // where the first function is
	moduleMax    = 21 // where the last one ends
	moduleText   = 22 // what functions are counted from
	moduleFuncs  = 40 // go:func.*, where the inlining trees are

	moduleWords = moduleFuncs + 1
)

// goWord is what an address is in a Go program: size bytes, 8 or 4, in that order.
type goWord struct {
	order binary.ByteOrder
	size  int
}

func wordOf(f *elf.File) goWord {
	if f.Class == elf.ELFCLASS64 {
		return goWord{f.ByteOrder, 8}
	}
	return goWord{f.ByteOrder, 4}
}

// of returns the word that b begins with.
func (w goWord) of(b []byte) uint64 {
	if w.size == 8 {
		return w.order.Uint64(b)
	}
	return uint64(w.order.Uint32(b))
}

// goModule is where the module data of a Go program is, and how to read it.
type goModule struct {
	goWord
	data  []byte // from there on
	addr  uint64 // vaddr of data
	moved []byte // Elf64_Rela of the program, nil if it has none; Elf32_Rel say nothing that data does not
	kind  uint32 // of those that add the program's address
}

// maxModuleData bounds in bytes the data in which module data is looked for, of all sections.
const maxModuleData = 256 << 20

// findGoModule finds the module data of the program with function table t, which is in section sec.
// It begins with the addresses of both the table and the names in it, as no other data does.
func findGoModule(f *elf.File, sec *elf.Section, t *goTable) (*goModule, bool) {
	m := &goModule{goWord: wordOf(f)}
	if rela := f.Section(".rela.dyn"); rela != nil && f.Type == elf.ET_DYN && f.Class == elf.ELFCLASS64 {
		m.kind = relative[f.Machine]
		m.moved, _ = sectionData(rela, maxGoTable) // without it nothing is found
	}
	names := sec.Addr + t.namesOff
	starts := m.addends(sec.Addr)
	left := uint64(maxModuleData)
	for _, s := range f.Sections {
		if s.Flags&(elf.SHF_ALLOC|elf.SHF_WRITE) != elf.SHF_ALLOC|elf.SHF_WRITE || s.Type == elf.SHT_NOBITS || s.FileSize > left {
			continue
		}
		left -= s.FileSize
		data, err := sectionData(s, maxGoTable)
		if err != nil {
			continue
		}
		for off := uint64(0); off+uint64(m.size*moduleWords) <= uint64(len(data)); off += uint64(m.size) {
			at := s.Addr + off
			named := m.of(data[off:]) == sec.Addr && m.of(data[off+uint64(m.size):]) == names
			if !named && !slices.Contains(starts, at) {
				continue
			}
			m.data, m.addr = data[off:], at
			if named || m.word(moduleHeader) == sec.Addr && m.word(moduleNames) == names {
				return m, m.describes(t)
			}
			starts = slices.DeleteFunc(starts, func(start uint64) bool { return start == at })
		}
	}
	return nil, false
}

// describes reports whether the words are those of the program with function table t, as the
// runtime itself looks (moduledataverify1).
func (m *goModule) describes(t *goTable) bool {
	first := m.word(moduleMin)
	return first == m.word(moduleText)+t.entry(0) && first < m.word(moduleMax)
}

// relative are the relocations by which a word becomes an address, as the program is loaded.
var relative = map[elf.Machine]uint32{
	elf.EM_X86_64:  uint32(elf.R_X86_64_RELATIVE),
	elf.EM_AARCH64: uint32(elf.R_AARCH64_RELATIVE),
	elf.EM_RISCV:   uint32(elf.R_RISCV_RELATIVE),
	elf.EM_S390:    uint32(elf.R_390_RELATIVE),
	elf.EM_PPC64:   uint32(elf.R_PPC64_RELATIVE),
}

// maxModules bounds the places that are tried.
const maxModules = 16

// addends returns the addresses of words that become addr.
func (m *goModule) addends(addr uint64) (at []uint64) {
	for b := m.moved; len(b) >= relaSize && len(at) < maxModules; b = b[relaSize:] {
		if m.order.Uint64(b[16:]) == addr && uint32(m.order.Uint64(b[8:])) == m.kind {
			at = append(at, m.order.Uint64(b))
		}
	}
	return at
}

// word returns word i: what is in the file, or what a relocation makes of it. There are as many.
func (m *goModule) word(i int) uint64 {
	at := m.addr + uint64(i*m.size)
	for b := m.moved; len(b) >= relaSize; b = b[relaSize:] {
		if m.order.Uint64(b) == at && uint32(m.order.Uint64(b[8:])) == m.kind {
			return m.order.Uint64(b[16:])
		}
	}
	return m.of(m.data[i*m.size:])
}

// credible reports whether what is taken for inlining trees is: each begins with a call of a
// function with a name, from somewhere in the function that it is of.
func (t *goTable) credible() bool {
	const enough = 256
	for i, seen := 0, 0; i < t.count && seen < enough; i++ {
		f, ok := t.function(i)
		if !ok || !f.hasInline {
			continue
		}
		seen++
		off := t.inlineOff + uint64(f.inlineTree)
		if off+inlinedCallSize > uint64(len(t.inline)) {
			return false
		}
		name := uint64(t.order.Uint32(t.inline[off+4:]))
		parent := uint64(t.order.Uint32(t.inline[off+8:]))
		if name >= uint64(len(t.names)) || name > 0 && t.names[name-1] != 0 || t.names[name] == 0 ||
			parent > t.entry(i+1)-t.entry(i) {
			return false
		}
	}
	return true
}
