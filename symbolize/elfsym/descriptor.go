package elfsym

import "debug/elf"

// opdName is the section with the descriptors of functions, in programs of PowerPC by the first
// version of its 64-bit ABI (big endian): symbols have the address of a function's descriptor,
// whose first word is where its code is.
const opdName = ".opd"

// openDescriptors reads the descriptors, if the file has any.
func (l *loader) openDescriptors() {
	sec := l.file.Section(opdName)
	if sec == nil || sec.Type == elf.SHT_NOBITS || l.file.Machine != elf.EM_PPC64 || l.file.Type == elf.ET_REL {
		return
	}
	l.opd, _ = sectionData(sec, maxTable) // without it, symbols are of no use, but do no harm
}

// described makes s, whose address is in section opd at addr, a symbol of the code.
func (l *loader) described(s *symbol, addr uint64, source *elf.File) bool {
	const word = 8
	size, at := s.end-s.start, s.start-addr
	if at > uint64(len(l.opd)) || uint64(len(l.opd))-at < word {
		return false
	}
	s.start = l.file.ByteOrder.Uint64(l.opd[at:])
	s.end = s.start + size
	for i, sec := range source.Sections {
		if sec.Flags&elf.SHF_EXECINSTR != 0 && s.start >= sec.Addr && s.start-sec.Addr < sec.Size {
			s.section = uint16(i)
			return s.end >= s.start
		}
	}
	return false
}
