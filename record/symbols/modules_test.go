package symbols

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/perfdata"
	"kprof/perfevent/procfs/procfstest"
)

// TestSymbolHistory: modules that come, go, come back elsewhere, or take each
// other's place.
func TestSymbolHistory(t *testing.T) {
	const kernel = "ffffffff81000000 T _text\n"
	line := map[string]string{
		"a":     "a 8192 0 - Live 0xffffffffc0000000\n",
		"used":  "a 8192 7 b, Live 0xffffffffc0000000 (OE)\n", // a, in use
		"b":     "b 4096 0 - Live 0xffffffffc0008000\n",
		"moved": "a 8192 0 - Live 0xffffffffc0010000\n", // a, elsewhere
		"c":     "c 4096 0 - Live 0xffffffffc0001000\n", // where a was, or behind its text
	}
	symbol := map[string]string{
		"a":     "ffffffffc0000010 t a1\t[a]\nffffffffc0000100 t a2\t[a]\n",
		"used":  "ffffffffc0000010 t a1\t[a]\nffffffffc0000100 t a2\t[a]\n",
		"b":     "ffffffffc0008010 t b1\t[b]\n",
		"moved": "ffffffffc0010010 t a1\t[a]\nffffffffc0010100 t a2\t[a]\n",
		"c":     "ffffffffc0001010 t c1\t[c]\n",
	}
	const bpf = "ffffffffc0300000 t bpf_prog_x\t[bpf]\n"
	for _, tt := range []struct {
		name     string
		loaded   []string // at each reading
		want     string   // modules whose symbols there are at the end
		readings int
	}{
		{"nothing happens", []string{"a b", "used b", "a b"}, "a b", 1},
		{"one comes", []string{"a", "a b"}, "a b", 2},
		{"one goes", []string{"a b", "b"}, "b a", 2},
		{"one comes and goes", []string{"", "a", ""}, "a", 3},
		{"it comes back", []string{"a", "", "a"}, "a", 3},
		{"it comes back elsewhere", []string{"a", "", "moved"}, "moved a", 3},
		{"one takes the place of another", []string{"a b", "c b"}, "b", 2},
		{"and both go", []string{"a b", "c b", "b"}, "b", 3},
		{"one goes whose neighbour's size reaches over it", []string{"a c", "a"}, "a c", 2},
		{"one goes whose size reaches over its neighbour", []string{"a c", "c"}, "a c", 2},
		{"neighbours go one after the other", []string{"b", "a b", "a b c", "a b", "b"}, "a b c", 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var h symbolHistory
			readings := 0
			for _, loaded := range tt.loaded {
				c := perfdata.KernelSymbols{Kallsyms: []byte(kernel)}
				for _, m := range strings.Fields(loaded) {
					c.Modules = append(c.Modules, line[m]...)
					c.Kallsyms = append(c.Kallsyms, symbol[m]...)
				}
				c.Kallsyms = append(c.Kallsyms, bpf...)
				if readings == 0 || h.changedBy(c.Modules) {
					h.add(c)
					readings++
				}
			}
			if h.readings != tt.readings || readings != tt.readings {
				t.Errorf("read %d times, want %d", h.readings, tt.readings)
			}
			want := map[string]bool{kernel: true, bpf: true}
			for _, m := range strings.Fields(tt.want) {
				for l := range strings.Lines(symbol[m]) {
					want[l] = true
				}
			}
			got := string(h.kallsyms())
			for l := range strings.Lines(got) {
				if !want[l] {
					t.Errorf("unwanted, or twice: %s", l)
				}
				delete(want, l)
			}
			for l := range want {
				t.Errorf("missing: %s", l)
			}
		})
	}
}

// TestModulesOfOddLines: of which modules there are functions.
func TestModulesOfOddLines(t *testing.T) {
	got := map[string]int{}
	for line := range bytes.Lines([]byte(procfstest.Kallsyms)) {
		if _, ok := functionLine(line); ok {
			got[moduleOfLine(line)]++
		}
	}
	want := map[string]int{"": 7, "fuse": 3, "two words": 1, "bpf": 1, "__builtin__ftrace": 1, "__builtin__kprobes": 1}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// TestParseModulesOdd: a line that cannot be read does not hide the others.
func TestParseModulesOdd(t *testing.T) {
	want := map[loadedModule]uint64{
		{"fuse", 0xffffffffc0a00000, 176128}: 176128, {"nf_nat", 0xffffffffc0900000, 53248}: 53248, {"hidden", 0, 4096}: 4096,
		{"blanks", 0xffffffffc0800000, 4096}: 4096, {"last", 0xffffffffc0600000, 12288}: 12288,
	}
	if d := cmp.Diff(want, parseModules([]byte(procfstest.Modules)), cmp.AllowUnexported(loadedModule{})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
