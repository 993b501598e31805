package symbolize

import (
	"io"
	"os"
	"strings"
	"testing"

	"kprof/symbolize/kallsyms"
	"kprof/symbolize/mapping"
)

// TestFileCache: what one Symbolizer has read another need not, which is seen by what is in the
// file meanwhile. One that looks for lines reads for itself, and so does everybody once nobody
// has asked for some turns.
func TestFileCache(t *testing.T) {
	path, off, _ := program(t, "int f(int x) { return x + 1; } int main(void) { return f(1); }")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	m := Mapping{Kind: mapping.User, File: path}
	cache := NewFileCache()
	named := func(o Options) string {
		t.Helper()
		s := New(o)
		defer s.Close()
		got, _ := names(t, s, m, off)
		return got[0]
	}
	if got := named(Options{Files: cache}); got != "f" {
		t.Fatalf("f is called %q", got)
	}
	write(t, path, strings.Repeat("x", int(before.Size())))
	if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	for range cachedTurns + 2 {
		if got := named(Options{Files: cache}); got != "f" {
			t.Errorf("f is called %q by the cache", got)
		}
		cache.Turn()
	}
	for _, o := range []Options{{}, {Files: cache, Lines: true}, {Files: cache, CallFrames: true}} {
		if got := named(o); got != "" {
			t.Errorf("%+v: f is called %q, by a file that is none", o, got)
		}
	}
	for range cachedTurns + 1 {
		cache.Turn()
	}
	if got := named(Options{Files: cache}); got != "" || len(cache.files) != 0 {
		t.Errorf("nobody asked for long, and f is called %q, %d files are kept", got, len(cache.files))
	}
}

// TestFileCacheBound: what is kept is bounded in bytes. What nobody has asked for again goes first,
// whenever it came.
func TestFileCacheBound(t *testing.T) {
	cache := NewFileCache()
	read := func(path string, off uint64) {
		t.Helper()
		s := New(Options{Files: cache})
		defer s.Close()
		if got, err := names(t, s, Mapping{Kind: mapping.User, File: path}, off); got[0] != "f" {
			t.Fatalf("f is called %q: %v", got, err)
		}
	}
	kept := func(path string) bool {
		for key := range cache.files {
			if key.path == path {
				return true
			}
		}
		return false
	}
	paths := make([]string, 4)
	for i := range paths {
		var off uint64
		paths[i], off, _ = program(t, "int f(int x) { return x + 1; } int main(void) { return f(1); }")
		read(paths[i], off)
		if i == 0 {
			read(paths[i], off) // again
			cache.limit = 2*cache.memory + cache.memory/2
		}
		sum := 0
		for _, f := range cache.files {
			sum += f.memory
		}
		if cache.memory != sum || sum > cache.limit || sum == 0 {
			t.Errorf("%d files: %d bytes are kept, %d by the count, at most %d", i+1, sum, cache.memory, cache.limit)
		}
		cache.Turn()
	}
	for i, want := range []bool{true, false, false, true} {
		if got := kept(paths[i]); got != want {
			t.Errorf("file %d is kept: %v", i, got)
		}
	}
	cache.Turn()
	if !kept(paths[0]) || kept(paths[3]) {
		t.Errorf("what was asked for again is kept: %v, what was asked for once: %v", kept(paths[0]), kept(paths[3]))
	}
}

// TestParseKallsyms: who knows the symbols of the kernel has them not read again.
func TestParseKallsyms(t *testing.T) {
	table, err := kallsyms.Parse(strings.NewReader("ffffffff81000000 T _text\nffffffff81000040 T known\nffffffff81000080 T _etext\n"))
	if err != nil {
		t.Fatal(err)
	}
	unread := strings.NewReader("ffffffff81000000 T _text\nffffffff81000040 T read\nffffffff81000080 T _etext\n")
	s := New(Options{Kallsyms: unread, ParseKallsyms: func(r io.Reader) (*kallsyms.Table, error) {
		if r != unread {
			t.Errorf("asked to read %v", r)
		}
		return table, nil
	}})
	defer s.Close()
	if got, err := names(t, s, Mapping{Kind: mapping.Kernel}, 0xffffffff81000041); got[0] != "known" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
