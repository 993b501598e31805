// Package flamegraph draws a Set, or what two differ in, as an SVG.
package flamegraph

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"kprof/convert/calltree"
	"kprof/convert/stacks"
)

// Color is what the colour of a frame tells.
type Color uint8

const (
	ColorKind Color = iota // what sort of code it is
	ColorName              // its name: a function looks the same in all graphs
	ColorHot               // nothing: warm colours, as flamegraph.pl's
	ColorGrey              // nothing: for print
)

// Options say what a flame graph shows, and how.
type Options struct {
	// Event is an index into Set.Events, Column which of its values is a frame's width.
	Event, Column int
	// Title is the heading. Default: "Flame graph".
	Title string
	// Width of the picture in pixels. Default: 1200, and that of the window where
	// the file is opened on its own.
	Width int
	// MinWidth is the width in pixels below which a frame is left out. Default:
	// 0.1; below 0: none is. More are left out where MaxSize is too little.
	MinWidth float64
	// MaxSize is how many bytes the file may have. Default: 4,500,000.
	MaxSize  int
	Inverted bool // the root above, not below
	Reverse  bool // merged from the leaf: callers instead of callees
	ByTime   bool // from left to right in the order of time, thread by thread
	Color    Color
	// Total is the value that shares are of, and as wide as the picture. Default:
	// the sum of all samples.
	Total int64
	Notes []string // lines below the heading, such as how many records were lost
}

// DiffOptions say what a comparison shows.
type DiffOptions struct {
	Options
	BaseEvent, BaseColumn int // of the base, as Event and Column are of the other
	// BaseScale is what the base's values are multiplied with to be compared, such
	// as the one's seconds by the other's. Default: what makes the totals equal.
	BaseScale float64
}

const (
	defaultWidth    = 1200
	defaultMinWidth = 0.1
	defaultMaxSize  = 4_500_000
	leastMaxSize    = 100_000 // of which the script is a part
)

// Cut is what a flame graph leaves out. Searching finds it all the same, see
// index.
type Cut struct {
	Frames int     // left out; what they call is not counted
	Width  float64 // in pixels, of the narrowest frame that might be there
	// Share is the part of the total, 0 to 1, that ends in what is left out; 0 in a
	// comparison.
	Share float64
	// Forced tells that more are left out than MinWidth does, because of MaxSize.
	Forced bool
}

// Write writes a flame graph: one file without anything outside. Opened on its own
// it can be zoomed into and searched, and fills the window; as an image it is a
// picture. Frames are merged by name, below the samples' comm where they have one.
func Write(w io.Writer, s *stacks.Set, o Options) (Cut, error) {
	if err := o.check(); err != nil {
		return Cut{}, fmt.Errorf("write svg: %w", err)
	}
	f := fitter{o: o, source: calltree.Source{Set: s}}
	return f.write(w)
}

// WriteDiff writes a flame graph of two Sets. A frame is as wide as the mean of what
// both have of it, so that paths which only one of them has are seen too, and its
// colour tells how they differ.
func WriteDiff(w io.Writer, base, set *stacks.Set, o DiffOptions) (Cut, error) {
	if err := o.check(); err != nil {
		return Cut{}, fmt.Errorf("write svg: %w", err)
	}
	if o.ByTime || o.Total != 0 || !(o.BaseScale >= 0) || math.IsInf(o.BaseScale, 1) {
		return Cut{}, errors.New("write svg: a comparison has neither an order of time, nor a total of its own, nor a scale below 0")
	}
	f := fitter{o: o.Options, source: calltree.Source{
		Set: set, Base: base, BaseEvent: o.BaseEvent, BaseColumn: o.BaseColumn, BaseScale: o.BaseScale,
	}}
	return f.write(w)
}

var errEmpty = errors.New("there are no samples to draw")

