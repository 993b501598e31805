package page

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"kprof/convert"
	"kprof/convert/browsertest"
	"kprof/perfevent/livetest"
	"kprof/symbolize"
)

// realPage is a page of a real recording: where the larger collection is, of one that has values
// too, so that no view is empty; else of the one that the repository has.
func realPage(t *testing.T) string {
	t.Helper()
	data := filepath.Join("..", "..", "testdata")
	file, symbols := filepath.Join(data, "demo.data"), symbolize.Options{KallsymsPath: filepath.Join(data, "demo.kallsyms"), Root: filepath.Join(data, "symfs")}
	for _, other := range livetest.Recordings(t) {
		if filepath.Base(other) == "platform_system_extras__perf_with_trace_offcpu.data" {
			file, symbols = other, symbolize.Options{Root: t.TempDir()}
		}
	}
	p, err := convert.Open(context.Background(), file, convert.Options{Selection: convert.Selection{Times: true}, Symbols: symbols})
	if err != nil {
		t.Fatal(err)
	}
	event, page := p.Set.Most(), filepath.Join(t.TempDir(), "page.html")
	livetest.WriteFile(t, page, pageOf(t, p.Set, Options{Title: filepath.Base(file), Event: event, Column: len(p.Set.Events[event].Values) - 1}))
	return page
}

// TestEveryView: every view of a real recording is come to, looked around in and selected in by keys
// alone, and by the mouse alone.
func TestEveryView(t *testing.T) {
	p := browsertest.OpenFile(t, realPage(t), browsertest.View{})
	settle(p)
	h := hands{t, p}
	h.byKeys()
	h.byMouse()
}

// hands do with a page what a reader does.
type hands struct {
	t *testing.T
	browsertest.Hands
}

func (h hands) text(js string) (text string) {
	h.t.Helper()
	h.Eval("String("+js+")", &text)
	return text
}

// tabTo goes to an element by the key Tab, forwards or back. Behind the last of a page Firefox
// goes on to its own buttons.
func (h hands) tabTo(selector string) {
	h.t.Helper()
	for range 40 {
		switch h.text(`((from, to) => from.matches(to) ? 'there' : from.compareDocumentPosition(document.querySelector(to)) & 2 ? 'back' : 'on')(document.activeElement, ` + js(selector) + ")") {
		case "there":
			return
		case "back":
			h.Shift(browsertest.Tab)
		default:
			h.Keys(browsertest.Tab)
		}
	}
	h.t.Errorf("Tab does not come to %s", selector)
}

// has waits until what is selected is so, and then until all is again.
func (h hands) has(js, undo string, undone string) {
	h.t.Helper()
	h.Wait(js)
	for i := 0; undo != "" && i < 4 && h.text(undone) != "true"; i++ {
		h.Keys(undo)
	}
	if undo != "" {
		h.Wait(undone)
	}
}

const noSteps, noSpan = "!kprof.state.steps.length", "!kprof.state.span"

// disabled reports whether there is nothing to see in a view.
func (h hands) disabled(view string) bool {
	return h.text("document.querySelector('[data-view="+view+"]').disabled") == "true"
}

var viewNames = []string{"flame", "time", "callers", "functions", "tree", "heat", "values", "samples"}

func (h hands) byKeys() {
	h.Eval("kprof.set({group: -1}) ?? true", new(bool))
	for i, view := range viewNames {
		if h.disabled(view) {
			continue
		}
		h.Keys(fmt.Sprint(i + 1))
		h.Wait("kprof.state.view === '" + view + "'")
		switch view {
		case "flame":
			h.tabTo("#flame canvas")
			h.Keys(browsertest.Up + browsertest.Up + browsertest.Enter)
			h.has("kprof.state.zoom", browsertest.Escape, "!kprof.state.zoom")
			h.tabTo("#flame canvas")
			h.Keys(browsertest.Up + browsertest.Up + "m")
			h.Wait("document.activeElement.getAttribute('role') === 'menuitem'")
			h.Keys(browsertest.Down + browsertest.Up + browsertest.Enter)
			h.has("kprof.state.steps.length === 1", "u", noSteps)
			h.tabTo("#strip canvas")
			h.Keys(browsertest.Right)
			h.has("kprof.state.span", browsertest.Escape, noSpan)
		case "time":
			h.tabTo("#flame canvas")
			h.Keys(browsertest.Down + browsertest.Down + browsertest.Enter)
			h.has("kprof.state.range", browsertest.Escape, "!kprof.state.range")
		case "callers":
			h.tabTo("#callees canvas")
			h.Keys(browsertest.Down)
			if h.text("kprof.callees.layout.levels > 1") == "true" {
				h.Keys(browsertest.Down)
			}
			h.Wait("kprof.callees.selected")
			h.Keys("f")
			h.has("kprof.state.steps.length === 1", "u", noSteps)
		case "functions":
			h.tabTo("#table .rows .tr")
			h.Keys(browsertest.Down)
			name := h.text("kprof.p.names[document.activeElement.dataset.name]")
			h.Keys(browsertest.Enter)
			h.Wait("kprof.state.view === 'callers' && kprof.state.name === " + js(name))
		case "tree":
			h.tabTo("#tree .tr")
			rows := h.text("kprof.callTree.nodes.length")
			h.Keys(browsertest.Left)
			h.Wait("kprof.callTree.nodes.length < " + rows)
			h.Keys(browsertest.Right + browsertest.Right + "f")
			h.has("kprof.state.steps.length === 1", "u", noSteps)
		case "heat":
			h.tabTo("#heat canvas")
			h.Keys(browsertest.Right)
			h.Shift(browsertest.Right + browsertest.Up)
			h.has("kprof.state.span", browsertest.Escape, noSpan)
		case "values":
			h.tabTo("#values td button")
			h.Keys(" ")
			h.has("kprof.state.sizes", browsertest.Escape, "!kprof.state.sizes")
		case "samples":
			h.tabTo("#samples .tr")
			h.Keys(browsertest.Down + browsertest.Down)
			h.Wait("Number(document.activeElement.dataset.row) === Math.min(2, kprof.sampleList.list.count - 1)")
			h.Keys("f")
			h.has("kprof.state.steps.length === 1", "u", noSteps)
		}
	}
}

