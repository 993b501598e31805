package elfsym

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"

	"kprof/perfevent/fuzztest"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
	"kprof/perfevent/procfs"
)

// bzImage makes a boot image of x86 around a payload.
func bzImage(payload []byte) []byte {
	const setup = 3
	image := make([]byte, (setup+1)*512+16)
	image[0x1f1] = setup
	copy(image[0x202:], "HdrS")
	binary.LittleEndian.PutUint32(image[0x248:], 16)
	binary.LittleEndian.PutUint32(image[0x24c:], uint32(len(payload)))
	return append(append(image, payload...), "what follows"...)
}

// zboot makes an EFI boot image around a payload.
func zboot(payload []byte) []byte {
	image := make([]byte, 4096)
	copy(image, "MZ\x00\x00zimg")
	binary.LittleEndian.PutUint32(image[8:], 4096)
	binary.LittleEndian.PutUint32(image[12:], uint32(len(payload)))
	return append(image, payload...)
}

// flatImage makes a kernel of arm64: a vdso in its middle, and its notes.
func flatImage(vdso, id []byte) []byte {
	image := make([]byte, 8192)
	copy(image[56:], "ARM\x64")
	image = append(image, vdso...)
	for len(image)%4096 != 0 {
		image = append(image, 0)
	}
	note := func(typ uint32, name string, desc []byte) {
		image = binary.LittleEndian.AppendUint32(image, uint32(len(name)))
		image = binary.LittleEndian.AppendUint32(image, uint32(len(desc)))
		image = binary.LittleEndian.AppendUint32(image, typ)
		image = append(append(image, name...), desc...)
	}
	if id != nil {
		note(3, "GNU\x00", id)
	}
	note(0x101, "Linux\x00\x00\x00", []byte{0, 0, 0, 0})
	return append(image, make([]byte, 100)...)
}

// packLZ4 is "lz4 -l", which few machines have. (TestRealBootImages sees what that
// makes.)
func packLZ4(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	if err := w.Apply(lz4.LegacyOption(true)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadBootImage(t *testing.T) {
	livetest.RequirePrograms(t, "gcc", "xz", "zstd", "gzip")
	prog := build(t)
	f := open(t, prog, Options{})
	vmlinux, err := os.ReadFile(prog)
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Repeat([]byte{0x5a}, 20)
	flat := flatImage(vmlinux, other)
	dir := t.TempDir()
	pack := func(data []byte, command ...string) []byte {
		path := filepath.Join(dir, "plain")
		livetest.WriteFile(t, path, data)
		var out []byte
		if command[0] == "lz4" {
			out = packLZ4(t, data)
		} else {
			out = []byte(livetest.Run(t, command[0], append(command[1:], path)...))
		}
		if command[0] != "gzip" {
			// As scripts/Makefile.lib does with size_append.
			out = binary.LittleEndian.AppendUint32(out, uint32(len(data)))
		}
		return out
	}
	gzip := []string{"gzip", "-c"}
	xz := []string{"xz", "-c", "--check=crc32", "--x86", "--lzma2=dict=32MiB"}
	zstd := []string{"zstd", "-qc", "-22", "--ultra"}
	for _, tt := range []struct {
		name   string
		image  []byte
		format string
		id     []byte
		err    string
	}{
		{"gzip", bzImage(pack(vmlinux, gzip...)), "bzImage", f.BuildID(), ""},
		{"xz", bzImage(pack(vmlinux, xz...)), "bzImage", f.BuildID(), ""},
		{"zstd", bzImage(pack(vmlinux, zstd...)), "bzImage", f.BuildID(), ""},
		{"lz4", bzImage(pack(vmlinux, "lz4")), "bzImage", f.BuildID(), ""},
		{"Image", flat, "Image", other, ""},
		{"Image.gz", pack(flat, gzip...), "Image", other, ""},
		{"zboot", zboot(pack(flat, zstd...)), "EFI zboot", other, ""},
		{"no build id of its own", flatImage(vmlinux, nil), "Image", nil, ""},
		{"two of them", append(flat, flat[8192:]...), "Image", nil, ""},
		{"unknown compression", bzImage([]byte("BZh9 is not known")), "", nil, "unknown compression"},
		{"cut off", bzImage(pack(vmlinux, gzip...))[:5000], "", nil, "unexpected EOF"},
		{"damaged", bzImage(pack(vmlinux, zstd...)[:3000]), "", nil, "decompress payload (zstd)"},
		{"no kernel", bzImage(pack([]byte("text"), gzip...)), "", nil, "ELF"},
		{"an ELF file", vmlinux, "", nil, errNotBootImage.Error()},
		{"empty", nil, "", nil, errNotBootImage.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readBootImage(bytes.NewReader(tt.image), int64(len(tt.image)))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%v, %v; want an error with %q", got, err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Format != tt.format || !bytes.Equal(got.BuildID, tt.id) {
				t.Errorf("%s %x, want %s %x", got.Format, got.BuildID, tt.format, tt.id)
			}
		})
	}
}

// TestRealBootImages reads the kernels in /boot, and what KPROF_BOOT_IMAGES names,
// a pattern. It knows nothing of them but that all kernels have a build id.
func TestRealBootImages(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"/boot/vmlinuz*", os.Getenv("KPROF_BOOT_IMAGES")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		t.Skip("no kernels in /boot, and none named by KPROF_BOOT_IMAGES")
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if errors.Is(err, os.ErrPermission) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		img, err := ReadBootImage(f)
		if err != nil || len(img.BuildID) != 20 {
			t.Errorf("%s: %+v, %v", path, img, err)
			continue
		}
		t.Logf("%s: %s, build id %x", path, img.Format, img.BuildID)
	}
}

func FuzzReadBootImage(f *testing.F) {
	fuzztest.Add(f)
	f.Add(bzImage([]byte("\x02\x21\x4c\x18\x04\x00\x00\x00\x30xxxsize")))
	f.Add(zboot([]byte("\x1f\x8b\x08\x00")))
	f.Add(flatImage([]byte("\x7fELF\x02\x01\x01"), bytes.Repeat([]byte{7}, 20)))
	f.Fuzz(func(t *testing.T, data []byte) {
		defer memtest.Within(t, 256<<20+200*len(data))()
		img, err := readBootImage(bytes.NewReader(data), int64(len(data)))
		if err == nil && len(img.BuildID) > procfs.MaxBuildID {
			t.Errorf("build id of %d bytes", len(img.BuildID))
		}
	})
}
