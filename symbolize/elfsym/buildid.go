package elfsym

import (
	"debug/elf"
	"encoding/binary"
	"io"

	"kprof/perfevent/procfs"
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
	return procfs.BuildID(notes, align, order)
}
