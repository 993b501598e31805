package flamegraph

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprof/convert/browsertest"
	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
	"kprof/perfevent/livetest"
)

// box is a frame as the page draws it, text a name: in pixels of the graph.
type box struct{ X, Y, Width float64 }

type text struct {
	Text        string
	X, Y, Width float64
}

// drawn is what is in a graph. Its paths are those that picture.go and draw.js
// write: "M x y h w v 17 h-w z" for each frame.
type drawn struct {
	Width float64
	Boxes []box
	Texts []text
}

// drawnIn returns what is drawn below an element.
func drawnIn(p *browsertest.Page, selector string) drawn {
	d := browsertest.Eval[drawn](p, `(() => {
		const g = document.querySelector('`+selector+`')
		const boxes = []
		for (const path of g.querySelectorAll('path:not(.mark)'))
			for (const m of path.getAttribute('d').matchAll(/M([\d.]+) ([\d.]+)h([\d.]+)v17h-([\d.]+)z/g))
				boxes.push({X: +m[1], Y: +m[2], Width: +m[3]})
		const texts = [...g.querySelectorAll('text')].map(t => ({
			Text: t.textContent, X: +t.getAttribute('x'), Y: +t.getAttribute('y') - 13, Width: t.getComputedTextLength()}))
		return {Width: +(g.getAttribute('width') || 1200), Boxes: boxes, Texts: texts}
	})()`)
	slices.SortFunc(d.Boxes, func(a, b box) int {
		if a.Y != b.Y {
			return int(a.Y - b.Y)
		}
		return int(math.Copysign(math.Ceil(math.Abs(a.X-b.X)), a.X-b.X))
	})
	return d
}

// check tests that each frame lies above (or below, where the root is at the top)
// one that is as wide, beside its siblings, and each name in its frame.
func (d *drawn) check(t *testing.T, inverted bool) {
	t.Helper()
	const step, rounding = 18, .75 // of tenths, and of the gap between frames
	rows := make(map[float64][]box)
	for _, b := range d.Boxes {
		rows[b.Y] = append(rows[b.Y], b)
	}
	if len(rows) < 5 || len(d.Texts) < 5 {
		t.Fatalf("%d rows and %d names are drawn", len(rows), len(d.Texts))
	}
	var rootY float64
	for y := range rows {
		if !inverted {
			rootY = max(rootY, y)
		}
	}
	for y, row := range rows {
		for i, b := range row {
			if b.X < 0 || b.X+b.Width > d.Width+.01 {
				t.Errorf("%+v lies outside of %v pixels", b, d.Width)
			}
			if i > 0 && row[i-1].X+row[i-1].Width > b.X+.11 {
				t.Errorf("%+v and %+v overlap", row[i-1], b)
			}
			if y == rootY {
				continue
			}
			below := rows[y+step]
			if inverted {
				below = rows[y-step]
			}
			if !slices.ContainsFunc(below, func(p box) bool { return p.X <= b.X+.11 && b.X+b.Width <= p.X+p.Width+rounding }) {
				t.Errorf("%+v has no frame to stand on", b)
			}
		}
	}
	for _, n := range d.Texts {
		if !slices.ContainsFunc(rows[n.Y], func(b box) bool { return b.X <= n.X && n.X+n.Width <= b.X+b.Width+.1 }) {
			t.Errorf("%q, %.1f wide, at %v %v is in no frame", n.Text, n.Width, n.X, n.Y)
		}
	}
}

// find returns the first name that begins with a text.
func (d *drawn) find(t *testing.T, prefix string) text {
	t.Helper()
	for _, n := range d.Texts {
		if strings.HasPrefix(n.Text, prefix) {
			return n
		}
	}
	t.Fatalf("no name begins with %q", prefix)
	return text{}
}

// frameOf is the frame that a name is in.
func (d *drawn) frameOf(n text) box {
	for _, b := range d.Boxes {
		if b.Y == n.Y && b.X <= n.X && n.X < b.X+b.Width {
			return b
		}
	}
	return box{}
}

// clickOn clicks on a name, and hoverOver moves the mouse there.
func clickOn(p *browsertest.Page, n text) {
	at := p.Box(".graph")
	p.Click(at.X+n.X+2, at.Y+n.Y+8)
}

