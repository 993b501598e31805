package elfsym

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
)

// A Function is a function of a source language at an address.
type Function struct {
	Name      string
	File      string
	Line      int // of the address
	StartLine int // of the function itself
}

// goTable is the function table that the Go linker puts into every program,
// stripped or not, since Go 1.18: section .gopclntab, described in the
// runtime's symtab.go (pcHeader) and runtime2.go (_func).
type goTable struct {
	order   binary.ByteOrder
	quantum uint64 // least size of an instruction
	lines   bool   // _func has a start line: Go 1.20 on
	text    uint64 // vaddr that functions are counted from

	namesOff uint64 // of names, in the section

	names []byte
	cus   []byte // file numbers by compilation unit
	files []byte
	pcs   []byte // tables from address to number
	funcs []byte // functab, then the _func structs it points to
	count int    // of functions

	inline    []byte // section that holds inlining trees, nil if unknown
	inlineOff uint64 // of go:func.* in it
}

const (
	goMagic118 = 0xfffffff0
	goMagic120 = 0xfffffff1 // and all since

	goFuncSize118 = 40
	goFuncSize120 = 44

	pcdataInlineTree   = 2 // abi.PCDATA_InlTreeIndex
	funcdataInlineTree = 3 // abi.FUNCDATA_InlTree
	inlinedCallSize    = 16
	maxInlineDepth     = 1000

	maxGoTable = 1 << 30
)

var errGoTable = errors.New("malformed Go function table")

// goSection returns the section with the Go function table, nil if there is
// none.
func goSection(f *elf.File) *elf.Section {
	if sec := f.Section(".gopclntab"); sec != nil {
		return sec
	}
	return f.Section(".data.rel.ro.gopclntab") // PIE before Go 1.26
}

// loadGo reads the Go function table of f; nil if f is no Go program, or one
// whose table cannot be placed.
func loadGo(f *File, l *loader) (*goTable, error) {
	sec := goSection(f.elf)
	if sec == nil {
		return nil, nil
	}
	data, err := sectionData(sec, maxGoTable)
	if err != nil {
		return nil, err
	}
	t, err := parseGoTable(data, wordOf(f.elf))
	if t == nil {
		return nil, err
	}

	goText, goFunc := l.goText, l.goFunc
	if goText == 0 || goFunc == 0 { // stripped
		if m, ok := findGoModule(f.elf, sec, t); ok {
			goText = cmp.Or(goText, m.word(moduleText))
			if t.lines { // older ones have go:func.* elsewhere, and no inlined calls that are known
				goFunc = cmp.Or(goFunc, m.word(moduleFuncs))
			}
		}
	}

	// Go 1.18 to 1.25 keep the start of text in the table, unless it had to
	// be relocated; else it is a symbol, or in the module data, or the start of .text if
	// that holds nothing but Go (start-up code of C comes with a section .init).
	text := f.elf.Section(".text")
	switch {
	case goText != 0:
		t.text = goText
	case t.text != 0 && f.elf.Type == elf.ET_EXEC:
	case text != nil && f.elf.Section(".init") == nil:
		t.text = text.Addr
	default:
		return nil, nil
	}

	if goFunc != 0 {
		for _, s := range f.elf.Sections {
			if s.Flags&elf.SHF_ALLOC == 0 || goFunc < s.Addr || goFunc-s.Addr >= s.Size || s.Type == elf.SHT_NOBITS {
				continue
			}
			t.inlineOff = goFunc - s.Addr
			if s == sec {
				t.inline = data
			} else if t.inline, err = sectionData(s, maxGoTable); err != nil {
				return t, err
			}
			break
		}
	}
	if goFunc != l.goFunc && t.inline != nil && !t.credible() {
		t.inline = nil // another layout than is known
	}
	return t, nil
}

