package flamegraph

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"kprof/convert/calltree"
)

// fitter finds the finest flame graph that MaxSize allows.
//
//  1. A tree is made of all frames that MinWidth wants, up to more of them than
//     could ever fit. If there are more, the least width for which there are not
//     is found by bisection.
//  2. If the file is too large, frames are left out by width, from the narrowest
//     on. How many is found by bisection too, each time by writing the file.
type fitter struct {
	o      Options
	source calltree.Source

	search *index // once it is needed
}

// leastFrame is how many bytes a frame has at least: five numbers with commas.
const leastFrame = 10

func (f *fitter) write(w io.Writer) (Cut, error) {
	text, cut, err := f.fit()
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		return Cut{}, fmt.Errorf("write svg: %w", err)
	}
	return cut, nil
}

func (f *fitter) fit() ([]byte, Cut, error) {
	least := f.o.minWidth()
	t, err := f.tree(least)
	if err != nil {
		return nil, Cut{}, err
	}
	if t.Sum == 0 || t.Base != nil && t.Base[0] == 0 {
		return nil, Cut{}, errEmpty
	}
	if t.Over {
		if t, least, err = f.build(least); err != nil {
			return nil, Cut{}, err
		}
	}
	text, cut, err := f.draw(t, least)
	if err != nil || len(text) <= f.o.maxSize() {
		return text, cut, err
	}
	return f.narrow(t, len(text))
}

func (f *fitter) tree(least float64) (*calltree.Tree, error) {
	o := f.o.treeOptions(least)
	o.Most = f.o.maxSize() / leastFrame
	return f.source.Tree(o)
}

// build finds the least width of frames whose number could fit, down to two
// percent, or one that leads on to narrow.
func (f *fitter) build(tooNarrow float64) (*calltree.Tree, float64, error) {
	low, high := tooNarrow, max(2*tooNarrow, defaultMinWidth/100)
	t, err := f.tree(high)
	for ; err == nil && t.Over; t, err = f.tree(high) {
		low, high = high, 2*high
	}
	for err == nil && high > 1.02*low && len(t.Nodes) < f.o.maxSize()/(3*leastFrame) {
		middle := math.Sqrt(low * high)
		if low == 0 {
			middle = high / 16
		}
		if high < 1e-12 {
			break
		}
		var finer *calltree.Tree
		if finer, err = f.tree(middle); err == nil && finer.Over {
			low = middle
		} else if err == nil {
			t, high = finer, middle
		}
	}
	return t, high, err
}

// draw writes the graph of a tree that has all frames of a width.
func (f *fitter) draw(t *calltree.Tree, least float64) ([]byte, Cut, error) {
	d := newDocument(t, f.o, f.source.Set.Events[f.o.Event])
	cut := Cut{Frames: t.Cut, Width: least, Forced: t.Cut > 0 && least > f.o.minWidth()}
	if t.Cut > 0 {
		if f.search == nil {
			var err error
			if f.search, err = newIndex(f.source, f.o); err != nil {
				return nil, cut, err
			}
		}
		d.search = f.search
		if t.Base == nil {
			var shown int64
			for i := range t.Nodes {
				shown += t.Nodes[i].Self
			}
			cut.Share = float64(t.Sum-shown) / t.Weight(0)
		}
		d.note(cut)
	}
	var b bytes.Buffer
	err := d.write(&b)
	return b.Bytes(), cut, err
}

// narrow leaves out the narrowest frames of a tree whose file is too large, as few
// as it takes.
func (f *fitter) narrow(t *calltree.Tree, size int) (text []byte, cut Cut, err error) {
	widths := make([]float64, 0, len(t.Nodes)) // that frames have, in values
	for i := range t.Nodes[1:] {
		widths = append(widths, t.Weight(i+1))
	}
	slices.SortFunc(widths, func(x, y float64) int { return cmp.Compare(y, x) })
	var ends []int // how many frames have the widest n+1 widths
	for i := range widths {
		if i+1 == len(widths) || widths[i+1] != widths[i] {
			ends = append(ends, i+1)
		}
	}
	count := func(n int) int { // of frames with the widest n widths
		if n == 0 {
			return 0
		}
		return ends[n-1]
	}
	try := func(n int) ([]byte, Cut, error) {
		limit := math.Inf(1)
		if n > 0 {
			limit = widths[ends[n-1]-1]
		}
		c := t.Without(func(i int) bool { return t.Weight(i) < limit })
		return f.draw(c, min(limit*f.o.span()/t.Weight(0), f.o.span()))
	}
	most := f.o.maxSize()
	low, high := 0, len(ends) // of widths: those that fit, and that do not
	lowSize, highSize := 0, size
	for tries := 0; text == nil || high-low > 1 && lowSize < most-most/100; tries++ {
		n := (low + high) / 2
		if tries < 8 { // where the size says it is
			want := count(low) + int(float64(count(high)-count(low))*float64(most-lowSize)/float64(highSize-lowSize))
			n, _ = slices.BinarySearch(ends, want)
		}
		if n = min(max(n, low+1), high-1); high-low <= 1 {
			n = 0
		}
		b, c, err := try(n)
		if err != nil {
			return nil, cut, err
		}
		if len(b) <= most || n == 0 {
			text, cut, low, lowSize = b, c, n, len(b)
		} else {
			high, highSize = n, len(b)
		}
		if n == 0 {
			break
		}
	}
	return text, cut, nil
}
