package page

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprof/convert/browsertest"
	"kprof/convert/pprof"
	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
)

// firefoxSettled says that the page shows what it was asked for.
const firefoxSettled = "window.kprof && !kprof.counting && [kprof.flame, kprof.callers, kprof.callees].every((c) => c.settled)"

// TestFirefox: in Firefox too every view is drawn, and mouse and keyboard select what they do in
// Chromium, with the sums of the samples.
func TestFirefox(t *testing.T) {
	if testing.Short() {
		return // it starts a browser for itself
	}
	s := pageSet()
	file := filepath.Join(t.TempDir(), "page.html")
	livetest.WriteFile(t, file, pageOf(t, s, Options{Column: 1, Title: "a & <b>"}))
	f := browsertest.OpenFirefox(t, browsertest.FileURL(t, file), browsertest.View{})
	settled := firefoxSettled
	// total waits until a sum is selected.
	total := func(what string, want int64) {
		t.Helper()
		f.Wait(settled)
		var got int64
		if f.Eval("Math.round(kprof.sums().total[0])", &got); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	text := func(js string) (got string) {
		t.Helper()
		f.Eval(js, &got)
		return got
	}
	sum := func(take func(x stacks.Sample, path []string) bool) int64 { return sumOf(s, 0, 1, take) }
	all := sum(func(stacks.Sample, []string) bool { return true })
	with := func(name string) int64 {
		return sum(func(_ stacks.Sample, path []string) bool { return slices.Contains(path, name) })
	}
	total("all", all)

	for i, view := range []string{"flame", "time", "callers", "functions", "tree", "heat", "values", "samples"} {
		f.Keys(fmt.Sprint(i + 1))
		f.Wait(settled + " && kprof.state.view === '" + view + "'")
		// What is drawn has more than one colour, what is listed has rows.
		var seen int
		f.Eval(`(() => {
			const canvas = [...document.querySelectorAll('#views canvas')].find((c) => c.offsetParent && c.height), list = document.querySelector('#tree:not([hidden]), #values:not([hidden]), #samples:not([hidden])');
			if (list) return list.innerText.split('\n').length;
			if (!canvas) return document.querySelectorAll('#table .rows .tr').length;
			return new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
		})()`, &seen)
		if seen < 3 {
			t.Errorf("%s: %d colours or rows", view, seen)
		}
		if view == "time" {
			f.Screenshot("firefox")
		}
	}

	// A list longer than elements may be, to both ends.
	var row int
	f.Eval(`(() => {
		const {list, samples} = kprof.sampleList, {make} = list;
		list.make = (i) => make(i % samples.length);
		list.show(1 << 21, '');
		list.body.querySelector('.tr').focus();
		return 0;
	})()`, &row)
	for key, want := range map[string]int{browsertest.End: 1<<21 - 1, browsertest.Home: 0} {
		f.Keys(key)
		f.Wait(fmt.Sprintf("Number(document.activeElement.dataset.row) === %d", want))
		var shown bool
		if f.Eval(`(() => {
			const row = document.activeElement.getBoundingClientRect(), box = kprof.sampleList.list.scroller.getBoundingClientRect();
			return row.top >= box.top - 1 && row.bottom <= box.bottom + 1;
		})()`, &shown); !shown {
			t.Errorf("row %d of a long list is not shown", want)
		}
	}

	f.ClickOn("[data-view=flame]")
	f.Keys("/schedule" + browsertest.Enter)
	f.Wait("kprof.state.query === 'schedule'")
	if got, want := text("document.querySelector('#matched').textContent"), fmt.Sprintf("%.2f%% matched", 100*float64(with("schedule"))/float64(all)); got != want {
		t.Errorf("the search says %q, want %q", got, want)
	}
	f.Keys(browsertest.Escape + browsertest.Escape)
	f.Wait("kprof.state.query === ''")

	// By the mouse: zoom, and the menu of a box.
	var at struct{ X, Y float64 }
	const box = `(() => {
		const c = kprof.flame, l = c.layout, p = kprof.p;
		for (let i = l.start[2]; i < l.start[3]; i++) if (p.nameText(p.nameOf(c.tree.frame[l.node[i]])) === 'do_syscall_64') {
			c.reveal(2);
			const r = c.canvas.getBoundingClientRect();
			return {X: r.x + (c.x(l.x0[i]) + c.x(l.x1[i])) / 2, Y: r.y + c.y(2) + 9};
		}
	})()`
	f.Eval("kprof.set({group: -1}) ?? true", new(bool))
	f.Wait(settled)
	f.Eval(box, &at)
	f.Click(0, at.X, at.Y)
	f.Wait("kprof.state.zoom && kprof.namesTo(kprof.state.zoom).at(-1) === 'do_syscall_64'")
	f.Keys(browsertest.Escape)
	f.Wait(settled + " && !kprof.state.zoom")
	f.Eval(box, &at)
	f.Click(2, at.X, at.Y)
	f.Wait("document.activeElement.getAttribute('role') === 'menuitem'")
	f.ClickOn("#menu button:nth-of-type(1)")
	total("only stacks with it", with("do_syscall_64"))
	f.Keys("u")
	total("undone", all)

	// By keys alone.
	f.Eval("kprof.flame.canvas.focus() ?? true", new(bool))
	f.Keys(browsertest.Up + browsertest.Up + browsertest.Right)
	name := text("document.querySelector('#details strong').textContent")
	f.Keys("mx")
	total("without "+name, all-with(name))
	f.Keys("u")

	// Part of the time, and one command of that.
	var strip struct{ X, Y, Width, Height float64 }
	f.Eval("(({x, y, width, height}) => ({x, y, width, height}))(document.querySelector('#strip canvas').getBoundingClientRect())", &strip)
	f.Drag(0, strip.X+strip.Width/20, strip.Y+10, strip.X+strip.Width*3/4, strip.Y+10)
	f.Wait(settled + " && kprof.state.span")
	var span [2]float64
	f.Eval("kprof.state.span", &span)
	within := func(comm string) (sum int64) {
		first := s.TimedSamples[0].Time
		for _, m := range s.TimedSamples {
			if after := float64(m.Time - first); after >= span[0] && after <= span[1] && (comm == "" || labelIs(s, s.Sample(int(m.Sample)), "comm", comm)) {
				sum += m.Value
			}
		}
		return sum
	}
	total("part of the time", within(""))
	f.ClickOn("#filter")
	comm := text("document.querySelector('#filters .choices label span').textContent")
	f.ClickOn("#filters .choices label")
	total("part of the time of "+comm, within(comm))

	// What is saved is that.
	packed, err := base64.StdEncoding.DecodeString(text("(async () => new Uint8Array(await (await kprof.selectedProfile()).arrayBuffer()).toBase64())()"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := pprof.Read(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if sum := got.Totals(0)[1]; sum != within(comm) || sum == 0 || sum == all {
		t.Errorf("saved: %d, want %d", sum, within(comm))
	}
	page := text("(async () => (await kprof.selectedPage()).text())()")
	livetest.WriteFile(t, file, page)
	f.Go(browsertest.FileURL(t, file))
	total("the page of that", within(comm))
	if got := text("document.title"); !strings.HasPrefix(got, "a & <b>") {
		t.Errorf("its title is %q", got)
	}

	// Every view of a real recording, as TestEveryView does it.
	f.Go(browsertest.FileURL(t, realPage(t)))
	f.Wait(settled)
	h := hands{t, f}
	h.byKeys()
	h.byMouse()
}
