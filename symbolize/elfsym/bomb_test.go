package elfsym

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

// TestFromCompressedBombs opens small files that are zeros without end.
func TestFromCompressedBombs(t *testing.T) {
	zeros := make([]byte, 256<<20)
	for kind, pack := range map[string]func(t *testing.T) []byte{
		"gzip": func(t *testing.T) []byte {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			z.Write(zeros)
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		},
		"zstd": func(t *testing.T) []byte {
			z, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			return z.EncodeAll(zeros, nil)
		},
		"xz": func(t *testing.T) []byte {
			livetest.RequirePrograms(t, "xz")
			cmd := exec.Command("xz", "-0c")
			cmd.Stdin = bytes.NewReader(zeros)
			b, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
	} {
		t.Run(kind, func(t *testing.T) {
			packed := pack(t)
			if len(packed) > 1<<20 {
				t.Errorf("%d bytes, a bomb is small", len(packed))
			}
			name := filepath.Join(t.TempDir(), "module.ko")
			livetest.WriteFile(t, name, packed)
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer memtest.Within(t, 256<<20)()
			if _, err := FromCompressed(f, name, Options{}); err == nil || !strings.Contains(err.Error(), "more than") {
				t.Errorf("error %v", err)
			}
		})
	}
}
