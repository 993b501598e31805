package symbolize

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/livetest"
	"kprof/symbolize/elfsym"
	"kprof/symbolize/internal/srcline"
	"kprof/symbolize/mapping"
)

func TestInlineFramesOfGo(t *testing.T) {
	livetest.RequirePrograms(t, "go")
	path := filepath.Join(t.TempDir(), "prog")
	livetest.Run(t, "go", "build", "-o", path, "elfsym/testdata/goprog/main.go")
	file, err := elfsym.Open(path, elfsym.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, inline := range []bool{false, true} {
		s := New(Options{Inline: inline})
		var addrs []uint64
		for off := range uint64(1 << 20) {
			if vaddr, ok := file.Vaddr(off); ok {
				if sym, _ := file.Lookup(vaddr); sym.Name == "main.main" {
					addrs = append(addrs, off)
				}
			}
		}
		frames, err := s.Resolve(context.Background(), Mapping{Kind: mapping.User, File: path}, addrs)
		if err != nil {
			t.Fatal(err)
		}
		deepest := 0
		for i, list := range frames {
			outer := list[len(list)-1]
			if outer.Name != "main.main" || outer.SystemName != "main.main" || outer.StartLine != 35 || filepath.Base(outer.File) != "main.go" && outer.File != "" {
				t.Fatalf("offset %#x: outermost %+v", addrs[i], outer)
			}
			deepest = max(deepest, len(list))
		}
		if want := inline; (deepest > 1) != want {
			t.Errorf("inline %v: up to %d frames", inline, deepest)
		}
		s.Close()

		s = New(Options{Inline: inline, NamesOnly: true})
		names, err := s.Resolve(context.Background(), Mapping{Kind: mapping.User, File: path}, addrs)
		if err != nil {
			t.Fatal(err)
		}
		if inline { // which asks for all there is
			if diff := cmp.Diff(frames, names); diff != "" {
				t.Errorf("names only, and inline:\n%s", diff)
			}
		} else if want := (Frame{Name: "main.main", SystemName: "main.main"}); len(names[0]) != 1 || names[0][0] != want {
			t.Errorf("names only: %+v, want %+v", names[0], want)
		}
		s.Close()
	}
}

// TestInlinedFunctionsElsewhere: debug information that knows lines, and whose functions
// are in files that are not there, says so to whoever asked for them.
func TestInlinedFunctionsElsewhere(t *testing.T) {
	livetest.RequirePrograms(t, "dwz")
	const source = "struct s { int a; long b; char c[10]; struct s *next; };\nvolatile int sink;\n" +
		"static inline __attribute__((always_inline)) int inner(struct s *p) { sink++; return sink + p->a; }\n" +
		"__attribute__((noinline)) int f(struct s *p) { return inner(p) + inner(p->next); }\n" +
		"int main(void) { struct s x = { .next = &x }; return f(&x) & 1; }\n"
	split, splitOff, _ := program(t, source, "-g", "-gsplit-dwarf")
	one, oneOff, _ := program(t, source, "-g")
	two, _, _ := program(t, source, "-g")
	shared := filepath.Join(t.TempDir(), "shared")
	livetest.Run(t, "dwz", "-m", shared, "-M", shared, one, two)
	resolve := func(path string, off uint64, opts Options) *Error {
		t.Helper()
		s := New(opts)
		defer s.Close()
		frames, err := s.Resolve(context.Background(), Mapping{Kind: mapping.User, File: path}, []uint64{off})
		if len(frames[0]) == 0 || filepath.Base(frames[0][0].File) != "prog.c" {
			t.Errorf("%s, %+v: %+v, %v", path, opts, frames[0], err)
		}
		var e *Error
		errors.As(err, &e)
		return e
	}
	inlines, lines := Options{Inline: true, Lines: true}, Options{Lines: true}
	if err := resolve(one, oneOff, inlines); err != nil {
		t.Errorf("with the shared file: %v", err)
	}
	if err := resolve(split, splitOff, inlines); err != nil {
		t.Errorf("with the .dwo file: %v", err)
	}
	dwo, err := filepath.Glob(filepath.Join(filepath.Dir(split), "*.dwo"))
	if err != nil || len(dwo) != 1 {
		t.Fatalf("%q, %v, want one .dwo file", dwo, err)
	}
	for _, path := range append(dwo, shared) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		path string
		off  uint64
		want error
	}{
		{split, splitOff, srcline.ErrSplit},
		{one, oneOff, elfsym.ErrNoShared},
	} {
		if err := resolve(tt.path, tt.off, inlines); err == nil || err.Err != nil || err.Debug != nil || !errors.Is(err.Inlined, tt.want) {
			t.Errorf("%s: %v, want %v of inlined functions alone", tt.path, err, tt.want)
		}
		if err := resolve(tt.path, tt.off, lines); err != nil {
			t.Errorf("%s: %v although none are wanted", tt.path, err)
		}
	}
}
