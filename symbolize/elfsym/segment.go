package elfsym

import "debug/elf"

// segment is a run of bytes of the file and where its headers place it.
type segment struct {
	off, vaddr uint64
	size       uint64 // bytes in the file
	memSize    uint64 // addresses taken, at least size
	exec       bool
}

// segments returns what the file loads: its PT_LOAD segments or, in files
// without program headers (those perf inject --jit writes, relocatable
// objects), its allocated sections.
func segments(f *elf.File) []segment {
	var out []segment
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			out = append(out, segment{p.Off, p.Vaddr, p.Filesz, max(p.Filesz, p.Memsz), p.Flags&elf.PF_X != 0})
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Type != elf.SHT_NOBITS {
			out = append(out, segment{s.Offset, s.Addr, s.FileSize, s.Size, s.Flags&elf.SHF_EXECINSTR != 0})
		}
	}
	return out
}

// Vaddr returns the address of the byte at offset off, as the file's headers
// count them. Where segments share bytes, an executable one counts.
func (f *File) Vaddr(off uint64) (vaddr uint64, ok bool) {
	for _, s := range f.segments {
		if off-s.off < s.size && off >= s.off && (!ok || s.exec) {
			vaddr, ok = off-s.off+s.vaddr, true
			if s.exec {
				break
			}
		}
	}
	return vaddr, ok
}

// Offset returns the offset in the file of the byte at vaddr, if the file has
// it.
func (f *File) Offset(vaddr uint64) (off uint64, ok bool) {
	for _, s := range f.segments {
		if vaddr >= s.vaddr && vaddr-s.vaddr < s.size {
			return vaddr - s.vaddr + s.off, true
		}
	}
	return 0, false
}