func hoverOver(p *browsertest.Page, n text) {
	at := p.Box(".graph")
	p.Hover(at.X+n.X+2, at.Y+n.Y+8)
}

func svgFooter(p *browsertest.Page) string {
	return browsertest.Eval[string](p, "document.querySelector('.foot').textContent")
}

func svgHash(p *browsertest.Page) string { return browsertest.Eval[string](p, "location.hash") }

// svgSearch searches for a text as if it were typed.
func svgSearch(p *browsertest.Page, pattern string) (matched string) {
	return browsertest.Eval[string](p, `(() => {
		const i = document.querySelector('input')
		i.value = `+strconv.Quote(pattern)+`
		i.dispatchEvent(new Event('input'))
		return document.querySelector('output').textContent
	})()`)
}

func TestSVGDrawn(t *testing.T) {
	s := stackstest.GraphOf(3000, 1)
	file := svgFile(t, svg(t, s, Options{Title: "Frames & names"}))
	inverted := svgFile(t, svg(t, s, Options{Inverted: true, Reverse: true, Width: 900, Color: ColorName}))
	p := browsertest.OpenFile(t, file, browsertest.View{})
	for _, test := range []struct {
		name  string
		file  string
		v     browsertest.View
		width float64
	}{
		{"wide", file, browsertest.View{Width: 1600, Height: 900}, 1580},
		{"wide-dark", file, browsertest.View{Width: 1600, Height: 900, Dark: true}, 1580},
		{"narrow", file, browsertest.View{Width: 400, Height: 800}, 392},
		{"narrow-dark", file, browsertest.View{Width: 400, Height: 800, Dark: true}, 392},
		{"phone", file, browsertest.View{Width: 400, Height: 800, Mobile: true}, 392},
		{"inverted", inverted, browsertest.View{Width: 1000, Height: 900}, 880},
	} {
		p.View(test.v)
		if test.file != file || test.v.Mobile {
			p.Go(browsertest.FileURL(t, test.file))
		}
		p.Wait(fmt.Sprintf("document.querySelector('.graph').getAttribute('width') == %v", test.width))
		d := drawnIn(p, ".graph")
		d.check(t, test.name == "inverted")
		if w := browsertest.Eval[int64](p, "document.documentElement.scrollWidth"); w > test.v.Width {
			t.Errorf("%s: the page is %d pixels wide", test.name, w)
		}
		back := browsertest.Eval[string](p, "getComputedStyle(document.querySelector('.page')).backgroundColor")
		if dark := back != "rgb(255, 255, 255)"; dark != test.v.Dark {
			t.Errorf("%s: the background is %s", test.name, back)
		}
		p.Screenshot("svg-" + test.name)
	}
}

// TestSVGResize: what is drawn fits the width, and stays where only the height changes. A click
// is lost if what is pressed is not there any more when the button is let go.
func TestSVGResize(t *testing.T) {
	p := browsertest.OpenFile(t, svgFile(t, svg(t, stackstest.GraphOf(3000, 1), Options{})), browsertest.View{Width: 1000, Height: 900})
	const twoFrames = "await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));"
	first := "document.querySelector('.graph > g').firstElementChild"
	p.Do(twoFrames + first + ".kept = true")
	p.View(browsertest.View{Width: 1000, Height: 700})
	p.Wait("innerHeight == 700")
	p.Do(twoFrames)
	if !browsertest.Eval[bool](p, "!!"+first+".kept") {
		t.Error("another height has all drawn anew")
	}
	p.View(browsertest.View{Width: 800, Height: 700})
	p.Wait("document.querySelector('.graph').getAttribute('width') == 780")
	if browsertest.Eval[bool](p, "!!"+first+".kept") {
		t.Error("of another width nothing is drawn anew")
	}
	d := drawnIn(p, ".graph")
	d.check(t, false)
}

