package perfdata

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

// TestRules: rules are found in a file, also of a recorder that was killed, beside kernel
// symbols before the data or behind it, which are found too.
func TestRules(t *testing.T) {
	symbols := blockOf(t, &someKernelSymbols, abi.LittleEndian)
	for _, rules := range [][]string{nil, {"off-cpu"}, {"span:syscalls", "off-cpu"}, {"span:a:b..c:d by x"}} {
		for _, o := range []WriterOptions{{Rules: rules}, {Rules: rules, KernelSymbols: symbols}} {
			for _, closed := range []bool{true, false} {
				f := tempFile(t)
				w, err := NewWriter(f, oneEvent, Features{Version: strings.Repeat("h", len(rules))}, o)
				if err != nil {
					t.Fatal(err)
				}
				if closed {
					w.SetTrailer(symbols)
					if err := w.Close(Features{}); err != nil {
						t.Fatal(err)
					}
				}
				r := livetest.Open(t, Open, f.Name())
				if got, err := r.Rules(); err != nil || !slices.Equal(got, rules) {
					t.Errorf("%q %v, want %q", got, err, rules)
				}
				got, err := r.KernelSymbols()
				want := &someKernelSymbols
				if !closed && o.KernelSymbols == nil {
					want = nil
				}
				if d := cmp.Diff(want, got); d != "" || err != nil {
					t.Errorf("%q: %v -want +got\n%s", rules, err, d)
				}
			}
		}
	}
	for _, bad := range [][]string{{"a\nb"}, {strings.Repeat("x", rulesBlock.most+1)}} {
		if _, err := NewWriter(tempFile(t), oneEvent, Features{}, WriterOptions{Rules: bad}); err == nil {
			t.Errorf("%.10q is written", bad)
		}
	}
}
