package elfsym

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// A BootImage is a kernel as it is booted: vmlinuz, bzImage, Image. It has no
// symbols, but it tells which kernel it is.
type BootImage struct {
	Format  string // "bzImage", "Image" (arm64), "EFI zboot"
	BuildID []byte // nil if it has none
}

// errNotBootImage: a file is no kernel of a known format.
var errNotBootImage = errors.New("unknown format")

// ReadBootImage reads what a boot image tells. It unpacks all of it.
func ReadBootImage(f *os.File) (*BootImage, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return readBootImage(f, info.Size())
}

// Where the formats have what:
//
//	bzImage  (Documentation/arch/x86/boot.rst) 0x1f1 u8 setup_sects, 0x202 "HdrS",
//	         0x248 u32 payload_offset, counted from the end of the setup code, 0x24c u32 payload_length
//	Image    (Documentation/arch/arm64/booting.rst) 0x38 "ARM\x64"
//	zboot    (drivers/firmware/efi/libstub/zboot-header.S) 0 "MZ", 4 "zimg", 8 u32 offset, 12 u32 size
//
// All integers are little-endian. An Image may itself be compressed.
func readBootImage(r io.ReaderAt, size int64) (*BootImage, error) {
	var head [0x250]byte
	n, _ := r.ReadAt(head[:], 0) // what is too short is nothing we know
	le := binary.LittleEndian
	part := func(off, length int64) (io.Reader, int64, error) {
		if off < 0 || length <= 0 || off > size || length > size-off {
			return nil, 0, fmt.Errorf("payload of %d bytes at byte %d: %w", length, off, io.ErrUnexpectedEOF)
		}
		return io.NewSectionReader(r, off, length), length, nil
	}
	switch {
	case n == len(head) && string(head[0x202:0x206]) == "HdrS":
		setup := int64(head[0x1f1])
		if setup == 0 {
			setup = 4
		}
		payload, length, err := part((setup+1)*512+int64(le.Uint32(head[0x248:])), int64(le.Uint32(head[0x24c:])))
		if err != nil {
			return nil, err
		}
		data, err := unpackKernel(payload, length)
		if err != nil {
			return nil, err
		}
		img := bytes.NewReader(data)
		if err := checkHeader(img); err != nil {
			return nil, fmt.Errorf("payload: %w", err)
		}
		e, err := elf.NewFile(img)
		if err != nil {
			return nil, fmt.Errorf("payload: %w", err)
		}
		return &BootImage{"bzImage", buildID(e)}, nil
	case n == len(head) && string(head[:2]) == "MZ" && string(head[4:8]) == "zimg":
		payload, length, err := part(int64(le.Uint32(head[8:])), int64(le.Uint32(head[12:])))
		if err != nil {
			return nil, err
		}
		data, err := unpackKernel(payload, length)
		if err != nil {
			return nil, err
		}
		return &BootImage{"EFI zboot", flatBuildID(data)}, nil
	case compression(head[:n]) != "":
		data, err := unpackKernel(io.NewSectionReader(r, 0, size), size)
		if err != nil {
			return nil, err
		}
		if !isARM64Image(data) {
			return nil, errNotBootImage
		}
		return &BootImage{"Image", flatBuildID(data)}, nil
	case isARM64Image(head[:n]):
		if size > maxUnpacked {
			return nil, fmt.Errorf("image of %d bytes, more than %d", size, maxUnpacked)
		}
		data := make([]byte, size)
		if _, err := r.ReadAt(data, 0); err != nil && err != io.EOF {
			return nil, err
		}
		return &BootImage{"Image", flatBuildID(data)}, nil
	}
	return nil, errNotBootImage
}

func isARM64Image(b []byte) bool { return len(b) >= 64 && string(b[56:60]) == "ARM\x64" }

// unpackKernel unpacks a payload. The kernel's build appends to all but gzip how
// long the contents are, 4 bytes that are no part of the compressed stream.
func unpackKernel(r io.Reader, length int64) ([]byte, error) {
	packed := make([]byte, length)
	if _, err := io.ReadFull(r, packed); err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	kind := compression(packed)
	if kind == "" {
		return nil, errors.New("payload: unknown compression")
	}
	if kind != "gzip" && length > 4 {
		packed = packed[:length-4]
	}
	data, err := unpack(bytes.NewReader(packed), kind, unpackedLimit(length, maxUnpacked))
	if err != nil {
		return nil, fmt.Errorf("decompress payload (%s): %w", kind, err)
	}
	return data, nil
}

// flatBuildID returns the build id of a kernel without ELF headers: the note,
// recognized by its head, that is not of one of the ELF files (vdso) that the
// kernel carries. nil if there is not exactly one.
func flatBuildID(image []byte) []byte {
	// Elf_Nhdr: name size, descriptor size (a SHA-1), type; name.
	head := []byte("\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00")
	var found []byte
	for at := 0; ; {
		i := bytes.Index(image[at:], head)
		if i < 0 {
			return found
		}
		at += i + len(head)
		if len(image)-at < 20 {
			return found
		}
		if at%4 != 0 || insideELF(image, at) {
			continue
		}
		if found != nil {
			return nil
		}
		found = bytes.Clone(image[at : at+20])
	}
}

// maxEmbedded is how far from its start the build id of an ELF file that the
// kernel carries may be. A vdso has it in its first page.
const maxEmbedded = 1 << 14

// insideELF reports whether the byte at offset at belongs to an ELF file that
// starts before it: these end with their section headers.
func insideELF(image []byte, at int) bool {
	from := max(0, at-maxEmbedded)
	for end := at; ; {
		i := bytes.LastIndex(image[from:end], []byte(elf.ELFMAG))
		if i < 0 {
			return false
		}
		start := from + i
		if b := image[start:]; len(b) >= 64 {
			le := binary.LittleEndian
			shoff, shnum, shsize := le.Uint64(b[40:]), uint64(le.Uint16(b[60:])), uint64(64)
			if elf.Class(b[elf.EI_CLASS]) == elf.ELFCLASS32 {
				shoff, shnum, shsize = uint64(le.Uint32(b[32:])), uint64(le.Uint16(b[48:])), 40
			}
			if size := shoff + shnum*shsize; size < uint64(len(b)) && uint64(at-start) < size {
				return true
			}
		}
		end = start
	}
}
