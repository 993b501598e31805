package elfsym

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"kprof/symbolize/ranges"
)

// A Symbol names a range of addresses of a file.
type Symbol struct {
	Name  string // as the linker knows it
	Start uint64 // vaddr
	End   uint64 // first vaddr past it
	PLT   bool   // the stub in this file through which it calls Name
}

// symbol is a Symbol in compact form.
type symbol struct {
	start, end uint64
	name       uint32 // offset in the table's string table
	section    uint16 // elf.SectionIndex in the file of the table
	bind       uint8  // elf.SymBind
	origin     uint8  // which string table, and whether a PLT stub
}

// Origins of symbols.
const (
	fromSymtab = iota
	fromDynsym
	fromPLT       // names are in the dynamic string table
	fromPLTChosen // names are in that of .symtab
)

func (s *symbol) stub() bool { return s.origin >= fromPLT }

// table is all symbols of a file, as they are looked up.
type table struct {
	symbols []symbol
	index   *ranges.Index // of symbols
	strings [2]string     // of .symtab and of .dynsym
	golang  *goTable      // nil unless the file is a Go program
}

func (t *table) lookup(vaddr uint64) (Symbol, bool) {
	if t.index == nil {
		return Symbol{}, false
	}
	i, ok := t.index.Lookup(vaddr)
	if !ok {
		return Symbol{}, false
	}
	s := &t.symbols[i]
	return Symbol{Name: t.name(s), Start: s.start, End: s.end, PLT: s.stub()}, true
}

func (t *table) name(s *symbol) string {
	if s.origin == fromSymtab || s.origin == fromPLTChosen {
		return cstring(t.strings[0], s.name)
	}
	return cstring(t.strings[1], s.name)
}

// memory is about how many bytes the table takes.
func (t *table) memory() int {
	const ofSymbol = 24 + 8 + 4 // with its place in the index
	n := len(t.symbols)*ofSymbol + len(t.strings[0]) + len(t.strings[1])
	if t.golang != nil {
		n += cap(t.golang.names) + cap(t.golang.inline) // from the names on it is all of the section
	}
	return n
}

// maxSymbolName bounds the search for the end of a name, so that a million
// symbols in a string table without zeros cost no square.
const maxSymbolName = 1 << 16

// cstring returns the zero-terminated string at off, empty past the end.
func cstring(table string, off uint32) string {
	if uint64(off) >= uint64(len(table)) {
		return ""
	}
	s := table[off:min(len(table), int(off)+maxSymbolName)]
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return s
}

// load reads the symbols of f:
//
//  1. .symtab of the file or, if it has none, of its separate debug file, or of
//     the small one that it may carry inside;
//  2. .dynsym of the file, which names exported functions only;
//  3. stubs of the procedure linkage table;
//  4. Go's own function table.
//
// Aliases and sizes are settled after each of the first two, as perf does.
func load(f *File) (*table, error) {
	t := &table{}
	l := loader{file: f.elf, table: t, demangle: f.opts.Demangle, golang: goSection(f.elf) != nil}
	l.openDescriptors()

	symtab := f.elf.SectionByType(elf.SHT_SYMTAB)
	source := f.elf
	if wantDebug := f.opts.DWARF && !hasDebugInfo(f.elf); symtab == nil || wantDebug {
		debug := f.openDebug(func(e *elf.File) bool {
			return symtab == nil && e.SectionByType(elf.SHT_SYMTAB) != nil || wantDebug && hasDebugInfo(e)
		})
		if debug != nil && symtab == nil {
			if symtab = debug.elf.SectionByType(elf.SHT_SYMTAB); symtab != nil {
				source = debug.elf
			}
		}
		switch {
		case debug != nil && wantDebug:
			f.separate = debug
		case debug != nil:
			defer debug.file.Close()
		}
	}
	var errs []error
	if symtab == nil {
		mini, err := f.miniDebugInfo()
		errs = append(errs, err)
		if mini != nil {
			source, symtab = mini, mini.SectionByType(elf.SHT_SYMTAB)
		}
	}
	if symtab != nil {
		errs = append(errs, l.add(source, symtab, fromSymtab))
	}
	dynsym := f.elf.SectionByType(elf.SHT_DYNSYM)
	if dynsym != nil {
		errs = append(errs, l.add(f.elf, dynsym, fromDynsym))
	}
	errs = append(errs, l.addPLT(dynsym))
	t.index = ranges.New(len(t.symbols), func(i int) ranges.Range {
		return ranges.Range{Start: t.symbols[i].start, End: t.symbols[i].end}
	})
	named := f.opts.NamesOnly && symtab != nil && l.namesAllOfGo()
	if !named {
		var err error
		t.golang, err = loadGo(f, &l)
		errs = append(errs, err)
	}

	if err := errors.Join(errs...); err != nil {
		return t, err
	}
	if symtab == nil && t.golang == nil {
		// What .dynsym names may be a small part of all functions.
		return t, f.without(ErrStripped)
	}
	return t, nil
}

