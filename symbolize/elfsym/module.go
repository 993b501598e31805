package elfsym

import (
	"debug/elf"
	"strings"
)

// placeModule gives the sections of a kernel module the addresses, counted from
// where the module is loaded, at which the kernel puts them: code first, in the
// order of the file, then all other data; what is needed to start it apart. The
// file itself has all of them at 0.
//
// See layout_sections in kernel/module/main.c. The order of what is no code is
// of no importance here, but no two sections may overlap. Architectures that add
// stubs of their own (.plt on arm64) decide their size when they load, so that
// sections behind these lie elsewhere: /sys/module/NAME/sections knows, and the symbols of the kernel tell.
func placeModule(f *elf.File) {
	initial := uint64(1 << 40)
	if f.Class == elf.ELFCLASS32 {
		initial = 1 << 31
	}
	core, start := uint64(0), initial
	for _, exec := range []bool{true, false} {
		for _, s := range f.Sections {
			if s.Flags&elf.SHF_ALLOC == 0 || (s.Flags&elf.SHF_EXECINSTR != 0) != exec {
				continue
			}
			next, limit := &core, initial
			if strings.HasPrefix(s.Name, ".init") {
				next, limit = &start, 2*initial
			}
			if align := s.Addralign; align > 1 && align&(align-1) == 0 && align < initial {
				*next = min(pad(*next, align), limit)
			}
			s.Addr = *next
			*next += min(s.Size, limit-*next)
		}
	}
}

// ModuleText returns where section .text of a kernel module is, counted from
// where the module is loaded.
func (f *File) ModuleText() (vaddr uint64, ok bool) {
	s := f.elf.Section(".text")
	if s == nil {
		return 0, false
	}
	return s.Addr, true
}
