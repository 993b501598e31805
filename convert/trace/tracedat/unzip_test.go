package tracedat

import (
	"bytes"
	"math/rand"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestUnzipLarge decompresses what is too large for 32 bits to hold the most that may come
// of it.
func TestUnzipLarge(t *testing.T) {
	want := make([]byte, 1<<20)
	rand.New(rand.NewSource(1)).Read(want)
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	f := &File{Compression: "zstd"}
	packed := w.EncodeAll(want, nil)
	got, err := f.unzip(nil, packed, len(want), maxChunk)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	f.unzs.close()
	for _, whole := range []int{-1, maxChunk + 1} {
		if _, err := f.unzip(nil, packed, whole, maxChunk); err == nil {
			t.Errorf("%d bytes: no error", whole)
		}
	}
	if _, err := f.unzip(nil, packed[:100], 101*maxRatio, maxChunk); err == nil {
		t.Error("100 bytes: no error")
	}
}
