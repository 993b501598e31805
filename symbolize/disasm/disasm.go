// Package disasm disassembles functions of ELF files, to be shown and such that builds can
// be compared: what only the linker decides is told apart from what the compiler did.
//
// Code of x86-64, i386 and arm64 is decoded, by golang.org/x/arch. Files are hostile input:
// what cannot be decoded is shown as its bytes, and no function takes more than MaxCode.
package disasm

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"kprof/symbolize/elfsym"
)

// MaxCode is how many bytes of one function are disassembled at most.
const MaxCode = 1 << 20

// Instruction is one of a function, or as many nops in a row as there are.
type Instruction struct {
	Off  uint64 // from the start of the function
	Text string // GNU's syntax; addresses have their symbols
	// Key is Text without what only linking decides: equal Keys are the same
	// instruction. Targets within the function are "·", since they move with every
	// instruction between.
	Key string
}

// A File is an ELF file with code.
type File struct {
	symbols *elfsym.File
	elf     *elf.File
	file    *io.SectionReader
	data    []symbol          // of data, by address
	relocs  map[uint64]target // of a file that is not linked, by the offset of the field
	decode  func(f *File, fn *function) []Instruction
	size    int64
}

type symbol struct {
	start, end uint64
	name       string
}

// target is what a relocation refers to.
type target struct {
	name   string
	addend int64
	whole  bool // a section: what is at the addend is the linker's choice
}

// key is what it is called for comparing: labels of the compiler's own, such as .LC3 of a
// constant, are numbered.
func (t *target) key() string {
	if strings.HasPrefix(t.name, ".L") {
		return "·"
	}
	return t.name
}

// ErrMachine reports code of an architecture that is not decoded.
var ErrMachine = errors.New("its instructions are not decoded: only those of x86-64, i386 and arm64 are")

