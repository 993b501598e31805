package naming

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
	"kprof/symbolize"
)

// TestNameEnds: when its context ends, Name returns, whatever it waits for, with the
// names that it has, and says of what is missing why.
func TestNameEnds(t *testing.T) {
	asked, gone := make(chan struct{}, 1), make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-gone
	}))
	defer h.Close()
	defer close(gone)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one mapping after the other
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	livetest.WriteFile(t, filepath.Join(root, "tmp/perf-7.map"), "1000 100 one\n2000 100 two\n")
	set := stacks.New()
	add := func(m stacks.Mapping, kind stacks.Kind, addr uint64) uint32 {
		set.Mappings = append(set.Mappings, m)
		return set.AddLocation(int32(len(set.Mappings)-1), addr, kind)
	}
	// Two mappings that one perf map names, and a file that nobody has.
	one := add(stacks.Mapping{File: "//anon", Kind: stacks.KindAnon, PID: 7, Start: 0x1000, Limit: 0x2000}, stacks.KindAnon, 0x1010)
	two := add(stacks.Mapping{File: "[heap]", Kind: stacks.KindAnon, PID: 7, Start: 0x2000, Limit: 0x3000}, stacks.KindAnon, 0x2010)
	file := add(stacks.Mapping{File: "/gone/prog", Kind: stacks.KindUser, BuildID: "0123456789abcdef", Start: 0x5000, Limit: 0x6000}, stacks.KindUser, 0x5010)

	sym := symbolize.New(symbolize.Options{Root: root, Foreign: true, DebugDirs: []string{}, DebuginfodURLs: []string{h.URL}})
	defer sym.Close()
	because := errors.New("because")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(because)
	}()
	missing, err := Name(ctx, set, sym)
	if !errors.Is(err, context.Canceled) || len(missing) != 1 || missing[0].Mapping != 2 || !errors.Is(missing[0].Err, because) || missing[0].Unnamed != 1 {
		t.Errorf("%+v, %v", missing, err)
	}
	for loc, want := range map[uint32]string{one: "one", two: "two", file: ""} {
		got := ""
		for _, l := range set.Lines(loc) {
			got += set.Functions[l.Function].Name
		}
		if got != want {
			t.Errorf("location %d: %q, want %q", loc, got, want)
		}
	}
}