// TestSVGImage: where no script runs, the picture is what is seen.
func TestSVGImage(t *testing.T) {
	text := svg(t, stackstest.GraphOf(3000, 1), Options{})
	file := svgFile(t, text)
	page := filepath.Join(filepath.Dir(file), "page.html")
	_, body, _ := strings.Cut(text, "\n") // as a part of a page, where its elements can be asked
	tag, _, _ := strings.Cut(text, "\n")
	html := "<!doctype html><meta charset=utf-8><body style='margin:0'><img src=graph.svg>" + tag + body
	livetest.WriteFile(t, page, html)
	p := browsertest.OpenFile(t, page, browsertest.View{Width: 1200, Height: 900})
	d := drawnIn(p, "#frames")
	d.check(t, false)
	size := browsertest.Eval[[]float64](p, "(i => [i.naturalWidth, i.naturalHeight])(document.querySelector('img'))")
	if size[0] != 1200 || size[1] < 300 {
		t.Errorf("the image is %v pixels", size)
	}
	p.Screenshot("svg-image")
}

func TestSVGZoom(t *testing.T) {
	file := svgFile(t, svg(t, stackstest.GraphOf(3000, 1), Options{}))
	p := browsertest.OpenFile(t, file, browsertest.View{Width: 1000, Height: 900})
	whole := drawnIn(p, ".graph")
	if !browsertest.Eval[bool](p, "document.querySelector('button').disabled") {
		t.Error("zoom can be reset where there is none")
	}
	worker := whole.find(t, "worker/1")
	hoverOver(p, worker)
	p.Wait("document.querySelector('.foot').textContent.startsWith('worker/1 ')")
	details := svgFooter(p)
	share := 100 * whole.frameOf(worker).Width / whole.Width
	if m := regexp.MustCompile(`([\d.]+)% of all`).FindStringSubmatch(details); m == nil {
		t.Errorf("details without a share: %s", details)
	} else if got, _ := strconv.ParseFloat(m[1], 64); math.Abs(got-share) > .2 {
		t.Errorf("a share of %s for a frame with %.2f%% of the width", m[1], share)
	}

	clickOn(p, worker)
	p.Wait("location.hash.startsWith('#zoom=')")
	first := svgHash(p)
	zoomed := drawnIn(p, ".graph")
	zoomed.check(t, false)
	if b := zoomed.frameOf(zoomed.find(t, "worker/1")); math.Abs(b.Width-zoomed.Width) > 1 {
		t.Errorf("the frame that was clicked is %v wide, of %v", b.Width, zoomed.Width)
	}
	if b := zoomed.frameOf(zoomed.find(t, "all")); math.Abs(b.Width-zoomed.Width) > 1 {
		t.Errorf("the root is %v wide, of %v", b.Width, zoomed.Width)
	}
	if slices.ContainsFunc(zoomed.Texts, func(n text) bool { return strings.HasPrefix(n.Text, "worker/2") }) {
		t.Error("what is beside is still there")
	}
	p.Screenshot("svg-zoomed")

	// A link shows the same view.
	link := browsertest.Eval[string](p, "location.href")
	p2 := browsertest.Open(t, link, browsertest.View{Width: 1000, Height: 900})
	if again := drawnIn(p2, ".graph"); !slices.Equal(again.Boxes, zoomed.Boxes) {
		t.Error("the address does not show the same view")
	}

	// Deeper, then back step by step.
	clickOn(p, zoomed.find(t, "f2_"))
	p.Wait("location.hash != '" + first + "'")
	p.Back()
	p.Wait("location.hash == '" + first + "'")
	if again := drawnIn(p, ".graph"); !slices.Equal(again.Boxes, zoomed.Boxes) {
		t.Error("going back does not show what was there before")
	}
	p.ClickOn("button")
	p.Wait("!location.hash.includes('zoom')")
	if again := drawnIn(p, ".graph"); !slices.Equal(again.Boxes, whole.Boxes) {
		t.Error("Reset zoom does not show all")
	}
	clickOn(p, worker)
	p.Wait("location.hash.startsWith('#zoom=')")
	p.Keys(browsertest.Escape)
	p.Wait("!location.hash.includes('zoom')")

	// An address that is not of this graph.
	p.Do("location.hash = '#zoom=123456789&search=('")
	p.Wait("document.querySelector('output').textContent != ''")
	if again := drawnIn(p, ".graph"); len(again.Boxes) != len(whole.Boxes) {
		t.Error("an unknown frame in the address does not show all")
	}
}