// namesAllOfGo reports whether there are as many symbols where the functions of a Go program are as
// its function table has of these.
func (l *loader) namesAllOfGo() bool {
	sec := goSection(l.file)
	var head [16]byte
	if sec == nil || l.goText == 0 || sec.Flags&elf.SHF_COMPRESSED != 0 {
		return false
	}
	if _, err := sec.ReadAt(head[:], 0); err != nil {
		return false
	}
	functions, in := uint64(0), -1
	for i := range l.table.symbols {
		s := &l.table.symbols[i]
		if s.start == l.goText {
			in = int(s.section)
		}
		if in >= 0 && int(s.section) == in && s.end > s.start && s.origin == fromSymtab {
			functions++
		}
	}
	return functions >= wordOf(l.file).of(head[8:])
}

// parseGoTable reads the header. It returns nil without an error for a table
// of a Go version that it does not know.
func parseGoTable(data []byte, w goWord) (*goTable, error) {
	header := 8 + 8*w.size
	if len(data) < header {
		return nil, fmt.Errorf("%w: %d bytes", errGoTable, len(data))
	}
	order := w.order
	magic := order.Uint32(data)
	if magic != goMagic118 && magic != goMagic120 {
		return nil, nil
	}
	if data[4] != 0 || data[5] != 0 || int(data[7]) != w.size || data[6] == 0 {
		return nil, fmt.Errorf("%w: header", errGoTable)
	}
	t := &goTable{order: order, quantum: uint64(data[6]), lines: magic == goMagic120}
	word := func(i int) uint64 { return w.of(data[8+w.size*i:]) }
	count := word(0)
	t.text = word(2)
	var parts [5][]byte
	for i := range parts {
		off := word(3 + i)
		if off > uint64(len(data)) {
			return nil, fmt.Errorf("%w: part %d at byte %#x", errGoTable, i, off)
		}
		parts[i] = data[off:]
	}
	t.namesOff = word(3)
	t.names, t.cus, t.files, t.pcs, t.funcs = parts[0], parts[1], parts[2], parts[3], parts[4]
	if count > uint64(len(t.funcs))/8 || len(t.funcs) < int(count)*8+4 {
		return nil, fmt.Errorf("%w: %d functions", errGoTable, count)
	}
	t.count = int(count)
	return t, nil
}

// entry returns where function i starts, counted from the start of text.
// Entry count is where the last one ends.
func (t *goTable) entry(i int) uint64 { return uint64(t.order.Uint32(t.funcs[8*i:])) }

// at returns the index of the function at vaddr, and how far vaddr is from the text's start.
func (t *goTable) at(vaddr uint64) (i int, off uint64, ok bool) {
	if vaddr < t.text {
		return 0, 0, false
	}
	off = vaddr - t.text
	i = sort.Search(t.count, func(i int) bool { return t.entry(i) > off }) - 1
	return i, off, i >= 0 && off < t.entry(i+1)
}

// GoFunction returns the function at vaddr that the function table of a Go program tells,
// which it has when it is stripped too.
func (f *File) GoFunction(vaddr uint64) (Symbol, bool) {
	if !f.golang {
		return Symbol{}, false
	}
	f.Load() // its error is the caller's to ask for
	t := f.table.golang
	if t == nil {
		return Symbol{}, false
	}
	i, _, ok := t.at(vaddr)
	if !ok {
		return Symbol{}, false
	}
	fn, ok := t.function(i)
	return Symbol{Name: fn.name, Start: t.text + t.entry(i), End: t.text + t.entry(i+1)}, ok && t.entry(i) < t.entry(i+1)
}

// appendFunctions appends the function at vaddr and, with inline, before it
// those inlined there, the innermost first. It appends nothing for an address
// outside Go's functions.
func (t *goTable) appendFunctions(dst []Function, vaddr uint64, inline bool) []Function {
	i, off, ok := t.at(vaddr)
	if !ok {
		return dst
	}
	f, ok := t.function(i)
	if !ok {
		return dst
	}

	pc := off - f.entry
	if inline || t.inline != nil {
		for range maxInlineDepth {
			call, ok := t.inlined(f, pc)
			if !ok {
				break
			}
			if inline {
				file, line := t.position(f, pc)
				dst = append(dst, Function{call.name, file, line, call.startLine})
			}
			pc = call.parent
		}
	}
	file, line := t.position(f, pc)
	return append(dst, Function{f.name, file, line, f.startLine})
}

