package render

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"kprof/convert/stacks"
)

// SVGColor is what the colour of a frame tells.
type SVGColor uint8

const (
	ColorKind SVGColor = iota // what sort of code it is
	ColorName                 // its name: a function looks the same in all graphs
	ColorHot                  // nothing: warm colours, as flamegraph.pl's
	ColorGrey                 // nothing: for print
)

// SVGOptions say what a flame graph shows, and how.
type SVGOptions struct {
	Event  int // index into Set.Events
	Column int // which of the event's values is a frame's width
	// Title is the heading. Default: "Flame graph".
	Title string
	// Width of the picture in pixels. Default: 1200, and that of the window where
	// the file is opened on its own.
	Width int
	// MinWidth is the width in pixels below which a frame is left out. Default:
	// 0.1; below 0: none is.
	MinWidth float64
	Inverted bool // the root above, not below
	Reverse  bool // merged from the leaf: callers instead of callees
	ByTime   bool // from left to right in the order of time, thread by thread
	Color    SVGColor
	// Total is the value that shares are of, and as wide as the picture. Default:
	// the sum of all samples.
	Total int64
	Notes []string // lines below the heading, such as how many records were lost
}

// DiffSVGOptions say what a comparison shows.
type DiffSVGOptions struct {
	SVGOptions
	BaseEvent, BaseColumn int // of the base, as Event and Column are of the other
	// BaseScale is what the base's values are multiplied with to be compared, such
	// as the one's seconds by the other's. Default: what makes the totals equal.
	BaseScale float64
}

const (
	defaultWidth    = 1200
	defaultMinWidth = 0.1
	// maxSVG is about how many bytes a file may have before more frames are left
	// out than MinWidth asks for.
	maxSVG = 4_500_000
)

// SVG writes a flame graph: one file without anything outside. Opened on its own
// it can be zoomed into and searched, and fills the window; as an image it is a
// picture. Frames are merged by name, below the samples' comm where they have one.
func SVG(w io.Writer, s *stacks.Set, o SVGOptions) error {
	if err := o.check(); err != nil {
		return fmt.Errorf("write svg: %w", err)
	}
	t, err := NewTree(s, o.treeOptions())
	if err == nil && t.Sum == 0 {
		err = errEmpty
	}
	if err != nil {
		return fmt.Errorf("write svg: %w", err)
	}
	d := newSVGDoc(t, o, s.Events[o.Event])
	return d.write(w)
}

// DiffSVG writes a flame graph of two Sets. A frame is as wide as the mean of what
// both have of it, so that paths which only one of them has are seen too, and its
// colour tells how they differ.
func DiffSVG(w io.Writer, base, set *stacks.Set, o DiffSVGOptions) error {
	if err := o.check(); err != nil {
		return fmt.Errorf("write svg: %w", err)
	}
	if o.ByTime || o.Total != 0 || !(o.BaseScale >= 0) || math.IsInf(o.BaseScale, 1) {
		return errors.New("write svg: a comparison has neither an order of time, nor a total of its own, nor a scale below 0")
	}
	t, err := newDiffTree(base, set, TreeOptions{Event: o.BaseEvent, Column: o.BaseColumn}, o.treeOptions(), o.BaseScale)
	if err == nil && (t.Sum == 0 || t.Base[0] == 0) {
		err = errEmpty
	}
	if err != nil {
		return fmt.Errorf("write svg: %w", err)
	}
	d := newSVGDoc(t, o.SVGOptions, set.Events[o.Event])
	return d.write(w)
}

var errEmpty = errors.New("there are no samples to draw")

func (o *SVGOptions) check() error {
	switch {
	case o.Width < 0 || o.Width != 0 && o.Width < 100 || o.Width > 100_000:
		return fmt.Errorf("a width of %d: wants 100 to 100000 pixels", o.Width)
	case o.Total < 0:
		return fmt.Errorf("a total of %d: wants a number above 0", o.Total)
	case o.Reverse && o.ByTime:
		return errors.New("callers cannot be shown in the order of time")
	case o.MinWidth != o.MinWidth || o.Color > ColorGrey:
		return errors.New("no such width or colour")
	}
	return nil
}

