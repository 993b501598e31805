package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"kprof/convert/export"
	"kprof/convert/flamegraph"
)

// svgFlags are the flags of flame graphs.
type svgFlags struct {
	title                         string
	width                         int
	minWidth                      float64
	maxSize                       string
	inverted, reverse, flamechart bool
	color                         string
	total                         int64
	given                         func(flag string) bool
}

var svgColors = map[string]flamegraph.Color{
	"kind": flamegraph.ColorKind, "name": flamegraph.ColorName, "hot": flamegraph.ColorHot, "grey": flamegraph.ColorGrey,
}

func (f *svgFlags) flags(c *cobra.Command) {
	fl := c.Flags()
	defer under(fl, headingSVG)()
	f.given = fl.Changed
	fl.StringVar(&f.title, "title", "", "SVG, HTML: `heading` of the flame graph")
	fl.IntVar(&f.width, "width", 0, "SVG: width in `pixels` (default 1200, and that of the window where it is opened on its own)")
	fl.Float64Var(&f.minWidth, "min-width", .1, "SVG: leave out frames narrower than so many `pixels`; 0 for none, as far as --max-size allows")
	fl.StringVar(&f.maxSize, "max-size", "4.5M", "SVG: leave out more frames where the file would be larger than this `size`")
	fl.BoolVar(&f.inverted, "inverted", false, "SVG: the root at the top, as icicles grow")
	fl.BoolVar(&f.reverse, "reverse", false, "SVG: merge from the leaf: who calls a function, above it")
	fl.StringVar(&f.color, "color", "kind", "SVG: `what` colours tell: kind of code, name, or nothing: hot, grey")
	fl.Int64Var(&f.total, "total", 0, "SVG: `value` that shares are of (default the sum of the samples)")
	fl.BoolVar(&f.flamechart, "flamechart", false, "SVG: from left to right in the order of time, thread by thread")
}

// options checks the flags for an output.
func (f *svgFlags) options(out format) (o flamegraph.Options, err error) {
	for _, name := range []string{"title", "width", "min-width", "max-size", "inverted", "reverse", "color", "total", "flamechart"} {
		if f.given(name) && out != export.SVG && (name != "title" || out != export.HTML) {
			return o, usagef("--%s is for flame graphs: give -o FILE.svg or -f svg", name)
		}
	}
	o = flamegraph.Options{
		Title: f.title, Width: f.width, MinWidth: f.minWidth, Total: f.total,
		Inverted: f.inverted, Reverse: f.reverse, ByTime: f.flamechart,
	}
	if f.minWidth == 0 {
		o.MinWidth = -1 // all frames
	}
	if o.MaxSize, err = svgSize(f.maxSize); err != nil {
		return o, err
	}
	var ok bool
	if o.Color, ok = svgColors[f.color]; !ok {
		return o, usagef("--color %q: use kind, name, hot or grey", f.color)
	}
	switch {
	case f.given("width") && (f.width < 100 || f.width > 100_000):
		return o, usagef("--width %d: wants 100 to 100000 pixels", f.width)
	case !(f.minWidth >= 0 && f.minWidth <= 100_000):
		return o, usagef("--min-width %v: wants a number of pixels, 0 for all frames", f.minWidth)
	case f.given("total") && f.total <= 0:
		return o, usagef("--total %d: wants a number above 0", f.total)
	case f.reverse && f.flamechart:
		return o, usagef("--reverse and --flamechart exclude each other")
	}
	return o, nil
}

// sayCut says what a flame graph leaves out for want of room. What is left out
// because it is too narrow to be seen, as was asked for, is said in the graph only.
func sayCut(name string, cut flamegraph.Cut, remedy string) {
	if !cut.Forced {
		return
	}
	if name == "-" {
		name = "the flame graph"
	}
	text := ""
	if cut.Share > 0 {
		text = fmt.Sprintf(" (%.1f%% of the total ends there)", 100*cut.Share)
	}
	messagef("%s: %v left out%s%s", name, cut, text, remedy)
}

// svgSize parses the size of a file in bytes, which is at least 100 kB, as that is
// what a flame graph needs for itself.
func svgSize(s string) (int, error) {
	n, ok := byteSize(s)
	if !ok || n < 100e3 || n > 1e9 {
		return 0, usagef("--max-size %q: wants a size such as 20M, from 100K to 1G", s)
	}
	return int(n), nil
}

// byteSize parses a number of bytes, with K, M or G behind it.
func byteSize(s string) (float64, bool) {
	digits := strings.TrimRight(s, "kKmMgGB")
	unit, ok := map[string]float64{"": 1, "B": 1, "K": 1e3, "M": 1e6, "G": 1e9}[strings.ToUpper(strings.TrimSuffix(s[len(digits):], "B"))]
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	return n * unit, ok && err == nil && n >= 0
}
