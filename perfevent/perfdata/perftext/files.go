package perftext

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"kprof/perfevent/perfdata"
)

// Reader assembles a recording and reads it.
func (r *Recording) Reader(t testing.TB, form Form) *perfdata.Reader {
	t.Helper()
	b, err := r.Assemble(form)
	if err != nil {
		t.Fatal(err)
	}
	read, err := perfdata.NewReaderAt(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// WriteFile assembles a recording into a file, and returns its name.
func WriteFile(t testing.TB, text string) string {
	t.Helper()
	b, err := MustParse(text).Assemble(Form{})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x.data")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