func (o *Options) check() error {
	switch {
	case o.Width < 0 || o.Width != 0 && o.Width < 100 || o.Width > 100_000:
		return fmt.Errorf("a width of %d: wants 100 to 100000 pixels", o.Width)
	case o.MaxSize != 0 && o.MaxSize < leastMaxSize:
		return fmt.Errorf("a size of %d bytes: wants at least %d", o.MaxSize, leastMaxSize)
	case o.Total < 0:
		return fmt.Errorf("a total of %d: wants a number above 0", o.Total)
	case o.Reverse && o.ByTime:
		return errors.New("callers cannot be shown in the order of time")
	case o.MinWidth != o.MinWidth || o.Color > ColorGrey:
		return errors.New("no such width or colour")
	}
	return nil
}

// treeOptions are those of a tree without the frames narrower than so many pixels.
func (o *Options) treeOptions(least float64) calltree.Options {
	return calltree.Options{
		Event: o.Event, Column: o.Column, Comm: true, Reverse: o.Reverse, ByTime: o.ByTime,
		Total: o.Total, Min: least / o.span(),
	}
}

func (o *Options) maxSize() int {
	if o.MaxSize == 0 {
		return defaultMaxSize
	}
	return o.MaxSize
}

func (o *Options) width() int {
	if o.Width == 0 {
		return defaultWidth
	}
	return o.Width
}

// minWidth is MinWidth or its default.
func (o *Options) minWidth() float64 {
	if o.MinWidth == 0 {
		return defaultMinWidth
	}
	return max(o.MinWidth, 0)
}

// span is how wide the root is, in pixels.
func (o *Options) span() float64 { return float64(o.width() - 2*pad) }

// document is a flame graph being written.
type document struct {
	tree   *calltree.Tree
	o      Options
	event  stacks.Event
	search *index // nil where nothing is left out
	look   look
	depth  uint32 // of the deepest frame
	drawn  uint32 // of the deepest one in the picture

	out *bufio.Writer
	buf []byte
}

func newDocument(t *calltree.Tree, o Options, e stacks.Event) *document {
	if o.Title == "" {
		o.Title = "Flame graph"
	}
	return &document{tree: t, o: o, event: e}
}

func (d *document) write(w io.Writer) error {
	d.look = newLook(d)
	d.measure()
	d.out = bufio.NewWriterSize(w, 1<<16)
	d.picture()
	if err := d.script(); err != nil {
		return err
	}
	d.out.WriteString("</svg>\n")
	return d.out.Flush()
}

// measure finds the depths.
func (d *document) measure() {
	t := d.tree
	for i := range t.Nodes {
		n := &t.Nodes[i]
		d.depth = max(d.depth, n.Depth)
		if d.visible(i) {
			d.drawn = max(d.drawn, n.Depth)
		}
	}
}

// visible tells whether a frame is wide enough to be seen without zooming in.
func (d *document) visible(i int) bool {
	return d.tree.Weight(i)*d.o.span() >= leastDrawn*d.tree.Weight(0)
}

// note adds what is not shown to the notes.
func (d *document) note(cut Cut) {
	if cut.Frames == 0 {
		return
	}
	text := cut.String() + " left out"
	if d.tree.Base == nil {
		text += fmt.Sprintf(", and all they call: %.1f%% of the total ends there", 100*cut.Share)
	}
	d.o.Notes = append(d.o.Notes[:len(d.o.Notes):len(d.o.Notes)], text)
}

// String is how many frames are left out: "12,345 frames narrower than 0.1 px are".
func (c Cut) String() string {
	frames, are := "frames", "are"
	if c.Frames == 1 {
		frames, are = "frame", "is"
	}
	width := strconv.FormatFloat(c.Width, 'g', 2, 64)
	if c.Width >= 100 { // 1100, not 1.1e+03
		width = strconv.FormatFloat(c.Width, 'f', 0, 64)
	}
	return fmt.Sprintf("%s %s narrower than %s px %s", grouped(int64(c.Frames)), frames, width, are)
}

// grouped writes a number with a comma at each thousand.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
