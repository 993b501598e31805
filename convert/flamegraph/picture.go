package flamegraph

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"kprof/convert/printable"
)

// The picture's measures, in pixels.
const (
	pad      = 10
	rowPitch = 18 // from frame to frame
	rowGap   = 1
	fontSize = 12
	// textWidth is how wide a letter is at most, among the fixed-width fonts that
	// people have, and wideWidth another character.
	textWidth = .62 * fontSize
	wideWidth = 1.9 * fontSize
	textPad   = 4
	markSize  = 6
	leastText = 3 // letters that a label has at least
	// leastDrawn is how wide a frame is at least to be drawn. Narrower ones are
	// seen when they are zoomed into. The script has the same.
	leastDrawn = .3
)

// picture writes the file up to its script: what is seen where no script runs.
func (d *document) picture() {
	w := d.o.width()
	header := d.header()
	rows := int(d.drawn) + 1
	top := header.height
	h := top + rows*rowPitch + pad
	fmt.Fprintf(d.out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", w, h, w, h)
	d.out.WriteString("<title>")
	d.text(d.o.Title)
	d.out.WriteString("</title>\n<style>\n")
	d.out.WriteString(svgStyle)
	d.out.WriteString(d.look.css())
	d.out.WriteString("</style>\n<g id=\"picture\">\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n")
	header.write(d)
	fmt.Fprintf(d.out, `<g id="frames" transform="translate(0 %d)">`+"\n", top)
	d.frames()
	d.out.WriteString("</g>\n</g>\n")
}

// css are the rules of the look's colours.
func (l *look) css() string {
	var light, dark strings.Builder
	for i, c := range l.colors {
		fmt.Fprintf(&light, ".c%d{fill:%v}", i, c.light)
		fmt.Fprintf(&dark, ".c%d{fill:%v}", i, c.dark)
	}
	return light.String() + "\n@media(prefers-color-scheme:dark){" + dark.String() + "}\n"
}

// header is what stands above the frames.
type header struct {
	lines  []string
	height int
}

func (d *document) header() header {
	h := header{lines: append([]string{d.subtitle()}, d.o.Notes...)}
	h.height = 36 + 16*len(h.lines) + 24
	return h
}

// subtitle says what is drawn.
func (d *document) subtitle() string {
	t := d.tree
	v := d.event.Values[d.o.Column]
	s := fmt.Sprintf("%s: %s", d.event.Name, amount(t.Nodes[0].Value, v.Type, v.Unit))
	switch {
	case t.Base != nil:
		s += fmt.Sprintf(", base %s; widths are the mean of both", amount(t.Base[0], v.Type, v.Unit))
		if t.Scale != 1 {
			s += fmt.Sprintf(", the base's times %s", printable.Digits(t.Scale, 4))
		}
	case d.o.Reverse:
		s += "; callers"
	case d.o.ByTime:
		s += "; in the order of time"
	}
	return s
}

// amount is a value with its unit.
func amount(v int64, typ, unit string) string {
	if _, short := printable.Scale(0, unit); short != "" {
		return printable.Value(v, unit) + " of " + typ
	}
	switch unit {
	case "count", "", typ:
		return grouped(v) + " " + typ
	}
	return grouped(v) + " " + unit + " of " + typ
}

func (h header) write(d *document) {
	fmt.Fprintf(d.out, `<text class="title" x="%d" y="26">`, pad)
	d.text(d.o.Title)
	d.out.WriteString("</text>\n")
	y := 46
	for _, line := range h.lines {
		fmt.Fprintf(d.out, `<text class="note" x="%d" y="%d">`, pad, y)
		d.text(cutToFit(visible(line), d.o.span()))
		d.out.WriteString("</text>\n")
		y += 16
	}
	x := pad
	for _, e := range d.look.legend {
		swatch := `class="c` + strconv.Itoa(e.Color) + `"`
		if e.Color < 0 {
			swatch = `class="empty"`
		}
		fmt.Fprintf(d.out, `<rect %s x="%d" y="%d" width="14" height="12" rx="1"/>`, swatch, x, y-9)
		if m := markShapes[e.Mark]; m != "" {
			fmt.Fprintf(d.out, `<path class="mark" d="M%d %d%s"/>`, x+4, y-6, m)
		}
		fmt.Fprintf(d.out, `<text class="note" x="%d" y="%d">%s</text>`+"\n", x+19, y+1, e.Text)
		x += 19 + 7*len(e.Text) + 14
	}
}

// frames draws all frames: those of one colour as one path, then marks and names.
func (d *document) frames() {
	t := d.tree
	paths := make([][]byte, len(d.look.colors))
	var marks, names []byte
	scale := d.o.span() / t.Weight(0)
	x := make([]float64, len(t.Nodes)) // where each begins
	next := make([]float64, d.depth+2) // by depth: where the next begins
	next[0] = pad
	for i := 0; i < len(t.Nodes); i++ {
		n := &t.Nodes[i]
		x[i] = next[n.Depth]
		if t.Start != nil {
			x[i] = pad + scale*float64(t.Start[i])
		}
		width := scale * t.Weight(i)
		next[n.Depth], next[n.Depth+1] = x[i]+width, x[i]
		if !d.visible(i) {
			i = int(n.End) - 1
			continue
		}
		row := int(n.Depth)
		if !d.o.Inverted {
			row = int(d.drawn) - row
		}
		y := row * rowPitch
		left, right := tenth(x[i]), tenth(x[i]+width)
		color, mark := d.look.of(i)
		paths[color] = appendBox(paths[color], left, right, y)
		if room := right - left; room > textPad+markSize+2 {
			at := left + textPad
			if m := markShapes[mark]; m != "" {
				marks = appendMove(marks, at, y+(rowPitch-rowGap-markSize)/2)
				marks = append(marks, m...)
				at += markSize + textPad
			}
			if label := fitting(d.name(i), right-textPad/2-at); label != "" {
				names = append(names, `<text x="`...)
				names = appendTenth(names, at)
				names = append(names, `" y="`...)
				names = strconv.AppendInt(names, int64(y+13), 10)
				names = append(names, `">`...)
				names = appendXML(names, label)
				names = append(names, "</text>\n"...)
			}
		}
	}
	for c, p := range paths {
		if len(p) > 0 {
			fmt.Fprintf(d.out, `<path class="c%d" d="%s"/>`+"\n", c, p)
		}
	}
	if len(marks) > 0 {
		fmt.Fprintf(d.out, `<path class="mark" d="%s"/>`+"\n", marks)
	}
	d.out.WriteString("<g class=\"names\">\n")
	d.out.Write(names)
	d.out.WriteString("</g>\n")
}

// name is what a frame is called.
func (d *document) name(i int) string {
	if i == 0 {
		return "all"
	}
	return visible(d.tree.Names[d.tree.Nodes[i].Name])
}

// visible is a name with what cannot be seen, would be obeyed or is no part of
// XML replaced by U+FFFD.
func visible(name string) string {
	return strings.Map(func(r rune) rune {
		if r == 0xfffe || r == 0xffff {
			return utf8.RuneError
		}
		return r
	}, printable.Text(name))
}

// fitting is as much of a name as fits into a width in pixels, without the path
// in front of it if need be; "" if that is hardly any of it.
func fitting(name string, room float64) string {
	label := cutToFit(name, room)
	if len(label) < len(name) {
		label = cutToFit(name[pathLen(name):], room)
	}
	return label
}

// pathLen is how much of a name is the path of a Go package: of
// "net/http.(*Client).Do", "net/". Threads of the kernel have names with "/" too,
// but no dot.
func pathLen(name string) int {
	end := strings.IndexAny(name, "(<[ ")
	if end < 0 {
		end = len(name)
	}
	n := strings.LastIndexByte(name[:end], '/') + 1
	if !strings.Contains(name[n:], ".") {
		return 0
	}
	return n
}

func cutToFit(name string, room float64) string {
	width := 0.0
	cut := 0 // where there is still room for "…"
	for i, r := range name {
		if width+textWidth <= room {
			cut = i
		}
		if width += charWidth(r); width > room {
			if utf8.RuneCountInString(name[:cut]) < leastText-1 {
				return ""
			}
			return name[:cut] + "…"
		}
	}
	return name
}

func charWidth(r rune) float64 {
	if r < 0x7f {
		return textWidth
	}
	return wideWidth
}

// text writes text so that it is nothing but text.
func (d *document) text(s string) {
	d.buf = appendXML(d.buf[:0], visible(s))
	d.out.Write(d.buf)
}

func appendXML(b []byte, s string) []byte {
	if !strings.ContainsAny(s, "<>&\"'\r\n\t") {
		return append(b, s...)
	}
	var e strings.Builder
	if err := xml.EscapeText(&e, []byte(s)); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	return append(b, e.String()...)
}

// appendBox appends a frame's outline to a path: with a gap to the right, where
// it is wide enough.
func appendBox(p []byte, left, right float64, y int) []byte {
	width := right - left
	switch {
	case width >= 3:
		width -= .6
	case width < .1:
		width = .1
	}
	p = appendMove(p, left, y)
	p = append(p, 'h')
	p = appendTenth(p, width)
	p = append(p, "v17h-"...)
	p = appendTenth(p, width)
	return append(p, 'z')
}

func appendMove(p []byte, x float64, y int) []byte {
	p = append(p, 'M')
	p = appendTenth(p, x)
	p = append(p, ' ')
	return strconv.AppendInt(p, int64(y), 10)
}

func tenth(x float64) float64 { return math.Round(10*x) / 10 }

// appendTenth appends a number that is not negative with one digit behind the
// point, where it is not 0.
func appendTenth(b []byte, x float64) []byte {
	n := int64(math.Round(10 * x))
	if whole := n / 10; whole > 0 || n%10 == 0 {
		b = strconv.AppendInt(b, whole, 10)
	}
	if n%10 != 0 {
		b = append(b, '.', byte('0'+n%10))
	}
	return b
}
