package flamegraph

import (
	"fmt"
	"hash/fnv"
	"io"
	"math"

	"kprof/convert/calltree"
)

// look is how frames look: a colour, one for light and one for dark
// surroundings, and a mark for those who do not tell the colours apart.
type look struct {
	colors []twoColors
	legend []legend
	// of returns the colour of a node, an index into colors, and its mark, one
	// into markShapes.
	of func(i int) (color, mark int)
}

type legend struct {
	Color int    `json:"color"`
	Mark  int    `json:"mark"`
	Text  string `json:"text"`
}

// rgb is a colour, 0 to 255.
type rgb struct{ r, g, b float64 }

type twoColors struct{ light, dark rgb }

func (c rgb) String() string {
	return fmt.Sprintf("#%02x%02x%02x", byte(math.Round(c.r)), byte(math.Round(c.g)), byte(math.Round(c.b)))
}

func hex(c uint32) rgb { return rgb{float64(c >> 16 & 255), float64(c >> 8 & 255), float64(c & 255)} }

// mix is c with a part, 0 to 1, of d.
func (c rgb) mix(d rgb, part float64) rgb {
	return rgb{c.r + (d.r-c.r)*part, c.g + (d.g-c.g)*part, c.b + (d.b-c.b)*part}
}

// hsl is a colour by hue in degrees, saturation and lightness 0 to 1.
func hsl(h, s, l float64) rgb {
	f := func(n float64) float64 {
		k := math.Mod(n+h/30, 12)
		return 255 * (l - s*min(l, 1-l)*max(-1, min(k-3, 9-k, 1)))
	}
	return rgb{f(0), f(8), f(4)}
}

var (
	white = hex(0xffffff)
	black = hex(0x000000)
)

// kindColors follow flamegraph.pl where it has a colour: orange for the kernel,
// aqua for what is inlined, green for JIT code.
var kindColors = [calltree.NumFrameKinds]twoColors{
	calltree.FrameUnknown: {hex(0xc9c9cf), hex(0x4c4e57)},
	calltree.FrameUser:    {hex(0xf0937f), hex(0x8c4638)},
	calltree.FrameKernel:  {hex(0xf5b25e), hex(0x87591a)},
	calltree.FrameModule:  {hex(0xe7d24e), hex(0x6b6114)},
	calltree.FrameBPF:     {hex(0xc39be8), hex(0x664494)},
	calltree.FrameJIT:     {hex(0x93d084), hex(0x366f2f)},
	calltree.FrameInlined: {hex(0x7fcfcf), hex(0x236a6c)},
	calltree.FrameGuest:   {hex(0x94b6ee), hex(0x3b5694)},
	calltree.FrameProcess: {hex(0xdfe2e8), hex(0x363a44)},
}

// shades are how many lighter ones there are of each colour, so that frames of
// one kind can be told apart.
const shades = 3

// markShapes are shapes in a square of 6, drawn into the left end of a frame: by
// calltree.FrameKind, then those of a comparison.
var markShapes = [...]string{
	calltree.FrameUnknown: "m2 0h2v2h2v2h-2v2h-2v-2h-2v-2h2z",                  // plus
	calltree.FrameUser:    "",                                                  // most frames
	calltree.FrameKernel:  "h6v6h-6z",                                          // square
	calltree.FrameModule:  "h6v6h-6zm1.5 1.5v3h3v-3z",                          // square with a hole
	calltree.FrameBPF:     "m3 0 3 3-3 3-3-3z",                                 // diamond
	calltree.FrameJIT:     "l6 3-6 3z",                                         // triangle to the right
	calltree.FrameInlined: "h1.8v4.2h4.2v1.8h-6z",                              // angle
	calltree.FrameGuest:   "m3 0 3 3-3 3-3-3zm0 2-1 1 1 1 1-1z",                // diamond with a hole
	calltree.FrameProcess: "m0 .5h6v1.8h-6zm0 3.2h6v1.8h-6z",                   // two bars
	markMore:              "m3 0 3 6h-6z",                                      // triangle up
	markLess:              "h6l-3 6z",                                          // triangle down
	markNew:               "m2 0h2v2h2v2h-2v2h-2v-2h-2v-2h2z",                  // plus
	markGone:              "m1 0 2 2 2-2 1 1-2 2 2 2-1 1-2-2-2 2-1-1 2-2-2-2z", // cross
}

const (
	markMore = int(calltree.NumFrameKinds) + iota
	markLess
	markNew
	markGone
)

const markNone = int(calltree.FrameUser)

