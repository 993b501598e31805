package flamegraph

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strconv"

	"kprof/convert/calltree"
)

var (
	//go:embed svg/svg.css
	svgStyle string

	//go:embed svg/frames.js
	svgFrames string
	//go:embed svg/page.js
	svgPage string
	//go:embed svg/draw.js
	svgDraw string
	//go:embed svg/details.js
	svgDetails string
	//go:embed svg/search.js
	svgSearching string
	//go:embed svg/control.js
	svgControl string
)

// svgScript is a function of scriptData and the frames. It does nothing where the
// file is a part of another page.
var svgScript = "function (info, numbers) {\n'use strict'\n" +
	"const svg = document.currentScript.closest('svg')\n" +
	"if (document.documentElement !== svg) return\n\n" +
	svgFrames + "\n" + svgPage + "\n" + svgDraw + "\n" + svgDetails + "\n" + svgSearching + "\n" + svgControl + "}"

// scriptData is what the script of a flame graph knows, without its frames.
type scriptData struct {
	Title    string   `json:"title"`
	Notes    []string `json:"notes"`
	Names    []string `json:"names"`
	Kinds    []string `json:"kinds"` // by mark, "" for those that are no kind
	Marks    []string `json:"marks"`
	Legend   []legend `json:"legend"`
	Type     string   `json:"type"`
	Unit     string   `json:"unit"`
	Width    int      `json:"width"` // 0 for that of the window
	Inverted bool     `json:"inverted"`
	Reverse  bool     `json:"reverse"`
	ByTime   bool     `json:"byTime"`
	Scale    float64  `json:"scale"` // of the base's values; 0 without a base
	Search   *index   `json:"search"`
}

// kindNames are those of frames, by number.
func kindNames() (names []string) {
	for k := range calltree.NumFrameKinds {
		names = append(names, k.String())
	}
	return names
}

// script writes the script, with the frames as numbers. A frame is
//
//	levels to go up from the frame before to its parent,
//	index into names,
//	64 * mark + colour,
//	value,
//	what of it has been left out,
//	and the base's value in a comparison, or the value before it by time.
//
// json.Marshal writes "<", ">" and "&" in names as \u003c and so on, so that no
// name ends the script.
func (d *document) script() error {
	t := d.tree
	v := d.event.Values[d.o.Column]
	data := scriptData{
		Title: visible(d.o.Title), Notes: []string{visible(d.subtitle())},
		Marks: markShapes[:], Legend: d.look.legend,
		Type: visible(v.Type), Unit: visible(v.Unit), Width: d.o.Width,
		Inverted: d.o.Inverted, Reverse: d.o.Reverse, ByTime: d.o.ByTime, Scale: t.Scale,
		Kinds: kindNames(), Search: d.search,
	}
	for _, n := range d.o.Notes {
		data.Notes = append(data.Notes, visible(n))
	}
	ids := make([]uint32, len(t.Names)) // of those that are used, plus 1
	if d.search != nil {
		for _, n := range d.search.names {
			data.Names = append(data.Names, visible(t.Names[n]))
			ids[n] = uint32(len(data.Names))
		}
	}
	for i := range t.Nodes[1:] {
		if n := t.Nodes[i+1].Name; ids[n] == 0 {
			data.Names = append(data.Names, visible(t.Names[n]))
			ids[n] = uint32(len(data.Names))
		}
	}
	d.out.WriteString("<script><![CDATA[\n(")
	d.out.WriteString(svgScript)
	d.out.WriteString(")(")
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	d.out.Write(b)
	d.out.WriteString(",[")
	d.frameData(ids)
	d.out.WriteString("])\n]]></script>\n")
	return nil
}

func (d *document) frameData(ids []uint32) {
	t := d.tree
	left := make([]int64, len(t.Nodes)) // of the value, when children are taken off
	parents := make([]int, d.depth+1)
	for i := range t.Nodes {
		n := &t.Nodes[i]
		left[i] = n.Value - n.Self
		parents[n.Depth] = i
		if i > 0 {
			left[parents[n.Depth-1]] -= n.Value
		}
	}
	left[0] -= t.Nodes[0].Value - t.Sum
	depth := -1
	b := d.buf[:0]
	number := func(n int64) { b = append(strconv.AppendInt(b, n, 10), ',') }
	for i := range t.Nodes {
		n := &t.Nodes[i]
		color, mark := d.look.of(i)
		number(int64(depth + 1 - int(n.Depth)))
		number(int64(max(ids[n.Name], 1) - 1))
		number(int64(mark<<6 | color))
		number(n.Value)
		number(left[i])
		switch {
		case t.Base != nil:
			number(t.Base[i])
		case t.Start != nil:
			number(t.Start[i])
		}
		depth = int(n.Depth)
		if len(b) > 1<<12 || i == len(t.Nodes)-1 {
			d.out.Write(bytes.TrimSuffix(b, []byte(",")))
			if i < len(t.Nodes)-1 {
				d.out.WriteString(",\n")
			}
			b = b[:0]
		}
	}
	d.buf = b
}
