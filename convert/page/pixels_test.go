package page

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"kprof/convert/browsertest"
	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
)

// sparseSet has levels of many narrow boxes, some nearly full and some nearly empty.
func sparseSet() *stacks.Set {
	r := rand.New(rand.NewPCG(3, 9))
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: stackstest.CountAndTime})
	var locs []uint32
	for i := range 400 {
		l := s.AddLocation(stacks.NoMapping, uint64(i), stacks.Kind(1+i%3))
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: fmt.Sprintf("f%d", i)})})
		locs = append(locs, l)
	}
	for range 6000 {
		stack := []uint32{locs[r.IntN(3)], locs[r.IntN(40)]}
		for len(stack) < 12 && r.IntN(5) > 0 {
			stack = append(stack, locs[r.IntN(len(locs))])
		}
		for i, j := 0, len(stack)-1; i < j; i, j = i+1, j-1 {
			stack[i], stack[j] = stack[j], stack[i]
		}
		n := 1 + r.Int64N(3)
		if r.IntN(50) == 0 {
			n = 200
		}
		s.Add(0, s.Intern(stack), 0, n, n)
	}
	return s
}

// paintedAsWide compares, level by level and pixel by pixel, what is painted with what
// the boxes cover, reckoned from each of them.
func paintedAsWide(t *testing.T, p *browsertest.Page, what string) (levels int) {
	t.Helper()
	type level struct {
		Level         int
		Painted, True float64 // in pixels
		Worst         float64 // of one pixel
	}
	for _, l := range browsertest.Eval[[]level](p, `(() => {
		const c = kprof.flame, l = c.layout, [from, to] = c.range, out = [], old = c.colors;
		c.colors = {...old, fills: old.fills.map(() => [0, 0, 0]), faded: old.faded.map(() => [0, 0, 0]), match: [0, 0, 0], ground: [255, 255, 255], edge: 1};
		c.draw();
		const width = c.canvas.width, k = width / (to - from), ratio = width / c.width;
		for (let level = 0; level < l.levels; level++) {
			const y = Math.round((c.y(level) + 16) * ratio); // below the text
			if (y < 0 || y >= c.canvas.height) continue;
			const cover = new Float64Array(width);
			for (let i = l.start[level]; i < l.start[level + 1]; i++) {
				const left = Math.max((l.x0[i] - from) * k, 0), right = Math.min((l.x1[i] - from) * k, width);
				for (let x = Math.floor(left); x < Math.min(Math.ceil(right), width); x++) cover[x] += Math.min(right, x + 1) - Math.max(left, x);
			}
			const pixels = c.context.getImageData(0, y, width, 1).data;
			let painted = 0, real = 0, worst = 0;
			for (let x = 0; x < width; x++) {
				const dark = 1 - pixels[4 * x] / 255;
				painted += dark;
				real += cover[x];
				worst = Math.max(worst, Math.abs(dark - cover[x]));
			}
			out.push({Level: level, Painted: painted, True: real, Worst: worst});
		}
		c.colors = old;
		c.draw();
		return out;
	})()`) {
		levels++
		if d := l.Painted - l.True; d > 1 || d < -1 || l.Worst > 0.005 {
			t.Errorf("%s: level %d is painted %.2f pixels wide, and is %.2f; a pixel is off by %.3f", what, l.Level, l.Painted, l.True, l.Worst)
		}
	}
	return levels
}

// TestPixels: of each pixel as much is painted as boxes cover of it, however narrow they
// are, at any zoom.
func TestPixels(t *testing.T) {
	for name, s := range map[string]*stacks.Set{"sparse": sparseSet(), "frames of all kinds": pageSet()} {
		p := openHTML(t, s, browsertest.View{Width: 1100, Height: 900})
		if n := paintedAsWide(t, p, name); n < 5 {
			t.Errorf("%s: %d levels are compared", name, n)
		}
		p.Screenshot("html-pixels-" + strings.Fields(name)[0])
		for _, part := range [][2]float64{{0.1, 0.9}, {0.31, 0.37}, {0.5, 0.5003}} {
			p.Do(fmt.Sprintf("const c = kprof.flame, {min, max} = c.layout; c.setRange(min + (max - min) * %v, (max - min) * %v)", part[0], part[1]-part[0]))
			settle(p)
			paintedAsWide(t, p, fmt.Sprint(name, part))
		}
	}
}

// TestShares: shares read as Go writes them.
func TestShares(t *testing.T) {
	p := openHTML(t, pageSet(), browsertest.View{})
	got := browsertest.Eval[[]string](p, `(() => {
		const table = kprof.table, out = [];
		for (let v = -9; v < 810; v++) out.push(table.share(v, 800), table.share(v * 7, 3001));
		return out;
	})()`)
	for i, v := 0, -9; v < 810; i, v = i+2, v+1 {
		if want := fmt.Sprintf("%.2f%%", 100*float64(v)/800); got[i] != want {
			t.Errorf("%d of 800 is %s, want %s", v, got[i], want)
		}
		if want := fmt.Sprintf("%.2f%%", 100*float64(v*7)/3001); got[i+1] != want {
			t.Errorf("%d of 3001 is %s, want %s", v*7, got[i+1], want)
		}
	}
}