func TestSVGKeyboard(t *testing.T) {
	file := svgFile(t, svg(t, stackstest.GraphOf(3000, 1), Options{}))
	p := browsertest.OpenFile(t, file, browsertest.View{Width: 1000, Height: 900})
	press := func(keys, want string) {
		t.Helper()
		p.Keys(keys)
		if got := svgFooter(p); !strings.HasPrefix(got, want) {
			t.Errorf("after a key the details are of %q, not of %s", got, want)
		}
	}
	press(browsertest.Up, "all ")
	p.Keys(browsertest.Up) // the widest of the workers
	for range 3 {
		p.Keys(browsertest.Left)
	}
	press(browsertest.Left, "worker/0 ")
	press(browsertest.Right, "worker/1 ")
	press(browsertest.Right, "worker/2 ")
	press(browsertest.Right, "worker/2 ")
	press(browsertest.Down, "all ")
	p.Keys(browsertest.Up + browsertest.Enter)
	p.Wait("location.hash.startsWith('#zoom=')")

	p.Ctrl("f")
	p.Keys("WORKER")
	p.Wait("location.hash.includes('search=WORKER')")
	if got := browsertest.Eval[string](p, "document.querySelector('output').textContent"); got != "0.00% matched here, 0.00% in all" {
		t.Errorf("capitals are searched as they are, and found %q", got)
	}
	p.Keys(browsertest.Escape)
	p.Wait("!location.hash.includes('search')")
	if !strings.Contains(svgHash(p), "zoom") {
		t.Error("Escape in a search ends the zoom too")
	}
	p.Keys(browsertest.Escape)
	p.Wait("!location.hash.includes('zoom')")
	p.Keys("/" + "work")
	p.Wait("location.hash == '#search=work'")
	if got := browsertest.Eval[string](p, "document.querySelector('output').textContent"); got != "100.00% matched" {
		t.Errorf("what all are below is found in %q", got)
	}
}

// TestSVGSearch: the share of each function is the cumulative one of pprof.
func TestSVGSearch(t *testing.T) {
	s := stackstest.GraphOf(500, 2)
	p := browsertest.OpenFile(t, svgFile(t, svg(t, s, Options{MinWidth: -1})), browsertest.View{})
	total := s.Totals(0)[0]
	for name, selfAndCum := range stackstest.PprofTop(t, s) {
		name = strings.TrimSuffix(name, " (inline)")
		want := fmt.Sprintf("%.2f%% matched", 100*float64(selfAndCum[1])/float64(total))
		if got := svgSearch(p, "^"+regexp.QuoteMeta(name)+"$"); got != want {
			t.Errorf("%s: %s, where pprof has %d of %d, %s", name, got, selfAndCum[1], total, want)
		}
	}
	if got := svgSearch(p, "f1"); got == "" || browsertest.Eval[int](p, "document.querySelectorAll('path.found').length") == 0 {
		t.Errorf("what is found (%s) is not shown", got)
	}
	p.Screenshot("svg-search")
	if got := svgSearch(p, "f("); got != "not a regular expression" {
		t.Errorf("a broken pattern: %q", got)
	}
	if got := svgSearch(p, ""); got != "" || browsertest.Eval[int](p, "document.querySelectorAll('path.found').length") != 0 {
		t.Errorf("without a pattern: %q", got)
	}
}

// TestSVGHostile: names are text, and nothing else.
func TestSVGHostile(t *testing.T) {
	var b bytes.Buffer
	s := hostileSet()
	if _, err := Write(&b, s, Options{Title: stackstest.Hostile[2], Notes: stackstest.Hostile, MinWidth: -1}); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(b.String(), "<script>", "<script>window.pwned=()=>{window.was=true}</script><script>", 1)
	p := browsertest.OpenFile(t, svgFile(t, text), browsertest.View{Width: 1600, Height: 900})
	p.Wait("document.querySelector('.graph text')")
	for _, name := range slices.Concat(stackstest.Hostile, wideNames) {
		want := visible(name)
		if name == "" {
			want = "[unknown]"
		}
		share := svgSearch(p, "^"+regexp.QuoteMeta(want)+"$")
		if share != fmt.Sprintf("%.2f%% matched", 100/float64(len(stackstest.Hostile)+len(wideNames))) {
			t.Errorf("%.40q: %s", name, share)
		}
	}
	svgSearch(p, "")
	p.Keys(browsertest.Up + browsertest.Up)
	for range s.NumSamples() {
		p.Keys(browsertest.Left)
	}
	seen := make(map[string]bool)
	for range s.NumSamples() {
		seen[browsertest.Eval[string](p, "document.querySelector('.foot b').textContent")] = true
		p.Keys(browsertest.Right)
	}
	for _, name := range slices.Concat(stackstest.Hostile, wideNames) {
		if name != "" && !seen[visible(name)] {
			t.Errorf("%.40q is not shown as it is", name)
		}
	}
	if browsertest.Eval[bool](p, "!!window.was || !!document.querySelector('img, b b, script + script + script')") {
		t.Error("a name was run, or is an element")
	}
	drawn := drawnIn(p, ".graph")
	for _, n := range drawn.Texts {
		if b := drawn.frameOf(n); n.X+n.Width > b.X+b.Width+.1 {
			t.Errorf("%.40q is %v wide in a frame of %v", n.Text, n.Width, b.Width)
		}
	}
	p.Screenshot("svg-hostile")
}

