package procfs

import (
	"bytes"
	"encoding/binary"
	"io/fs"
)

const (
	noteGNUBuildID = 3 // NT_GNU_BUILD_ID (elf.h)

	// MaxBuildID is how long a build id may be. Linkers write 16 bytes (MD5), 20
	// (SHA-1), 32 (SHA-256), or what they are told; a record of perf.data has room
	// for 20 of them.
	MaxBuildID = 64
)

// BuildID returns the GNU build id among ELF notes, as they stand in an ELF file or
// in /sys/kernel/notes; nil if there is none, or a longer one than MaxBuildID. align
// is that of the notes: descriptors are padded to 8 where it is 8, else to 4.
func BuildID(notes []byte, align uint64, order binary.ByteOrder) []byte {
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
			0 < descSize && descSize <= MaxBuildID {
			return bytes.Clone(b[desc : desc+descSize])
		}
		off += pad(desc+descSize, align)
	}
	return nil
}

func pad(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }

// KernelNotes is the file of sysfs with the notes of the kernel.
const KernelNotes = "kernel/notes"

// ModuleNotes returns the file of sysfs with the build id of a module that is loaded.
func ModuleNotes(module string) string {
	return "module/" + module + "/notes/.note.gnu.build-id"
}

// ReadBuildID returns the build id in a file of sysfs, KernelNotes or that of a
// module. It is nil where there is none, or no such file.
func ReadBuildID(sysfs fs.FS, name string) []byte {
	notes, err := readFile(sysfs, name)
	if err != nil {
		return nil
	}
	return BuildID(notes, 4, binary.NativeEndian)
}
