package symbolize

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/livetest"
	"kprof/symbolize/elfsym"
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
