package elfsym

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits on what a file may make us allocate. The largest real files (browsers
// with all their debug symbols) stay below a half of each.
const (
	maxSections    = 1 << 20
	maxSectionName = 64 << 20 // the section name table
	maxTable       = 1 << 30  // a symbol or string table
	maxNotes       = 1 << 20  // a note segment or section
)

var errCompressed = errors.New("compressed")

// checkHeader looks at the sizes that debug/elf believes. That package stops at
// the end of the file, but a sparse file of a terabyte costs nothing to make.
func checkHeader(r io.ReaderAt) error {
	var b [64]byte
	if n, err := r.ReadAt(b[:], 0); n < 52 {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("ELF header: %w", err)
	}
	if string(b[:4]) != elf.ELFMAG {
		return ErrNotELF
	}
	var order binary.ByteOrder
	switch elf.Data(b[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		order = binary.BigEndian
	default:
		return fmt.Errorf("ELF header: unknown byte order %d", b[elf.EI_DATA])
	}

	// Elf32_Ehdr and Elf64_Ehdr, include/uapi/linux/elf.h.
	var shoff, shnum, shstrndx, shsize uint64
	is64 := elf.Class(b[elf.EI_CLASS]) == elf.ELFCLASS64
	if is64 {
		shoff = order.Uint64(b[40:])
		shnum, shstrndx, shsize = uint64(order.Uint16(b[60:])), uint64(order.Uint16(b[62:])), 64
	} else {
		shoff = uint64(order.Uint32(b[32:]))
		shnum, shstrndx, shsize = uint64(order.Uint16(b[48:])), uint64(order.Uint16(b[50:])), 40
	}
	if shoff == 0 {
		return nil
	}
	sectionSize := func(i uint64) (size, link uint64, err error) {
		off := shoff + i*shsize
		if int64(off) < 0 {
			return 0, 0, fmt.Errorf("ELF header: section %d at byte %#x", i, off)
		}
		if _, err := r.ReadAt(b[:shsize], int64(off)); err != nil {
			return 0, 0, fmt.Errorf("ELF section %d at byte %#x: %w", i, off, err)
		}
		if is64 {
			return order.Uint64(b[32:]), uint64(order.Uint32(b[40:])), nil
		}
		return uint64(order.Uint32(b[20:])), uint64(order.Uint32(b[24:])), nil
	}
	if shnum == 0 || shstrndx == uint64(elf.SHN_XINDEX) {
		// Too many for the header: the counts are in section 0.
		size, link, err := sectionSize(0)
		if err != nil {
			return err
		}
		if shnum == 0 {
			shnum = size
		}
		if shstrndx == uint64(elf.SHN_XINDEX) {
			shstrndx = link
		}
	}
	if shnum > maxSections {
		return fmt.Errorf("ELF header: %d sections, more than %d", shnum, maxSections)
	}
	if shstrndx >= shnum {
		return nil // debug/elf says what is wrong
	}
	size, _, err := sectionSize(shstrndx)
	if err != nil {
		return err
	}
	if size > maxSectionName {
		return fmt.Errorf("ELF section names: %d bytes, more than %d", size, maxSectionName)
	}
	return nil
}

// sectionData reads a section of at most limit bytes. A section cut off by the
// end of the file is an error.
func sectionData(s *elf.Section, limit uint64) ([]byte, error) {
	if s.Flags&elf.SHF_COMPRESSED != 0 {
		return nil, fmt.Errorf("section %s: %w", s.Name, errCompressed)
	}
	if s.FileSize > limit {
		return nil, fmt.Errorf("section %s: %d bytes, more than %d", s.Name, s.FileSize, limit)
	}
	data, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("section %s at byte %#x: %w", s.Name, s.Offset, err)
	}
	return data, nil
}
