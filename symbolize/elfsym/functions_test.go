package elfsym

import (
	"debug/elf"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/livetest"
)

// TestFunctions compares the sizes of functions with readelf's.
func TestFunctions(t *testing.T) {
	livetest.RequirePrograms(t, "readelf")
	path := compile(t, "gcc", "inline.c", "-O2")
	want := map[string]uint64{}
	for line := range strings.Lines(livetest.Run(t, "readelf", "-sW", path)) {
		// Num: Value Size Type Bind Vis Ndx Name
		fields := strings.Fields(line)
		if len(fields) < 8 || fields[3] != "FUNC" || fields[6] == "UND" || fields[2] == "0" {
			continue
		}
		size, err := strconv.ParseUint(fields[2], 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		want[fields[7]] = size
	}
	if want["main"] == 0 || want["split.cold"] == 0 {
		t.Fatalf("readelf lists %v", want)
	}
	got := map[string]uint64{}
	for s := range open(t, path, Options{DWARF: true}).Functions() {
		if _, ok := want[s.Name]; ok && !s.PLT {
			got[s.Name] = s.End - s.Start
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMentions(t *testing.T) {
	names := []string{"innermost", "middle", "removed", "inner"}
	want := map[string]bool{"innermost": true, "middle": true, "inner": true}
	for _, flags := range [][]string{{"-O2"}, {"-O2", "-gz=zlib"}} {
		f := open(t, compile(t, "gcc", "inline.c", flags...), Options{DWARF: true})
		got, ok := f.Mentions(names)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%v: %v: %s", flags, ok, diff)
		}
	}
	f := open(t, compile(t, "gcc", "inline.c", "-O2", "-s"), Options{DWARF: true})
	if got, ok := f.Mentions(names); ok {
		t.Errorf("without debug information: %v", got)
	}
}

// TestLocalLabels: labels that an assembler has kept, as it does of jump tables, are no symbols.
func TestLocalLabels(t *testing.T) {
	livetest.RequirePrograms(t, "gcc")
	kept := 0
	path := compile(t, "gcc", "prog.c", "-O2", "-Wa,-L")
	f := livetest.Open(t, elf.Open, path)
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if strings.HasPrefix(s.Name, ".L") {
			kept++
		}
	}
	if kept == 0 {
		t.Fatal("the assembler has kept no labels")
	}
	for s := range open(t, path, Options{}).Functions() {
		if strings.HasPrefix(s.Name, ".L") {
			t.Errorf("%+v is a symbol", s)
		}
	}
}
