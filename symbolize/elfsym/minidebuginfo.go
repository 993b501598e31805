package elfsym

import (
	"bytes"
	"debug/elf"
	"fmt"
)

// miniDebugInfo returns the ELF file in section .gnu_debugdata: an xz stream
// with a symbol table of the functions that .dynsym lacks, which Fedora's
// stripped programs carry (gdb's manual, "MiniDebugInfo"). nil if there is none.
func (f *File) miniDebugInfo() (*elf.File, error) {
	sec := f.elf.Section(".gnu_debugdata")
	if sec == nil {
		return nil, nil
	}
	packed, err := sectionData(sec, maxTable)
	if err != nil {
		return nil, err
	}
	limit := unpackedLimit(int64(len(packed)), maxUnpacked)
	data, err := unpack(bytes.NewReader(packed), "xz", limit)
	if err != nil {
		return nil, fmt.Errorf("decompress section %s: %w", sec.Name, err)
	}
	r := bytes.NewReader(data)
	if err := checkHeader(r); err != nil {
		return nil, fmt.Errorf("section %s: %w", sec.Name, err)
	}
	mini, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", sec.Name, err)
	}
	if mini.SectionByType(elf.SHT_SYMTAB) == nil {
		return nil, nil
	}
	return mini, nil
}
