package elfsym

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A KernelSymbol is a symbol of a vmlinux, as nm prints it.
type KernelSymbol struct {
	Addr uint64 // vaddr
	Type byte   // T, t or W for code, D, d, B or b for data, R, r, A or a for the rest
	Name string
}

// KernelSymbols returns the symbols of a vmlinux as the kernel itself would list
// them in /proc/kallsyms, aliases of one address in the same order, at the
// addresses the file was linked for.
func (f *File) KernelSymbols() ([]KernelSymbol, error) {
	sec := f.elf.SectionByType(elf.SHT_SYMTAB)
	if sec == nil {
		return nil, ErrStripped
	}
	data, err := sectionData(sec, maxTable)
	if err != nil {
		return nil, err
	}
	if uint64(sec.Link) >= uint64(len(f.elf.Sections)) {
		return nil, fmt.Errorf("section %s: no string table %d", sec.Name, sec.Link)
	}
	names, err := sectionData(f.elf.Sections[sec.Link], maxTable)
	if err != nil {
		return nil, err
	}
	strtab := string(names)

	var syms []KernelSymbol
	r := symbolReader{file: f.elf, data: data}
	for {
		raw, ok := r.next()
		if !ok {
			break
		}
		name := cstring(strtab, raw.name)
		if typ := f.kernelSymbolType(raw); typ != 0 && name != "" && !hiddenFromKallsyms(name) {
			syms = append(syms, KernelSymbol{raw.value, typ, name})
		}
	}
	if len(syms) == 0 {
		return nil, errors.New("no symbols")
	}
	sortKernelSymbols(syms)
	return syms, nil
}

// kernelSymbolType returns nm's letter for a symbol, 0 for those that kallsyms
// leaves out.
func (f *File) kernelSymbolType(raw rawSymbol) byte {
	switch elf.ST_TYPE(raw.info) {
	case elf.STT_FILE, elf.STT_SECTION:
		return 0
	}
	index := elf.SectionIndex(raw.section)
	var typ byte
	switch {
	case index == elf.SHN_UNDEF || index == elf.SHN_COMMON:
		return 0
	case index == elf.SHN_ABS || int(index) >= len(f.elf.Sections):
		typ = 'A'
	case f.elf.Sections[index].Flags&elf.SHF_ALLOC == 0:
		return 0
	case f.elf.Sections[index].Flags&elf.SHF_EXECINSTR != 0:
		typ = 'T'
	case f.elf.Sections[index].Type == elf.SHT_NOBITS:
		typ = 'B'
	case f.elf.Sections[index].Flags&elf.SHF_WRITE != 0:
		typ = 'D'
	default:
		typ = 'R'
	}
	switch elf.ST_BIND(raw.info) {
	case elf.STB_LOCAL:
		typ += 'a' - 'A'
	case elf.STB_WEAK:
		if typ == 'T' {
			typ = 'W'
		}
	}
	return typ
}

// hiddenFromKallsyms reports whether scripts/mksysmap or scripts/kallsyms.c of
// the kernel leave a symbol out.
func hiddenFromKallsyms(name string) bool {
	for _, prefix := range []string{
		"$", ".L", "L0", "__crc_",
		"__efistub_", "__kvm_nvhe_$", "__kvm_nvhe_.L", "__kcfi_typeid_", "__AArch64ADRPThunk_",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// sortKernelSymbols sorts as kallsyms does: by address, then weak ones last,
// then what a linker script provides, then by underscores in front; and all else
// by name, as nm -n gives it.
func sortKernelSymbols(syms []KernelSymbol) {
	slices.SortStableFunc(syms, func(a, b KernelSymbol) int {
		if a.Addr != b.Addr {
			return cmp.Compare(a.Addr, b.Addr)
		}
		if c := boolCompare(a.Type == 'W', b.Type == 'W'); c != 0 {
			return c
		}
		if c := boolCompare(fromLinkerScript(a.Name), fromLinkerScript(b.Name)); c != 0 {
			return c
		}
		if c := underscores(a.Name) - underscores(b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// fromLinkerScript reports whether kallsyms takes a name for one that the
// kernel's linker script defines: the start or end of a section.
func fromLinkerScript(name string) bool {
	rest, ok := strings.CutPrefix(name, "__")
	return ok && len(name) >= 8 && (strings.HasPrefix(rest, "start_") || strings.HasPrefix(rest, "stop_") ||
		strings.HasPrefix(rest, "end_") || strings.HasSuffix(rest, "_start") || strings.HasSuffix(rest, "_end"))
}
