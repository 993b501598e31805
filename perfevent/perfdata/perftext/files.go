package perftext

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kprof/perfevent/livetest"
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

// Goldens are the texts of the recordings in the archives of a directory, the first file of each.
func Goldens(t testing.TB, dir string) (texts []string) {
	t.Helper()
	archives := livetest.Archives(t, dir, "*")
	for _, name := range slices.Sorted(maps.Keys(archives)) {
		texts = append(texts, string(archives[name].Files[0].Data))
	}
	return texts
}

// Open opens a recording, in a file or in a directory, until the end of the test.
func Open(t testing.TB, name string) *perfdata.Reader {
	t.Helper()
	return livetest.Open(t, perfdata.Open, name)
}