// Open opens the ELF file at path: a program, a library, a kernel (vmlinux) or a kernel
// module, which may be compressed. Close closes it.
func Open(path string) (*File, error) {
	symbols, err := elfsym.OpenCode(path, elfsym.Options{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f, err := New(symbols)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// New takes over symbols, an open file, with code and with the symbols of it: Close closes it,
// and so does New if it fails. A kernel module is to be opened as one.
func New(symbols *elfsym.File) (*File, error) {
	f := &File{symbols: symbols}
	if err := f.open(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) open() (err error) {
	if f.file, err = f.symbols.Contents(); err != nil {
		return err
	}
	f.size = f.file.Size()
	if f.elf, err = elf.NewFile(f.file); err != nil { // elfsym has checked the headers, which debug/elf trusts
		return err
	}
	switch f.elf.Machine {
	case elf.EM_X86_64, elf.EM_386:
		f.decode = decodeX86
	case elf.EM_AARCH64:
		f.decode = decodeARM64
	default:
		return ErrMachine
	}
	if err := f.symbols.Load(); err != nil && !errors.Is(err, elfsym.ErrStripped) {
		return err
	}
	f.readData()
	return nil
}

// Close closes the file.
func (f *File) Close() error { return f.symbols.Close() }

// Functions yields the functions that the file has code of, by address.
func (f *File) Functions() iter.Seq[elfsym.Symbol] {
	return func(yield func(elfsym.Symbol) bool) {
		for s := range f.symbols.Functions() {
			if !s.PLT && s.End > s.Start && f.isCode(s.Start) && !yield(s) {
				return
			}
		}
	}
}

// At returns the function, or the stub, that has the instruction at an address of the file.
func (f *File) At(vaddr uint64) (elfsym.Symbol, bool) {
	s, ok := f.symbols.Lookup(vaddr)
	if !ok {
		s, ok = f.symbols.GoFunction(vaddr)
	}
	return s, ok && f.isCode(s.Start)
}

// isCode tells whether the file has instructions at an address.
func (f *File) isCode(vaddr uint64) bool {
	off, ok := f.symbols.Offset(vaddr)
	if !ok {
		return false
	}
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Type != elf.SHT_NOBITS && off >= s.Offset && off-s.Offset < s.Size {
			return true
		}
	}
	return false
}

// function is the code of one.
type function struct {
	elfsym.Symbol
	code []byte
	off  uint64 // in the file
}

// Function disassembles a function of the file. Code that the file does not have, such as
// that of a file with debug information alone, is an error.
func (f *File) Function(s elfsym.Symbol) ([]Instruction, error) {
	off, ok := f.symbols.Offset(s.Start)
	if !ok || off >= uint64(f.size) {
		return nil, fmt.Errorf("%s: the file has no code of it", s.Name)
	}
	n := min(s.End-s.Start, MaxCode, uint64(f.size)-off)
	fn := function{Symbol: s, code: make([]byte, n), off: off}
	if _, err := f.file.ReadAt(fn.code, int64(off)); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return mergeNops(f.decode(f, &fn)), nil
}

// mergeNops makes one of nops in a row: they pad, or are room for what a kernel patches
// in (alternatives, ftrace), as long as the assembler likes.
func mergeNops(list []Instruction) []Instruction {
	return slices.CompactFunc(list, func(a, b Instruction) bool { return a.Key == "nop" && b.Key == "nop" })
}

// readData reads the symbols of data and, of a file that is not linked, relocations.
// What cannot be read leaves addresses without names.
func (f *File) readData() {
	for _, s := range f.elf.Sections {
		// Only debug sections have a reason to be compressed: others may be bombs.
		if s.Type != elf.SHT_NOBITS && s.Flags&elf.SHF_COMPRESSED != 0 && !strings.HasPrefix(s.Name, ".debug") || s.Type == elf.SHT_SYMTAB && s.FileSize > uint64(f.size) {
			return
		}
	}
	all, err := f.elf.Symbols()
	if err != nil {
		return
	}
	if f.elf.Type == elf.ET_REL {
		f.readRelocs(all)
		return
	}
	for _, s := range all {
		if elf.ST_TYPE(s.Info) == elf.STT_OBJECT && s.Size > 0 && s.Value+s.Size > s.Value {
			f.data = append(f.data, symbol{s.Value, s.Value + s.Size, withoutNumber(s.Name)})
		}
	}
	slices.SortFunc(f.data, func(a, b symbol) int {
		return cmp.Or(cmp.Compare(a.start, b.start), strings.Compare(a.name, b.name))
	})
}

// withoutNumber removes what compilers append to names of static variables.
func withoutNumber(name string) string {
	if stem, n, ok := strings.Cut(name, "."); ok && stem != "" && n != "" && strings.Trim(n, "0123456789") == "" {
		return stem
	}
	return name
}

// readRelocs reads the relocations (Elf64_Rela) of code.
func (f *File) readRelocs(symbols []elf.Symbol) {
	f.relocs = make(map[uint64]target)
	const size = 24
	for _, s := range f.elf.Sections {
		if s.Type != elf.SHT_RELA || int(s.Info) >= len(f.elf.Sections) || f.elf.Class != elf.ELFCLASS64 || s.FileSize > uint64(f.size) {
			continue
		}
		of := f.elf.Sections[s.Info]
		if of.Flags&elf.SHF_EXECINSTR == 0 {
			continue
		}
		data, err := s.Data()
		if err != nil {
			continue
		}
		for ; len(data) >= size; data = data[size:] {
			off, info := f.elf.ByteOrder.Uint64(data), f.elf.ByteOrder.Uint64(data[8:])
			i := info >> 32 // debug/elf leaves out symbol 0
			if i == 0 || i > uint64(len(symbols)) || off >= of.Size {
				continue
			}
			sym := &symbols[i-1]
			t := target{name: withoutNumber(sym.Name), addend: int64(f.elf.ByteOrder.Uint64(data[16:]))}
			if elf.ST_TYPE(sym.Info) == elf.STT_SECTION && int(sym.Section) < len(f.elf.Sections) {
				t.name, t.whole = f.elf.Sections[sym.Section].Name, true
			}
			f.relocs[of.Offset+off] = t
		}
	}
}

// relocation returns what the instruction at an offset of the file refers to.
func (f *File) relocation(off uint64, length int) (target, bool) {
	for i := range uint64(length) {
		if t, ok := f.relocs[off+i]; ok {
			return t, true
		}
	}
	return target{}, false
}

// name names an address: text for a reader, and key as the compiler knows it. ok is
// false outside of the file.
func (f *File) name(fn *function, addr uint64) (text, key string, ok bool) {
	if addr >= fn.Start && addr < fn.End {
		return fmt.Sprintf("%+#x", addr-fn.Start), "·", true
	}
	if s, ok := f.symbols.Lookup(addr); ok && f.isCode(addr) {
		text, key = s.Name, s.Name
		if n := addr - s.Start; n > 0 {
			text = fmt.Sprintf("%s%+#x", text, n)
		}
		return text, key, true
	}
	i, found := slices.BinarySearchFunc(f.data, addr, func(s symbol, addr uint64) int { return cmp.Compare(s.start, addr) })
	if !found {
		i--
	}
	if i >= 0 && addr < f.data[i].end {
		text = f.data[i].name
		if n := addr - f.data[i].start; n > 0 {
			text = fmt.Sprintf("%s%+#x", text, n)
		}
		return text, text, true
	}
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Memsz {
			return fmt.Sprintf("%#x", addr), "·", true
		}
	}
	return "", "", false
}

// leastAddress is below all addresses that code has as they are: smaller numbers are
// taken for what they are.
const leastAddress = 1 << 16

// fixed tells whether code of the file may have addresses as they are in it.
func (f *File) fixed() bool { return f.elf.Type == elf.ET_EXEC }
