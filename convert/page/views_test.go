package page

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"kprof/convert/browsertest"
)

// TestViews: all views show the same samples, at several sizes, light and dark, without an
// error, and nothing is wider than the page.
func TestViews(t *testing.T) {
	s := pageSet()
	p := openHTML(t, s, browsertest.View{})
	for _, v := range []browsertest.View{{Width: 1280, Height: 800}, {Width: 1920, Height: 1080, Dark: true}, {Width: 390, Height: 844, Mobile: true, Dark: true}} {
		p.View(v)
		for i, view := range []string{"flame", "time", "callers", "functions", "tree", "heat", "values", "samples"} {
			p.Keys(fmt.Sprint(i + 1))
			settle(p)
			if view != "values" { // of equal values there is nothing to tell
				equal(t, "view", browsertest.Eval[string](p, "document.body.dataset.view"), view)
			}
			p.Screenshot(fmt.Sprintf("view-%s-%d", view, v.Width))
			equal(t, view+": scrolls sideways", browsertest.Eval[bool](p, fmt.Sprintf("document.documentElement.scrollWidth > %d", v.Width)), false)
		}
	}
	p.View(browsertest.View{})

	// The inverted graph: each function as outermost frame has what it costs itself.
	p.Do("kprof.set({view: 'flame', group: -1, inverted: true, heavy: true})")
	settle(p)
	boxesFit(t, p)
	p.Screenshot("view-inverted")
	leaves := named[int64](p, `
		const {flame: {layout: l, tree, sums}, p} = kprof;
		for (let i = l.start[1]; i < l.start[2]; i++) out.push({Name: p.nameText(p.nameOf(tree.frame[l.node[i]])), Value: sums.total[l.node[i]]});`)
	want := map[string]int64{}
	for name, c := range costsOf(s, 1) {
		if c[0] != 0 {
			want[name] = c[0]
		}
	}
	equal(t, "leaves", leaves, want)
	equal(t, "the heaviest first", browsertest.Eval[bool](p, `(() => {
		const {layout: l} = kprof.flame, w = [];
		for (let i = l.start[1]; i < l.start[2]; i++) w.push(l.x1[i] - l.x0[i]);
		return w.every((v, i) => !i || v <= w[i - 1]);
	})()`), true)
	p.Do("kprof.set({inverted: false, heavy: false})")

	// The call tree: by keys alone down to a leaf; what is open adds up.
	p.Do("kprof.set({view: 'tree'})")
	p.Do("document.querySelector('#tree .tr[data-row=\"0\"]').focus()")
	p.Keys("*")
	nodes := browsertest.Eval[int](p, "kprof.callTree.nodes.length")
	equal(t, "all nodes are shown", nodes, browsertest.Eval[int](p, "kprof.sums().width.filter(w => w).length"))
	equal(t, "self of all rows", browsertest.Eval[int64](p, "kprof.callTree.nodes.reduce((sum, n) => sum + kprof.sums().self[n], 0)"), total(p))
	p.Keys(browsertest.Left)
	equal(t, "closed", browsertest.Eval[int](p, "kprof.callTree.nodes.length"), 1)
	p.Keys(browsertest.Right + browsertest.Right)
	equal(t, "at", browsertest.Eval[string](p, "document.activeElement.getAttribute('aria-level')"), "2")
	p.Keys("f")
	settle(p)
	equal(t, "a step by a key of a row", browsertest.Eval[int](p, "kprof.state.steps.length"), 1)
	p.Keys("u")

	// The heat map: cells add up, and what is dragged over is counted.
	p.Do("kprof.set({view: 'heat'})")
	equal(t, "cells", browsertest.Eval[int64](p, "Math.round(kprof.heat.heat.cells.reduce((a, b) => a + b))"), total(p))
	p.Do("kprof.heat.canvas.focus()")
	p.Keys(browsertest.Right + browsertest.Up + browsertest.Left)
	cell := func(column, row int) point {
		return browsertest.Eval[point](p, fmt.Sprintf(`(() => {
			const {canvas, heat, width, height} = kprof.heat, r = canvas.getBoundingClientRect();
			return {X: r.x + (%d + .5) / heat.columns * width, Y: r.y + (1 - (%d + .5) / 50) * height};
		})()`, column, row))
	}
	from, to := cell(0, 10), cell(1, 20)
	p.Drag(0, from.X, from.Y, to.X, to.Y)
	span := browsertest.Eval[[]uint64](p, "kprof.state.span")
	_, sum := inSpan(s, 0, span[0], span[1], anySample)
	step := browsertest.Eval[uint64](p, "kprof.heat.heat.step")
	equal(t, "dragged over", span, []uint64{step * 10 / 50, step + step*21/50 - 1})
	equal(t, "in what is dragged over", total(p), sum)
	p.Screenshot("view-heat-span")
	at := cell(1, 20) // the canvas is lower than before
	p.Drag(0, at.X-5, at.Y, at.X+5, at.Y)
	equal(t, "dragged in one cell", browsertest.Eval[[]uint64](p, "kprof.state.span"), []uint64{step + step*20/50, step + step*21/50 - 1})
	p.Back()

	// The samples in it.
	p.Do("kprof.set({view: 'samples'})")
	count, _ := inSpan(s, 0, span[0], span[1], anySample)
	equal(t, "samples", browsertest.Eval[string](p, "document.querySelector('#samples .table-summary').textContent"), fmt.Sprintf("%d samples", count))
}

// TestValues: samples by their own values, of which a range is chosen.
func TestValues(t *testing.T) {
	s := weighedSet()
	p := openPage(t, pageOf(t, s, Options{Column: 1}), browsertest.View{})
	p.Do("kprof.set({view: 'values'})")
	p.Screenshot("view-values-chosen")
	counts, sums := map[int]int64{}, map[int]int64{}
	for _, m := range s.TimedSamples {
		counts[bits.Len64(uint64(m.Value))-1]++
		sums[bits.Len64(uint64(m.Value))-1] += m.Value
	}
	for e, n := range counts {
		row := browsertest.Eval[[]string](p, fmt.Sprintf(`[...[...document.querySelectorAll('#values tbody tr')].find(r => r.textContent.startsWith(%s)).children].map(e => e.textContent)`,
			js(browsertest.Eval[string](p, fmt.Sprintf("kprof.formatValue(%d, 'count')", 1<<e)))))
		equal(t, fmt.Sprint("samples from ", 1<<e), row[1], fmt.Sprint(n))
		p.Do(fmt.Sprintf("kprof.set({sizes: [%d, %d], column: 1})", 1<<e, 2<<e))
		equal(t, fmt.Sprint("sum from ", 1<<e), total(p), sums[e])
		p.Do("kprof.set({column: 0})")
		equal(t, fmt.Sprint("count from ", 1<<e), total(p), n)
		p.Do("kprof.set({column: 1, sizes: null})")
	}
	if len(counts) < 5 || !slices.Contains(browsertest.Eval[[]string](p, "[...document.querySelectorAll('#values button')].map(b => b.textContent)"), "≥") {
		t.Errorf("%d ranges", len(counts))
	}
	p.ClickOn("#values .from")
	if h := hash(p); !strings.Contains(h, "sizes=") || !strings.Contains(h, "-Infinity") {
		t.Errorf("hash %s", h)
	}
}