func (o *SVGOptions) treeOptions() TreeOptions {
	return TreeOptions{
		Event: o.Event, Column: o.Column, Comm: true, Reverse: o.Reverse, ByTime: o.ByTime,
		Total: o.Total, Min: o.minWidth() / o.span(),
	}
}

func (o *SVGOptions) width() int {
	if o.Width == 0 {
		return defaultWidth
	}
	return o.Width
}

// minWidth is MinWidth or its default.
func (o *SVGOptions) minWidth() float64 {
	if o.MinWidth == 0 {
		return defaultMinWidth
	}
	return max(o.MinWidth, 0)
}

// span is how wide the root is, in pixels.
func (o *SVGOptions) span() float64 { return float64(o.width() - 2*svgPad) }

// svgDoc is a flame graph being written.
type svgDoc struct {
	tree  *Tree
	o     SVGOptions
	event stacks.Event
	look  svgLook
	depth uint32 // of the deepest frame
	drawn uint32 // of the deepest one in the picture

	out *bufio.Writer
	buf []byte
}

func newSVGDoc(t *Tree, o SVGOptions, e stacks.Event) *svgDoc {
	if o.Title == "" {
		o.Title = "Flame graph"
	}
	return &svgDoc{tree: t, o: o, event: e}
}

func (d *svgDoc) write(w io.Writer) error {
	least := d.fit()
	d.note(least)
	d.look = newSVGLook(d)
	d.measure()
	d.out = bufio.NewWriterSize(w, 1<<16)
	d.picture()
	if err := d.script(); err != nil {
		return fmt.Errorf("write svg: %w", err)
	}
	d.out.WriteString("</svg>\n")
	if err := d.out.Flush(); err != nil {
		return fmt.Errorf("write svg: %w", err)
	}
	return nil
}

// measure finds the depths.
func (d *svgDoc) measure() {
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
func (d *svgDoc) visible(i int) bool {
	return d.tree.weight(i)*d.o.span() >= leastDrawn*d.tree.weight(0)
}

// fit leaves out more frames until what is left is not too much to open, and
// returns the width in pixels that all frames have now.
func (d *svgDoc) fit() (least float64) {
	least = d.o.minWidth()
	for d.size() > maxSVG {
		least = max(least, defaultMinWidth) * 1.25
		limit := d.tree.weight(0) * least / d.o.span()
		d.tree.cut(func(i int) bool { return d.tree.weight(i) < limit })
	}
	return least
}

// size is about how many bytes the tree needs.
func (d *svgDoc) size() int {
	used := make([]bool, len(d.tree.Names))
	n := len(svgScript) + len(svgStyle)
	for i := range d.tree.Nodes {
		n += 44 // a piece of a path, and of the script's data
		if name := d.tree.Nodes[i].Name; !used[name] {
			used[name] = true
			n += len(d.tree.Names[name]) + 3
		}
	}
	return n
}

// note adds what is not shown to the notes.
func (d *svgDoc) note(least float64) {
	t := d.tree
	if t.Cut == 0 {
		return
	}
	text := fmt.Sprintf("%s frames narrower than %s px are left out", grouped(int64(t.Cut)), strconv.FormatFloat(least, 'g', 2, 64))
	if t.Base == nil {
		var shown int64
		for i := range t.Nodes {
			shown += t.Nodes[i].Self
		}
		text += fmt.Sprintf(", and all they call: %.1f%% of the total ends there", 100*float64(t.Sum-shown)/t.weight(0))
	}
	d.o.Notes = append(d.o.Notes[:len(d.o.Notes):len(d.o.Notes)], text)
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
