package procfs

import (
	"strings"
	"testing"
)

func TestKernelText(t *testing.T) {
	for _, c := range []struct {
		name, symbols string
		start, end    uint64
		symbol        string
	}{
		{"all", "ff00 T _text\nff10 T _stext\nff90 T _etext\n", 0xff00, 0xff90, "_text"},
		{"the first of each, but of the end", "ff00 T _text\nff08 T _text\nff90 T _etext\nffa0 T _etext\n", 0xff00, 0xffa0, "_text"},
		{"without _text", "ff10 T _stext\nff90 T _etext\n", 0xff10, 0xff90, "_stext"},
		{"no end", "ff00 T _text\n", 0xff00, 1<<64 - 1, "_text"},
		{"an end before the start", "ff00 T _text\nfe00 T _etext\n", 0xff00, 1<<64 - 1, "_text"},
		{"hidden", "0 T _text\n0 T _stext\n0 T _etext\n", 0, 1<<64 - 1, "_stext"},
	} {
		var k KernelText
		if err := ReadSymbols(strings.NewReader(c.symbols), func(s *Symbol) bool { k.Add(s); return true }); err != nil {
			t.Fatal(err)
		}
		if start, end, symbol := k.Range(); start != c.start || end != c.end || symbol != c.symbol {
			t.Errorf("%s: %#x to %#x, %s", c.name, start, end, symbol)
		}
	}
}