// point is a point in the viewport.
type point struct{ X, Y float64 }

// middle is the middle of what a selector chooses.
func (h hands) middle(selector string) (at point) {
	h.t.Helper()
	h.Wait("document.querySelector(" + js(selector) + ")")
	h.Eval(`(() => {
		const e = document.querySelector(`+js(selector)+`);
		e.scrollIntoView({block: 'nearest', inline: 'nearest', behavior: 'instant'});
		const r = e.getBoundingClientRect();
		return {X: r.x + Math.min(r.width, innerWidth - r.x) / 2, Y: r.y + r.height / 2};
	})()`, &at)
	return at
}

func (h hands) click(button int, at point) { h.Drag(button, at.X, at.Y, at.X, at.Y) }

// boxAt is the middle of the widest box at a level of a chart.
func (h hands) boxAt(chart string, level int) (at point) {
	h.t.Helper()
	h.Wait("!kprof.counting && kprof." + chart + ".settled")
	h.Eval(fmt.Sprintf(`(() => {
		const c = kprof.%s, l = c.layout, level = Math.min(%d, l.levels - 1);
		let best = l.start[level];
		for (let i = best; i < l.start[level + 1]; i++) if (l.x1[i] - l.x0[i] > l.x1[best] - l.x0[best]) best = i;
		c.reveal(level);
		const r = c.canvas.getBoundingClientRect();
		return {X: r.x + (c.x(l.x0[best]) + c.x(l.x1[best])) / 2, Y: r.y + c.y(level) + 9};
	})()`, chart, level), &at)
	return at
}

// second chooses the second row of a list, or the only one.
func second(list string) string {
	return list + " .rows .tr:nth-child(2), " + list + " .rows .tr:only-child"
}

func (h hands) byMouse() {
	menu := func(at point) {
		h.t.Helper()
		h.click(2, at)
		h.Wait("!document.querySelector('#menu').hidden")
		h.click(0, h.middle("#menu button"))
		h.Wait("kprof.state.steps.length === 1")
		h.click(0, h.middle("#chips button"))
		h.has(noSteps, "", "")
	}
	span := func() {
		h.t.Helper()
		h.Wait("kprof.state.span")
		h.click(0, h.middle("#chips button"))
		h.Wait(noSpan)
	}
	for _, view := range viewNames {
		if h.disabled(view) {
			continue
		}
		h.click(0, h.middle("[data-view="+view+"]"))
		h.Wait("kprof.state.view === '" + view + "'")
		switch view {
		case "flame":
			h.click(0, h.boxAt("flame", 1))
			h.Wait("kprof.state.zoom")
			h.click(0, h.middle("#reset"))
			h.Wait("!kprof.state.zoom")
			menu(h.boxAt("flame", 1))
			at := h.middle("#strip canvas")
			h.Drag(0, at.X-200, at.Y, at.X+200, at.Y)
			span()
		case "time":
			h.click(0, h.boxAt("flame", 1))
			h.Wait("kprof.state.range")
			h.click(0, h.middle("#reset"))
			h.Wait("!kprof.state.range")
		case "callers":
			menu(h.boxAt("callees", 0))
		case "functions":
			h.click(0, h.middle(second("#table")))
			h.Wait("kprof.state.view === 'callers'")
		case "tree":
			rows := h.text("kprof.callTree.nodes.length")
			h.click(0, h.middle("#tree .rows .tr"))
			h.Wait("kprof.callTree.nodes.length < " + rows)
			h.click(0, h.middle("#tree .rows .tr"))
			h.Wait("kprof.callTree.nodes.length > 1")
			menu(h.middle(second("#tree")))
		case "heat":
			at := h.middle("#heat canvas")
			h.Drag(0, at.X-100, at.Y, at.X+100, at.Y)
			span()
		case "values":
			h.click(0, h.middle("#values td button"))
			h.Wait("kprof.state.sizes")
			h.click(0, h.middle("#chips button"))
			h.Wait("!kprof.state.sizes")
		case "samples":
			menu(h.middle(second("#samples")))
		}
	}
}