func newLook(d *document) look {
	if d.tree.Base != nil {
		return diffLook(d.tree)
	}
	t := d.tree
	hash := nameHashes(t)
	l := look{}
	seen := [calltree.NumFrameKinds]bool{}
	for i := range t.Nodes {
		if i > 0 {
			seen[t.Nodes[i].Kind] = true
		}
	}
	switch d.o.Color {
	case ColorKind:
		for _, c := range kindColors {
			for s := range shades {
				part := .14 * float64(s)
				l.colors = append(l.colors, twoColors{c.light.mix(white, 1.6*part), c.dark.mix(black, part)})
			}
		}
		l.of = func(i int) (int, int) {
			if i == 0 {
				return int(calltree.FrameProcess) * shades, markNone
			}
			k := int(t.Nodes[i].Kind)
			return k*shades + int(hash[t.Nodes[i].Name]%shades), k
		}
	case ColorName:
		for h := range 24 {
			l.colors = append(l.colors, twoColors{hsl(float64(h)*15, .62, .76), hsl(float64(h)*15, .34, .31)})
		}
	case ColorHot:
		for h := range 12 {
			l.colors = append(l.colors, twoColors{hsl(4+float64(h)*4, .85, .68), hsl(4+float64(h)*4, .55, .31)})
		}
	case ColorGrey:
		for h := range shades {
			l.colors = append(l.colors, twoColors{hsl(0, 0, .84+.04*float64(h)), hsl(0, 0, .27+.03*float64(h))})
		}
	}
	if l.of == nil {
		n := len(l.colors)
		l.colors = append(l.colors, kindColors[calltree.FrameProcess])
		l.of = func(i int) (int, int) {
			switch k := t.Nodes[i].Kind; {
			case i == 0:
				return n, markNone
			case k == calltree.FrameProcess:
				return n, int(k)
			default:
				return int(hash[t.Nodes[i].Name] % uint32(n)), int(k)
			}
		}
	}
	for _, k := range []calltree.FrameKind{calltree.FrameProcess, calltree.FrameUser, calltree.FrameInlined, calltree.FrameJIT, calltree.FrameKernel, calltree.FrameModule, calltree.FrameBPF, calltree.FrameGuest, calltree.FrameUnknown} {
		if seen[k] {
			c := -1
			if d.o.Color == ColorKind {
				c = int(k) * shades
			}
			l.legend = append(l.legend, legend{c, int(k), k.String()})
		}
	}
	return l
}

// nameHashes is a number for each name that is the same in all graphs.
func nameHashes(t *calltree.Tree) []uint32 {
	hash := make([]uint32, len(t.Names))
	for i, n := range t.Names {
		f := fnv.New32a()
		io.WriteString(f, n)
		hash[i] = f.Sum32() >> 8
	}
	return hash
}

// Steps of a comparison's colours, to both sides of what is the same.
const diffSteps = 5

var (
	diffLess = [diffSteps]twoColors{
		{hex(0xdde8f8), hex(0x333d4d)}, {hex(0xbdd4f4), hex(0x344763)}, {hex(0x98bcee), hex(0x345384)},
		{hex(0x75a4e6), hex(0x3460a6)}, {hex(0x5a91e0), hex(0x356fc9)},
	}
	diffMore = [diffSteps]twoColors{
		{hex(0xfae2dc), hex(0x4b3634)}, {hex(0xf8c6ba), hex(0x653a36)}, {hex(0xf5a797), hex(0x843e37)},
		{hex(0xef8876), hex(0xa4423a)}, {hex(0xe87060), hex(0xc24a40)},
	}
	diffSame = twoColors{hex(0xe4e4e8), hex(0x3b3d45)}
)

// Limits of the steps: the difference as a part of both together, and as a part
// of all. A step is reached when both limits are.
var (
	diffRatios = [diffSteps]float64{.01, .05, .12, .24, .4}
	diffShares = [diffSteps]float64{.0001, .0005, .001, .002, .004}
)

func diffLook(t *calltree.Tree) look {
	l := look{}
	for i := range diffLess {
		l.colors = append(l.colors, diffLess[diffSteps-1-i])
	}
	l.colors = append(l.colors, diffSame)
	l.colors = append(l.colors, diffMore[:]...)
	total := 2 * t.Weight(0)
	l.of = func(i int) (int, int) {
		is, was := float64(t.Nodes[i].Value), t.Scale*float64(t.Base[i])
		change := math.Abs(is - was)
		step := 0
		for step < diffSteps && change >= diffRatios[step]*(is+was) && 2*change >= diffShares[step]*total {
			step++
		}
		switch {
		case was == 0 && is > 0:
			return diffSteps + max(step, 2), markNew
		case is == 0:
			return diffSteps - max(step, 2), markGone
		case step == 0:
			return diffSteps, markNone
		case is > was:
			return diffSteps + step, markMore
		default:
			return diffSteps - step, markLess
		}
	}
	l.legend = []legend{
		{diffSteps + 4, markMore, "more than in the base"},
		{diffSteps - 4, markLess, "less"},
		{diffSteps + diffSteps, markNew, "new"},
		{0, markGone, "gone"},
		{diffSteps, markNone, "the same"},
	}
	return l
}
