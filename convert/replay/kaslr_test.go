package replay

import (
	"fmt"
	"strings"
	"testing"

	"kprof/convert/naming"
	"kprof/convert/stacks"
	"kprof/perfevent/perfdata/perftext"
	"kprof/symbolize"
)

// TestKernelWasMoved names a kernel that ran at other addresses than its symbols
// tell: the mapping says of which symbol it has the address, and those that mark
// the start are different places on arm64.
func TestKernelWasMoved(t *testing.T) {
	const text, kaslr uint64 = 0xffff800008000000, 0x45346b400000
	symbols := map[string]uint64{"_text": text, "_stext": text + 0x10000, "before": text + 0x20000, "work": text + 0x30000, "after": text + 0x40000}
	var kallsyms strings.Builder
	for name, addr := range symbols {
		fmt.Fprintf(&kallsyms, "%x T %s\n", addr, name)
	}
	for _, start := range []string{"_text", "_stext", ""} {
		marker := symbols["_text"] // where it is not said
		if start != "" {
			marker = symbols[start]
		}
		rec := perftext.MustParse(fmt.Sprintf(`event cycles type=hardware
mmap t=0 pid=-1 addr=%#x len=0x1000000 off=%#x file=[kernel.kallsyms]%s
sample t=1 pid=7 kernel %#x
`, text+kaslr, marker+kaslr, start, symbols["work"]+kaslr+8))
		for _, f := range forms() {
			set, _, err := f.convert(rec, Options{})
			if err != nil {
				t.Fatal(err)
			}
			s := symbolize.New(symbolize.Options{Foreign: true, Kallsyms: strings.NewReader(kallsyms.String())})
			if _, err := naming.Name(t.Context(), set, s); err != nil {
				t.Fatal(err)
			}
			s.Close()
			m := set.Mappings[0]
			if m.Symbol != start || m.File != "[kernel.kallsyms]" || m.Kind != stacks.KindKernel {
				t.Errorf("%q, %v: mapping %+v", start, f, m)
			}
			if got := set.Functions[set.Lines(0)[0].Function].Name; got != "work" {
				t.Errorf("%q, %v: named %s, want work", start, f, got)
			}
		}
	}
}
