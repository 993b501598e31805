package elfsym

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
)

const (
	noteGNUBuildID = 3 // NT_GNU_BUILD_ID
	maxBuildID     = 64
)

// buildID returns the GNU build id of f: from its note segments, which survive
// stripping, or else its note sections (relocatable objects have no segments).
func buildID(f *elf.File) []byte {
	for _, p := range f.Progs {
		if p.Type == elf.PT_NOTE {
			if id := readBuildID(p.ReaderAt, p.Filesz, p.Align, f.ByteOrder); id != nil {
				return id
			}
		}
	}
	for _, s := range f.Sections {
		if s.Type == elf.SHT_NOTE && s.Flags&elf.SHF_COMPRESSED == 0 {
			if id := readBuildID(s.ReaderAt, s.FileSize, s.Addralign, f.ByteOrder); id != nil {
				return id
			}
		}
	}
	return nil
}

func readBuildID(r io.ReaderAt, size, align uint64, order binary.ByteOrder) []byte {
	if r == nil || size > maxNotes {
		return nil
	}
	notes, err := io.ReadAll(io.NewSectionReader(r, 0, int64(size)))
	if err != nil {
		return nil
	}
	return BuildIDFromNotes(notes, align, order)
}

// BuildIDFromNotes returns the GNU build id among ELF notes, as they stand in
// an ELF file or in /sys/kernel/notes; nil if there is none. align is that of
// the notes: descriptors are padded to 8 where it is 8, else to 4.
func BuildIDFromNotes(notes []byte, align uint64, order binary.ByteOrder) []byte {
	if align != 8 {
		align = 4
	}
	// Elf32_Nhdr and Elf64_Nhdr alike: name size, descriptor size, type.
	for off := uint64(0); off+12 <= uint64(len(notes)); {
		b := notes[off:]
		nameSize := uint64(order.Uint32(b))
		descSize := uint64(order.Uint32(b[4:]))
		typ := order.Uint32(b[8:])
		desc := pad(12+nameSize, align)
		if desc+descSize > uint64(len(b)) {
			return nil
		}
		if typ == noteGNUBuildID && bytes.Equal(b[12:12+nameSize], []byte("GNU\x00")) &&
			0 < descSize && descSize <= maxBuildID {
			return bytes.Clone(b[desc : desc+descSize])
		}
		off += pad(desc+descSize, align)
	}
	return nil
}

func pad(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }
