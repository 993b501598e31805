package livetest

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// Open opens a file by its name, until the end of the test.
func Open[T io.Closer](t testing.TB, open func(name string) (T, error), name string) T {
	t.Helper()
	f, err := open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Archives are those in a directory, PATTERN.txtar, by their names without the ending; there is
// at least one.
func Archives(t testing.TB, dir, pattern string) map[string]*txtar.Archive {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern+".txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("there is no %s.txtar in %s, %v", pattern, dir, err)
	}
	archives := map[string]*txtar.Archive{}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		archives[strings.TrimSuffix(filepath.Base(name), ".txtar")] = a
	}
	return archives
}

// Written is what write writes.
func Written(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// WriteFile writes a file that its owner may write and all may read.
func WriteFile[T []byte | string](t testing.TB, name string, data T) {
	t.Helper()
	if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// MakeCgroup makes a cgroup until the end of the test.
func MakeCgroup(t testing.TB, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
}
