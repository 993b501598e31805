package elfsym

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/therootcompany/xz"

	"kprof/symbolize/regular"
)

// maxUnpacked bounds a file that is unpacked in memory; the largest modules with
// debug information have some 100 MB.
const maxUnpacked = 1 << 30

// OpenCompressed is Open for files that may be compressed, as kernel modules are.
func OpenCompressed(path string, opts Options) (*File, error) {
	f, _, err := regular.Open("", path)
	if err != nil {
		return nil, err
	}
	return FromCompressed(f, path, opts)
}

// OpenCode is OpenCompressed for any file with code: a kernel module is opened as one.
func OpenCode(path string, opts Options) (*File, error) {
	f, err := OpenCompressed(path, opts)
	if err != nil || opts.Module || !f.Relocatable() {
		return f, err
	}
	f.Close() // only read
	opts.Module = true
	return OpenCompressed(path, opts)
}

// FromCompressed is FromFile for files that may be compressed with gzip, xz or
// zstd, as their first bytes tell. These are unpacked in memory, and f closed.
func FromCompressed(f *os.File, path string, opts Options) (*File, error) {
	var magic [6]byte
	n, _ := f.ReadAt(magic[:], 0) // what is too short is no ELF file either
	kind := compression(magic[:n])
	if kind == "" {
		return FromFile(f, path, opts)
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data, err := unpack(io.NewSectionReader(f, 0, info.Size()), kind, unpackedLimit(info.Size(), maxUnpacked))
	if err != nil {
		return nil, fmt.Errorf("decompress %s: %w", path, err)
	}
	file, err := New(bytes.NewReader(data), opts)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	file.path = path
	return file, nil
}

// compression returns "gzip", "xz", "zstd", "lz4", or "" by the first bytes of a
// file. lz4 is what kernels are packed with, its legacy format.
func compression(magic []byte) string {
	switch {
	case bytes.HasPrefix(magic, []byte("\x1f\x8b")):
		return "gzip"
	case bytes.HasPrefix(magic, []byte("\xfd7zXZ\x00")):
		return "xz"
	case bytes.HasPrefix(magic, []byte("\x28\xb5\x2f\xfd")):
		return "zstd"
	case bytes.HasPrefix(magic, []byte("\x02\x21\x4c\x18")):
		return "lz4"
	}
	return ""
}

// maxWindow bounds what decompressors remember; xz -9 uses 64 MB.
const maxWindow = 128 << 20

// unpack decompresses all of r, at most limit bytes.
func unpack(r io.Reader, kind string, limit int64) ([]byte, error) {
	var in io.Reader
	switch kind {
	case "gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		in = z
	case "xz":
		z, err := xz.NewReader(r, maxWindow)
		if err != nil {
			return nil, err
		}
		z.Multistream(false)
		in = z
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		in = z
	case "lz4":
		in = lz4.NewReader(r)
	}
	if in == nil {
		return nil, errors.New("unknown compression")
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	return data, err
}
