package packed

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestReader reads compressed data that is whole, cut off, and damaged.
func TestReader(t *testing.T) {
	var whole bytes.Buffer
	w := gzip.NewWriter(&whole)
	if _, err := w.Write([]byte("a;b 1\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole.Bytes())
	damaged[len(damaged)-8]++ // of the checksum
	for _, tt := range []struct {
		name string
		data []byte
		want error
		text string
	}{
		{"whole", whole.Bytes(), nil, ""},
		{"cut off", whole.Bytes()[:whole.Len()-9], io.ErrUnexpectedEOF, "decompress: it is cut off (unexpected EOF): copy or write it again"},
		{"damaged", damaged, gzip.ErrChecksum, "decompress: gzip: invalid checksum"},
	} {
		z, err := gzip.NewReader(bytes.NewReader(tt.data))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(Reader(z))
		if tt.want == nil {
			if err != nil || string(got) != "a;b 1\n" {
				t.Errorf("%s: %q, %v", tt.name, got, err)
			}
			continue
		}
		var of *Error
		if !errors.As(err, &of) || !errors.Is(err, tt.want) || !strings.HasPrefix(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.text)
		}
	}
}
