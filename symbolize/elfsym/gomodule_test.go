package elfsym

import (
	"bytes"
	"os"
	"testing"
)

// TestGoModuleOfAnotherLayout: what later versions of Go have in the place of the words that are
// known is not believed, and functions keep their names.
func TestGoModuleOfAnotherLayout(t *testing.T) {
	path := buildGo(t, "-ldflags=-s -w")
	good := open(t, path, Options{})
	start, end := goFunctionRange(t, loaded(t, good), "main.main")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, ok := findGoModule(good.elf, goSection(good.elf), good.table.golang)
	if !ok {
		t.Fatal("no module data")
	}
	off, ok := good.Offset(m.addr)
	if !ok {
		t.Fatal("the module data is not in the file")
	}
	for _, word := range []int{moduleText, moduleFuncs} {
		other := bytes.Clone(data)
		at := other[off+uint64(word*m.size):]
		m.order.PutUint64(at, m.order.Uint64(at)+12)
		f, err := New(bytes.NewReader(other), Options{})
		if err != nil {
			t.Fatal(err)
		}
		gotStart, gotEnd := goFunctionRange(t, loaded(t, f), "main.main")
		if gotStart != start || gotEnd != end || f.table.golang.inline != nil {
			t.Errorf("with word %d changed, main.main is at %#x to %#x, want %#x to %#x; inlining trees: %v",
				word, gotStart, gotEnd, start, end, f.table.golang.inline != nil)
		}
	}
}

func loaded(t *testing.T, f *File) *File {
	t.Helper()
	if err := f.Load(); err != nil {
		t.Fatal(err)
	}
	return f
}
