package elfsym

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
)

// unpackedLimit bounds how much larger than its compressed form of size bytes a file
// or a section may be: a few bytes can describe zeros that fill all memory. Debug
// sections reach 1:20, small ones that hold little but zeros more.
func unpackedLimit(size, limit int64) int64 { return min(max(64*size, 1<<20), limit) }

// inflate reads all of a compressed section through r.
func inflate(r io.Reader, sec *elf.Section) ([]byte, error) {
	limit := uint64(unpackedLimit(int64(min(sec.FileSize, maxTable)), maxTable))
	var b bytes.Buffer
	b.Grow(int(min(sec.Size, limit, sec.FileSize*4)))
	n, err := io.Copy(&b, io.LimitReader(r, int64(limit)+1))
	if err == nil && uint64(n) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	if err != nil {
		return nil, fmt.Errorf("decompress section %s: %w", sec.Name, err)
	}
	return b.Bytes(), nil
}

// inflateOld reads a section of the old kind, .zdebug_info: "ZLIB", its size in
// 8 bytes, a zlib stream. Small ones may not be compressed.
func inflateOld(sec *elf.Section) ([]byte, error) {
	r := sec.Open()
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:4]) != "ZLIB" {
		return sectionData(sec, maxTable)
	}
	z, err := zlib.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("decompress section %s: %w", sec.Name, err)
	}
	data, err := inflate(z, sec)
	if err == nil && uint64(len(data)) != binary.BigEndian.Uint64(head[4:]) {
		err = fmt.Errorf("decompress section %s: %w", sec.Name, io.ErrUnexpectedEOF)
	}
	return data, err
}