// loader fills a table.
type loader struct {
	file     *elf.File // the file that is executed
	table    *table
	demangle func(string) string

	opd []byte // of the file, if its functions have descriptors
	got uint64 // vaddr of the global offset table of i386, 0 if unknown

	golang         bool   // the file has a Go function table
	goText, goFunc uint64 // vaddr of runtime.text and go:func.*, 0 if unnamed
}

// add takes in the functions and data objects that section sec of source
// names.
func (l *loader) add(source *elf.File, sec *elf.Section, origin uint8) error {
	data, err := sectionData(sec, maxTable)
	if err != nil {
		return err
	}
	if uint64(sec.Link) >= uint64(len(source.Sections)) {
		return fmt.Errorf("section %s: no string table %d", sec.Name, sec.Link)
	}
	names, err := sectionData(source.Sections[sec.Link], maxTable)
	if err != nil {
		return err
	}
	strtab := string(names)
	l.table.strings[origin] = strtab

	syms := l.table.symbols
	r := symbolReader{file: source, data: data}
	for {
		raw, ok := r.next()
		if !ok {
			break
		}
		if l.golang {
			l.goMarks(strtab, raw)
		}
		s, ok := l.filter(source, raw, strtab)
		if !ok {
			continue
		}
		s.origin = origin
		syms = append(syms, s)
		if len(syms) == math.MaxInt32 {
			break
		}
	}
	l.table.symbols = settle(syms, l.table.name, l.readable)
	// No function goes on in the next section. perf lets _init, which has no
	// size, cover all of .plt and .plt.got, and prefers it there or not by the
	// shape of its search tree.
	for i := range l.table.symbols {
		s := &l.table.symbols[i]
		if s.origin != origin {
			continue
		}
		sec := source.Sections[s.section]
		if end := sec.Addr + sec.Size; s.start < end && end < s.end {
			s.end = end
		}
	}
	if len(r.data) > 0 {
		return fmt.Errorf("section %s: %d bytes after the last symbol: %w", sec.Name, len(r.data), io.ErrUnexpectedEOF)
	}
	return nil
}

// readable returns what perf would show of a name, to choose between aliases.
func (l *loader) readable(name string) string {
	if l.demangle != nil && strings.HasPrefix(name, "_") {
		name = l.demangle(name)
	}
	return name
}

