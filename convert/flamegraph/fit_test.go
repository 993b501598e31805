package flamegraph

import (
	"bytes"
	"fmt"
	"testing"

	"kprof/convert/calltree"
	"kprof/convert/stacks/stackstest"
)

// TestSVGFit: of the frames that MinWidth wants, a graph shows as many as MaxSize
// allows, the widest, and says how many are left out.
func TestSVGFit(t *testing.T) {
	s := stackstest.GraphOf(20_000, 9)
	whole, err := calltree.New(s, calltree.Options{Comm: true})
	if err != nil {
		t.Fatal(err)
	}
	before := 0
	for _, size := range []int{leastMaxSize, 300_000, 1_000_000, 100_000_000} {
		var b bytes.Buffer
		o := Options{MinWidth: -1, MaxSize: size}
		cut, err := Write(&b, s, o)
		if err != nil {
			t.Fatal(err)
		}
		drawn := 0
		for i := range whole.Nodes {
			if whole.Weight(i)*o.span() >= cut.Width*whole.Weight(0)*(1-1e-12) {
				drawn++
			}
		}
		switch said := bytes.Contains(b.Bytes(), []byte(fmt.Sprintf("%v left out", cut))); {
		case b.Len() > size:
			t.Errorf("%d bytes, where %d are allowed", b.Len(), size)
		case size == 100_000_000 && (cut != Cut{} || drawn != len(whole.Nodes)):
			t.Errorf("%+v, where there is room for all", cut)
		case size < 100_000_000 && (!cut.Forced || cut.Frames == 0 || cut.Share <= 0 || !said):
			t.Errorf("%d bytes: %+v, said: %v", size, cut, said)
		case drawn < before:
			t.Errorf("%d frames in %d bytes, %d in less", drawn, size, before)
		}
		before = drawn
		if !cut.Forced {
			continue
		}
		// The next finer width would be too much.
		finer := 0.0
		for i := range whole.Nodes {
			if w := whole.Weight(i) * o.span() / whole.Weight(0); w < cut.Width*(1-1e-12) {
				finer = max(finer, w)
			}
		}
		f := fitter{o: o, source: calltree.Source{Set: s}}
		tree, err := calltree.New(s, o.treeOptions(finer*(1-1e-12)))
		if err != nil {
			t.Fatal(err)
		}
		if text, _, err := f.draw(tree, finer); err != nil || len(text) <= size && b.Len() < size-size/100 {
			t.Errorf("%d bytes at %v px, where %d are allowed and %d at %v px fit: %v", b.Len(), cut.Width, size, len(text), finer, err)
		}
	}
	if cut, err := Write(&bytes.Buffer{}, s, Options{}); err != nil || cut.Forced || cut.Width != defaultMinWidth {
		t.Errorf("by default: %+v, %v", cut, err)
	}
}
