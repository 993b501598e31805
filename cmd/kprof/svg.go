package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kprof/convert/render"
)

// svgFlags are the flags of flame graphs.
type svgFlags struct {
	title                         string
	width                         int
	minWidth                      float64
	inverted, reverse, flamechart bool
	color                         string
	total                         int64
	given                         func(flag string) bool
}

var svgColors = map[string]render.SVGColor{
	"kind": render.ColorKind, "name": render.ColorName, "hot": render.ColorHot, "grey": render.ColorGrey,
}

func (f *svgFlags) flags(c *cobra.Command) {
	fl := c.Flags()
	f.given = fl.Changed
	fl.StringVar(&f.title, "title", "", "SVG, HTML: `heading` of the flame graph")
	fl.IntVar(&f.width, "width", 0, "SVG: width in `pixels` (default 1200, and that of the window where it is opened on its own)")
	fl.Float64Var(&f.minWidth, "min-width", .1, "SVG: leave out frames narrower than so many `pixels`")
	fl.BoolVar(&f.inverted, "inverted", false, "SVG: the root at the top, as icicles grow")
	fl.BoolVar(&f.reverse, "reverse", false, "SVG: merge from the leaf: who calls a function, above it")
	fl.StringVar(&f.color, "color", "kind", "SVG: `what` colours tell: kind of code, name, or nothing: hot, grey")
	fl.Int64Var(&f.total, "total", 0, "SVG: `value` that shares are of (default the sum of the samples)")
	fl.BoolVar(&f.flamechart, "flamechart", false, "SVG: from left to right in the order of time, thread by thread")
}

// options checks the flags for an output.
func (f *svgFlags) options(out format) (o render.SVGOptions, err error) {
	for _, name := range []string{"title", "width", "min-width", "inverted", "reverse", "color", "total", "flamechart"} {
		if f.given(name) && out != formatSVG && (name != "title" || out != formatHTML) {
			return o, usagef("--%s is for flame graphs: give -o FILE.svg or -f svg", name)
		}
	}
	o = render.SVGOptions{
		Title: f.title, Width: f.width, MinWidth: f.minWidth, Total: f.total,
		Inverted: f.inverted, Reverse: f.reverse, ByTime: f.flamechart,
	}
	if f.minWidth == 0 {
		o.MinWidth = -1 // all frames
	}
	var ok bool
	if o.Color, ok = svgColors[f.color]; !ok {
		return o, usagef("--color %q: use kind, name, hot or grey", f.color)
	}
	switch {
	case f.given("width") && (f.width < 100 || f.width > 100_000):
		return o, usagef("--width %d: wants 100 to 100000 pixels", f.width)
	case !(f.minWidth >= 0):
		return o, usagef("--min-width %v: wants a number of pixels, 0 for all frames", f.minWidth)
	case f.given("total") && f.total <= 0:
		return o, usagef("--total %d: wants a number above 0", f.total)
	case f.reverse && f.flamechart:
		return o, usagef("--reverse and --flamechart exclude each other")
	}
	return o, nil
}

// renderSVG writes the flame graph of one event.
func renderSVG(w io.Writer, p *profile, out output) error {
	o := out.svg
	o.Event = p.oneEvent()
	o.Column = p.weightColumn(o.Event)
	if o.Title == "" && p.source != "-" && p.source != out.name { // which is that of a live recording
		o.Title = "Flame graph of " + filepath.Base(p.source)
	}
	o.Notes = append(p.origin(), p.stats.Losses()...)
	if o.ByTime && len(p.set.Moments) == 0 {
		return fmt.Errorf("%s does not have the times of its samples, which --flamechart shows: give a recording", p.source)
	}
	return render.SVG(w, p.set, o)
}

// origin is a line that says what was recorded where.
func (p *profile) origin() []string {
	var parts []string
	for _, what := range []string{"command", "host", "kernel"} {
		for _, c := range p.set.Comments {
			if value, ok := strings.CutPrefix(c, what+": "); ok {
				parts = append(parts, value)
				break
			}
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{strings.Join(parts, " · ")}
}