// filter returns the symbol that raw stands for, and whether perf would load
// it: functions, data objects, and labels in sections of text or data.
func (l *loader) filter(source *elf.File, raw rawSymbol, strtab string) (symbol, bool) {
	index := elf.SectionIndex(raw.section)
	if raw.name == 0 || index == elf.SHN_UNDEF || index == elf.SHN_ABS || index == elf.SHN_COMMON {
		return symbol{}, false
	}
	typ := elf.ST_TYPE(raw.info)
	label := false
	switch typ {
	case elf.STT_FUNC, elf.STT_GNU_IFUNC, elf.STT_OBJECT:
	case elf.STT_NOTYPE:
		vis := elf.ST_VISIBILITY(raw.other)
		if vis == elf.STV_HIDDEN || vis == elf.STV_INTERNAL {
			return symbol{}, false
		}
		label = true
	default:
		return symbol{}, false
	}

	if int(index) >= len(source.Sections) {
		return symbol{}, false
	}
	sec := source.Sections[index]
	if sec.Flags&elf.SHF_ALLOC == 0 {
		return symbol{}, false // .gnu.warning.* and the like take no memory
	}
	if sec.Type == elf.SHT_NOBITS && source != l.file {
		// Debug files keep the headers of sections they dropped.
		if int(index) >= len(l.file.Sections) {
			return symbol{}, false
		}
		sec = l.file.Sections[index]
	}
	if sec.Type == elf.SHT_NOBITS && sec.Flags&elf.SHF_EXECINSTR == 0 {
		return symbol{}, false // .bss has no place in the file; code has, elsewhere
	}
	if label && !strings.Contains(sec.Name, "text") && !strings.Contains(sec.Name, "data") {
		return symbol{}, false
	}

	if label && strings.HasPrefix(cstring(strtab, raw.name), ".L") {
		return symbol{}, false // within a function, as assemblers keep of jump tables
	}

	s := symbol{
		start:   raw.value,
		name:    raw.name,
		section: raw.section,
		bind:    uint8(elf.ST_BIND(raw.info)),
	}
	switch l.file.Machine {
	case elf.EM_ARM, elf.EM_AARCH64, elf.EM_RISCV:
		if mappingSymbol(cstring(strtab, raw.name)) {
			return symbol{}, false
		}
		if l.file.Machine == elf.EM_ARM && (typ == elf.STT_FUNC || typ == elf.STT_GNU_IFUNC) {
			s.start &^= 1 // set for Thumb code
		}
	}
	if l.file.Type == elf.ET_REL {
		s.start += sec.Addr // values count from the section's start
	}
	s.end = s.start + raw.size
	if s.end < s.start {
		s.end = math.MaxUint64
	}
	ok := l.opd == nil || sec.Name != opdName || l.described(&s, sec.Addr, source)
	return s, ok
}

// goMarks remembers the addresses that Go's function table counts from.
func (l *loader) goMarks(strtab string, raw rawSymbol) {
	if uint64(raw.name) >= uint64(len(strtab)) {
		return
	}
	switch s := strtab[raw.name:]; {
	case strings.HasPrefix(s, "runtime.text\x00"):
		l.goText = raw.value
	case strings.HasPrefix(s, "go:func.*\x00"):
		l.goFunc = raw.value
	}
}

// mappingSymbol reports whether name marks the start of code or data for a
// disassembler: "$a", "$d.12", and on RISC-V "$xrv64i2p1".
func mappingSymbol(name string) bool {
	if len(name) < 2 || name[0] != '$' {
		return false
	}
	switch name[1] {
	case 'x':
		return len(name) == 2 || name[2] == '.' || strings.HasPrefix(name[2:], "rv")
	case 'a', 'd', 't':
		return len(name) == 2 || name[2] == '.'
	}
	return false
}

// rawSymbol is an Elf32_Sym or Elf64_Sym (include/uapi/linux/elf.h).
type rawSymbol struct {
	value, size uint64
	name        uint32
	section     uint16
	info, other uint8
}

// symbolReader decodes a symbol table.
type symbolReader struct {
	file *elf.File
	data []byte
}

func (r *symbolReader) next() (rawSymbol, bool) {
	b, order := r.data, r.file.ByteOrder
	if r.file.Class == elf.ELFCLASS64 {
		if len(b) < elf.Sym64Size {
			return rawSymbol{}, false
		}
		r.data = b[elf.Sym64Size:]
		return rawSymbol{
			name:    order.Uint32(b),
			info:    b[4],
			other:   b[5],
			section: order.Uint16(b[6:]),
			value:   order.Uint64(b[8:]),
			size:    order.Uint64(b[16:]),
		}, true
	}
	if len(b) < elf.Sym32Size {
		return rawSymbol{}, false
	}
	r.data = b[elf.Sym32Size:]
	return rawSymbol{
		name:    order.Uint32(b),
		value:   uint64(order.Uint32(b[4:])),
		size:    uint64(order.Uint32(b[8:])),
		info:    b[12],
		other:   b[13],
		section: order.Uint16(b[14:]),
	}, true
}