// goFunc is what is used of a _func struct.
type goFunc struct {
	entry            uint64 // from the start of text
	name             string
	pcfile, pcln, cu uint32
	startLine        int // 0 if unknown
	inlinePC         uint32
	inlineTree       uint32
	hasInline        bool
}

func (t *goTable) function(i int) (goFunc, bool) {
	off := uint64(t.order.Uint32(t.funcs[8*i+4:]))
	size := uint64(goFuncSize118)
	if t.lines {
		size = goFuncSize120
	}
	if off+size > uint64(len(t.funcs)) {
		return goFunc{}, false
	}
	b := t.funcs[off:]
	u32 := func(off uint64) uint32 { return t.order.Uint32(b[off:]) }
	f := goFunc{
		entry:  t.entry(i),
		name:   goString(t.names, u32(4)),
		pcfile: u32(20),
		pcln:   u32(24),
		cu:     u32(32),
	}
	if f.name == "" {
		return goFunc{}, false
	}
	if t.lines {
		f.startLine = int(int32(u32(36)))
	}
	npcdata, nfuncdata := uint64(u32(28)), uint64(b[size-1])
	tree := size + 4*npcdata + 4*funcdataInlineTree
	if npcdata > pcdataInlineTree && nfuncdata > funcdataInlineTree && tree+4 <= uint64(len(b)) {
		f.inlinePC = u32(size + 4*pcdataInlineTree)
		f.inlineTree = u32(tree)
		f.hasInline = t.lines && f.inlinePC != 0 && f.inlineTree != ^uint32(0)
	}
	return f, true
}

// inlinedCall is a call that the compiler replaced by the function's body.
type inlinedCall struct {
	name      string
	startLine int
	parent    uint64 // an address at the call, from the start of the function
}

// inlined returns the innermost call inlined at pc, counted from the start
// of f.
func (t *goTable) inlined(f goFunc, pc uint64) (inlinedCall, bool) {
	if !f.hasInline || t.inline == nil {
		return inlinedCall{}, false
	}
	i, ok := t.value(f.inlinePC, pc)
	if !ok || i < 0 {
		return inlinedCall{}, false
	}
	off := t.inlineOff + uint64(f.inlineTree) + uint64(i)*inlinedCallSize
	if off+inlinedCallSize > uint64(len(t.inline)) {
		return inlinedCall{}, false
	}
	b := t.inline[off:]
	call := inlinedCall{
		name:      goString(t.names, t.order.Uint32(b[4:])),
		parent:    uint64(t.order.Uint32(b[8:])),
		startLine: int(int32(t.order.Uint32(b[12:]))),
	}
	return call, call.name != ""
}

// position returns the source position of pc, counted from the start of f.
func (t *goTable) position(f goFunc, pc uint64) (file string, line int) {
	if n, ok := t.value(f.pcln, pc); ok && n > 0 {
		line = int(n)
	}
	if n, ok := t.value(f.pcfile, pc); ok && n >= 0 {
		if off := 4 * (uint64(f.cu) + uint64(n)); off+4 <= uint64(len(t.cus)) {
			file = goString(t.files, t.order.Uint32(t.cus[off:]))
		}
	}
	return file, line
}

// value looks pc up in the table at off: pairs of a zigzag difference to the
// value and of the number of instruction units it is good for, both varints;
// the first value counts from -1, and a difference of 0 later on is the end.
func (t *goTable) value(off uint32, pc uint64) (int32, bool) {
	if off == 0 || uint64(off) >= uint64(len(t.pcs)) {
		return 0, false
	}
	b := t.pcs[off:]
	value := int32(-1)
	for end, first := uint64(0), true; ; first = false {
		diff, n := binary.Uvarint(b)
		if n <= 0 || diff == 0 && !first {
			return 0, false
		}
		b = b[n:]
		units, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, false
		}
		b = b[n:]
		value += int32(uint32(diff)>>1) ^ -int32(diff&1)
		end += units * t.quantum
		if pc < end {
			return value, true
		}
	}
}

// goString returns the zero-terminated string at off, empty if there is none.
func goString(table []byte, off uint32) string {
	if uint64(off) >= uint64(len(table)) {
		return ""
	}
	b := table[off:min(len(table), int(off)+maxSymbolName)]
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return ""
}