func TestDiffSVG(t *testing.T) {
	file := func(rows ...stackstest.Row) *stacks.Set { return stackstest.SetOf(rows) }
	row := func(weight int64, outermostFirst ...string) stackstest.Row {
		r := stackstest.NewRow("x", 1, weight)
		for _, n := range slices.Backward(outermostFirst) {
			r.Frames = append(r.Frames, stackstest.Frame{Name: n, DSO: "u"})
		}
		return r
	}
	base := file(row(500, "main", "same", "leaf"), row(300, "main", "vanished", "with_it"), row(200, "main", "grown"))
	is := file(row(500, "main", "same", "leaf"), row(100, "main", "fresh"), row(400, "main", "grown"))
	var b bytes.Buffer
	if _, err := WriteDiff(&b, base, is, DiffOptions{}); err != nil {
		t.Fatal(err)
	}
	p := browsertest.OpenFile(t, svgFile(t, b.String()), browsertest.View{Width: 1020, Height: 500})
	d := drawnIn(p, ".graph")
	for name, want := range map[string]struct {
		width   float64
		details string
	}{
		"vanished": {150, "vanished 0 samples · 0.00% of all · base 300 samples, 30.00% · gone · −30.00 points"},
		"with_it":  {150, "with_it 0 samples · 0.00% of all · base 300 samples, 30.00% · gone · −30.00 points"},
		"grown":    {300, "grown 400 samples · 40.00% of all · base 200 samples, 20.00% · +100.00% of its share · +20.00 points"},
		"fresh":    {50, "fresh 100 samples · 10.00% of all · base 0 samples, 0.00% · new · +10.00 points"},
		"same":     {500, "same 500 samples · 50.00% of all · base 500 samples, 50.00% · +0.00% of its share · +0.00 points"},
	} {
		n := d.find(t, name[:3])
		if w := d.frameOf(n).Width; math.Abs(w-want.width) > 1 {
			t.Errorf("%s is %v wide, not %v", name, w, want.width)
		}
		hoverOver(p, n)
		p.Wait("document.querySelector('.foot b').textContent == '" + name + "'")
		if got := svgFooter(p); got != want.details {
			t.Errorf("%q, not %q", got, want.details)
		}
	}
	p.Screenshot("svg-diff")
	p.View(browsertest.View{Width: 400, Height: 500, Dark: true})
	p.Wait("document.querySelector('.graph').getAttribute('width') == 392")
	p.Screenshot("svg-diff-narrow-dark")
}

// TestLargeSVG: of numbers that floating point may have rounded it says so.
func TestLargeSVG(t *testing.T) {
	for weight, want := range map[int64]string{
		1<<53 - 1: "all 9,007,199,254,740,991 samples · 100.00% of all",
		1 << 60:   "all ≈ 1,152,921,504,606,847,000 samples · 100.00% of all",
	} {
		r := stackstest.NewRow("x", 1, weight)
		r.Frames = append(r.Frames, stackstest.Frame{Name: "main", DSO: "u"})
		p := browsertest.OpenFile(t, svgFile(t, svg(t, stackstest.SetOf([]stackstest.Row{r}), Options{})), browsertest.View{})
		p.Wait("document.querySelector('.foot b').textContent == 'all'")
		if got := svgFooter(p); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
