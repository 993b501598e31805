package page

import (
	gocmp "cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/browsertest"
	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
	"kprof/perfevent/livetest"
)

// pageSet has frames of all kinds, labels, two events and times.
func pageSet() *stacks.Set {
	r := rand.New(rand.NewPCG(11, 5))
	s := stacks.New(
		stacks.Event{Name: "cpu-clock", Values: stackstest.CountAndTime},
		stacks.Event{Name: "page-faults", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}},
	)
	s.Comments = []string{"kernel: 6.1 x86_64", "warning: 3 samples are lost"}
	var user, kernel []uint32
	add := func(to *[]uint32, m stacks.Mapping, names ...string) {
		id := s.AddMapping(m)
		for i, n := range names {
			l := s.AddLocation(id, uint64(i), m.Kind)
			lines := []stacks.Line{{Function: s.AddFunction(stacks.Function{Name: n})}}
			if i%4 == 3 {
				lines = append([]stacks.Line{{Function: s.AddFunction(stacks.Function{Name: "inlined_" + n, File: "lib/inline.h"})}}, lines...)
			}
			s.SetLines(l, lines...)
			*to = append(*to, l)
		}
	}
	add(&user, stacks.Mapping{File: "/usr/bin/server", Kind: stacks.KindUser}, "main", "serve", "parse_request", "render_page", "github.com/some/module/pkg.(*Type).Method")
	add(&user, stacks.Mapping{File: "/usr/lib/libc.so.6", Kind: stacks.KindUser}, "malloc", "memcpy", "__libc_start_main", "qsort_r")
	add(&user, stacks.Mapping{File: "//anon", Kind: stacks.KindAnon}, "LazyCompile:~handler", "Interpreter")
	add(&user, stacks.Mapping{File: "/opt/odd", Kind: stacks.KindUser}, stackstest.Hostile...)
	add(&kernel, stacks.Mapping{File: "[kernel.kallsyms]", Kind: stacks.KindKernel}, "entry_SYSCALL_64_after_hwframe", "do_syscall_64", "vfs_read", "copy_page_to_iter", "schedule")
	add(&kernel, stacks.Mapping{File: "[ext4]", Kind: stacks.KindModule}, "ext4_file_read_iter", "ext4_map_blocks")
	add(&kernel, stacks.Mapping{File: "bpf_prog_1", Kind: stacks.KindBPF}, "bpf_prog_6deef7357e7b4530_filter")
	user = append(user, s.AddLocation(stacks.NoMapping, 5, stacks.KindUnknown))
	var labels []stacks.LabelsID
	for i := range 12 {
		labels = append(labels, s.InternLabels([]stacks.Label{
			{Key: "comm", Str: []string{"server", "worker<b>", "bash"}[i%3]}, {Key: "pid", Num: int64(100 + i%4)},
			{Key: "tid", Num: int64(100 + i)}, {Key: "cpu", Num: int64(i % 2)},
		}))
	}
	t := uint64(4e9)
	for i := range 1500 {
		stack := []uint32{user[0]}
		for d := r.IntN(5); d > 0; d-- {
			stack = append(stack, user[r.IntN(len(user))])
		}
		for d := r.IntN(5); d > 0; d-- {
			stack = append(stack, kernel[r.IntN(len(kernel))])
		}
		slices.Reverse(stack)
		l := labels[min(r.IntN(12), r.IntN(12))]
		row := s.Add(0, s.Intern(stack), l, 1, 4_000_000)
		t += 100_000 + r.Uint64N(900_000)
		if i == 700 {
			t += 2e9 // in which nothing is sampled
		}
		s.AddTimedSample(stacks.TimedSample{Time: t, Sample: uint32(row), Value: 4_000_000})
		if r.IntN(3) == 0 {
			s.Add(1, s.Intern(stack), l, int64(r.IntN(5)))
		}
	}
	s.SortTimedSamples()
	return s
}

// path is the names of a sample's stack, outermost first.
func path(s *stacks.Set, n *stacks.Names, x stacks.Sample) (names []string) {
	stack := s.Stack(x.Stack)
	for i := len(stack) - 1; i >= 0; i-- {
		of := n.Of(stack[i])
		for j := len(of) - 1; j >= 0; j-- {
			names = append(names, shownName(n.Names[of[j]]))
		}
	}
	return names
}

// shownName is what a page calls a function.
func shownName(name string) string {
	return gocmp.Or(strings.ToValidUTF8(name, "\uFFFD"), "[unknown]")
}

// sumOf adds up a column of the samples that take wants.
func sumOf(s *stacks.Set, event, column int, take func(x stacks.Sample, path []string) bool) (sum int64) {
	n := s.Names()
	for i := range s.NumSamples() {
		if x := s.Sample(i); x.Event == event && take(x, path(s, n, x)) {
			sum += x.Values[column]
		}
	}
	return sum
}

func labelIs(s *stacks.Set, x stacks.Sample, key, value string) bool {
	l, ok := s.Label(x.Labels, key)
	return ok && (l.Str == value || l.Str == "" && fmt.Sprint(l.Num) == value)
}

// openHTML opens a page of a Set and waits until it has drawn it.
func openHTML(t *testing.T, s *stacks.Set, v browsertest.View) *browsertest.Page {
	t.Helper()
	return openPage(t, pageOf(t, s, Options{Column: len(s.Events[0].Values) - 1, Title: "a & <b>"}), v)
}

func openPage(t testing.TB, page string, v browsertest.View) *browsertest.Page {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	livetest.WriteFile(t, file, page)
	p := browsertest.OpenFile(t, file, v)
	settle(p)
	return p
}

// settle waits until the page shows what it was asked for.
func settle(p *browsertest.Page) {
	p.Do(`while (!window.kprof || kprof.counting || ![kprof.flame, kprof.callers, kprof.callees].every(c => c.settled))
		await new Promise(done => requestAnimationFrame(done))`)
}

// clickBox clicks on the widest box of the flame graph that shows a name.
func clickBox(p *browsertest.Page, name string) {
	type point struct{ X, Y float64 }
	at := browsertest.Eval[point](p, `(() => {
		const c = kprof.flame, l = c.layout, p = kprof.p;
		let best = null;
		for (let level = 1; level < l.levels; level++) for (let i = l.start[level]; i < l.start[level + 1]; i++) {
			if (p.nameText(p.nameOf(c.tree.frame[l.node[i]])) !== `+js(name)+`) continue;
			if (!best || l.x1[i] - l.x0[i] > best.size) best = {level, i, size: l.x1[i] - l.x0[i]};
		}
		c.reveal(best.level);
		const r = c.canvas.getBoundingClientRect();
		return {X: r.x + (c.x(l.x0[best.i]) + c.x(l.x1[best.i])) / 2, Y: r.y + c.y(best.level) + 9};
	})()`)
	settle(p)
	p.Click(at.X, at.Y)
	settle(p)
}

func js(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

func hash(p *browsertest.Page) string {
	return browsertest.Eval[string](p, "decodeURIComponent(location.hash)")
}

func total(p *browsertest.Page) int64 { return browsertest.Eval[int64](p, "kprof.sums().total[0]") }

// addressTells checks that the part of the address behind # has a text.
func addressTells(t *testing.T, p *browsertest.Page, text string) {
	t.Helper()
	if !strings.Contains(hash(p), text) {
		t.Errorf("the address %s does not tell %s", hash(p), text)
	}
}

// TestHTMLInBrowser: what a reader does on a page, and what there is to see then.
func TestHTMLInBrowser(t *testing.T) {
	s := pageSet()
	p := openHTML(t, s, browsertest.View{Width: 1600, Height: 900})
	everything := func(stacks.Sample, []string) bool { return true }
	all := sumOf(s, 0, 1, everything)
	equal(t, "total", total(p), all)
	equal(t, "title", browsertest.Eval[string](p, "document.title + '|' + document.querySelector('h1').textContent"), "a & <b>|a & <b>")
	p.Screenshot("html-wide")

	t.Run("boxes", func(t *testing.T) { boxesFit(t, p) })
	t.Run("siblings", func(t *testing.T) { siblingsSorted(t, p) })
	t.Run("zoom", func(t *testing.T) {
		clickBox(p, "do_syscall_64")
		in := func(x stacks.Sample, path []string) bool {
			return slices.Contains(path, "do_syscall_64")
		}
		shownSum := browsertest.Eval[int64](p, "kprof.flame.range[1] - kprof.flame.range[0]")
		if most := sumOf(s, 0, 1, in); shownSum <= 0 || shownSum > most {
			t.Errorf("zoomed to %d of %d", shownSum, most)
		}
		addressTells(t, p, "zoom=")
		boxesFit(t, p)
		p.Reload()
		settle(p)
		equal(t, "zoom after a reload", browsertest.Eval[int64](p, "kprof.flame.range[1] - kprof.flame.range[0]"), shownSum)
		p.Screenshot("html-zoom")
		p.Keys(browsertest.Escape)
		settle(p)
		equal(t, "after Escape", browsertest.Eval[int64](p, "kprof.flame.range[1] - kprof.flame.range[0]"), all)
		p.Back()
		settle(p)
		equal(t, "after going back", browsertest.Eval[int64](p, "kprof.flame.range[1] - kprof.flame.range[0]"), shownSum)
		p.ClickOn("#reset")
		settle(p)
		equal(t, "hash after reset", hash(p), "")
	})
	t.Run("search", func(t *testing.T) {
		p.Ctrl("f")
		p.Keys("^vfs_|EXT4")
		settle(p)
		// Capital letters are looked for as they are.
		want := sumOf(s, 0, 1, func(_ stacks.Sample, path []string) bool { return slices.Contains(path, "vfs_read") })
		equal(t, "matched", browsertest.Eval[string](p, "document.querySelector('#matched').textContent"),
			fmt.Sprintf("%.2f%% matched", 100*float64(want)/float64(all)))
		equal(t, "hash", hash(p), "#search=^vfs_|EXT4")
		p.Screenshot("html-search")
		p.Keys("(")
		settle(p)
		equal(t, "matched", browsertest.Eval[string](p, "document.querySelector('#matched').textContent"), "not a regular expression")
		p.Keys(browsertest.Escape)
		settle(p)
		equal(t, "hash after Escape", hash(p), "")
		p.Keys("/MALLOC" + browsertest.Escape)
		equal(t, "search after / and Escape", browsertest.Eval[string](p, "kprof.state.query"), "")
	})
	t.Run("filter", func(t *testing.T) {
		p.ClickOn("#filter")
		p.Do(`[...document.querySelectorAll('#filters label')].find(l => l.textContent.startsWith('worker<b>')).click()`)
		settle(p)
		equal(t, "total", total(p), sumOf(s, 0, 1, func(x stacks.Sample, _ []string) bool { return labelIs(s, x, "comm", "worker<b>") }))
		p.Do(`document.querySelectorAll('#filters details')[3].open = true;
			[...document.querySelectorAll('#filters details')[3].querySelectorAll('label')].find(l => l.textContent.startsWith('1')).click()`)
		settle(p)
		want := sumOf(s, 0, 1, func(x stacks.Sample, _ []string) bool {
			return labelIs(s, x, "comm", "worker<b>") && labelIs(s, x, "cpu", "1")
		})
		equal(t, "total", total(p), want)
		equal(t, "hash", hash(p), "#only.comm=worker<b>&only.cpu=1")
		p.Screenshot("html-filter")
		boxesFit(t, p)
		p.Reload()
		settle(p)
		equal(t, "total after a reload", total(p), want)
		p.Do("document.querySelectorAll('#chips button')[0].click(); document.querySelectorAll('#chips button')[0].click()")
		equal(t, "total without filters", total(p), all)
	})
	t.Run("value", func(t *testing.T) {
		p.Do("const v = document.querySelector('#value'); v.value = '1.0'; v.dispatchEvent(new Event('change'))")
		settle(p)
		equal(t, "total", total(p), sumOf(s, 1, 0, everything))
		p.Back()
		settle(p)
		equal(t, "total", total(p), all)
	})
	t.Run("keys", func(t *testing.T) {
		p.Keys(browsertest.Up + browsertest.Up + browsertest.Up + browsertest.Down + browsertest.Right)
		settle(p)
		equal(t, "level", browsertest.Eval[int](p, "kprof.flame.selected.level"), 1)
		equal(t, "box", browsertest.Eval[int](p, "kprof.flame.selected.i - kprof.flame.layout.start[1]"), 1)
		name := browsertest.Eval[string](p, "document.querySelector('#details strong').textContent")
		p.Keys("i")
		settle(p)
		equal(t, "hash", hash(p), "#icicle=true")
		p.Screenshot("html-icicle")
		p.Keys("i" + browsertest.Escape)
		settle(p)
		if name == "" || name == "all" {
			t.Errorf("selected %q", name)
		}
	})
	t.Run("wheel", func(t *testing.T) {
		p.Do(`const r = kprof.flame.canvas.getBoundingClientRect(), at = {clientX: r.x + r.width / 2, clientY: r.y + 50};
			kprof.flame.canvas.dispatchEvent(new WheelEvent('wheel', {...at, deltaY: -200, ctrlKey: true, cancelable: true}))`)
		settle(p)
		got := browsertest.Eval[[]float64](p, "kprof.flame.range")
		if middle, size := (got[0]+got[1])/2/float64(all), (got[1]-got[0])/float64(all); math.Abs(middle-.5) > .001 || math.Abs(size-math.Exp(-.8)) > .001 {
			t.Errorf("Ctrl and the wheel in the middle show %v of %d", got, all)
		}
		addressTells(t, p, "#range=")
		boxesFit(t, p)
		p.Reload()
		settle(p)
		equal(t, "range after a reload", browsertest.Eval[[]float64](p, "kprof.flame.range"), got)
		p.Keys(browsertest.Escape)
		settle(p)
		equal(t, "hash after Escape", hash(p), "")
	})
	t.Run("functions", func(t *testing.T) { functionsEqual(t, p, s) })
	t.Run("callers", func(t *testing.T) { callersEqual(t, p, s, "malloc") })
	t.Run("time", func(t *testing.T) { timeEqual(t, p, s) })
	t.Run("about", func(t *testing.T) {
		p.ClickOn("#about")
		equal(t, "warning", browsertest.Eval[string](p, "document.querySelector('dialog .warning').textContent"), s.Comments[1])
		p.Screenshot("html-about")
		p.Keys(browsertest.Escape)
	})
}

// TestHTMLOnAPhone: at 400 pixels nothing is wider than the page, dark or light.
func TestHTMLOnAPhone(t *testing.T) {
	p := openHTML(t, pageSet(), browsertest.View{Width: 400, Height: 800, Mobile: true})
	for _, dark := range []bool{false, true} {
		p.View(browsertest.View{Width: 400, Height: 800, Mobile: true, Dark: dark})
		for _, view := range []string{"flame", "time", "callers", "functions"} {
			p.Do("document.querySelector('[data-view=" + view + "]').click()")
			settle(p)
			p.Screenshot(fmt.Sprintf("html-phone-%s-%v", view, dark))
			boxesFit(t, p)
			equal(t, view+": scrolls sideways", browsertest.Eval[bool](p, "Math.max(document.documentElement.scrollWidth, innerWidth) > 400"), false)
			equal(t, view+": cut", browsertest.Eval[[]string](p, `[...document.querySelectorAll('header button')].filter(b => b.offsetWidth &&
				(b.scrollWidth > b.clientWidth || b.getBoundingClientRect().right > 400)).map(b => b.textContent)`), []string{})
		}
	}
}

// TestHTMLOfLittle: an address that makes no sense shows the page as it is without;
// a page without samples says so.
func TestHTMLOfLittle(t *testing.T) {
	s := pageSet()
	all := sumOf(s, 0, 1, func(stacks.Sample, []string) bool { return true })
	p := openHTML(t, s, browsertest.View{})
	for _, hash := range []string{
		"view=x&value=7.z&group=zzz&zoom=1e9&range=a-b&lane=nope&at=q&only.comm=zz&only.nokey=1&sort=bad&function=none",
		"view=callers&function=none&zoom=-1&value=0.1", "view=time&at=none&range=5-1", "zoom=999999&search=(", "%", "&&==",
	} {
		p.Do("location.hash = " + js(hash))
		settle(p)
		equal(t, "total", total(p), all)
	}

	empty := stacks.New(stacks.Event{Name: "nothing", Values: stackstest.CountAndTime})
	p = openHTML(t, empty, browsertest.View{})
	for _, view := range []string{"flame", "callers", "functions"} {
		p.Do("document.querySelector('[data-view=" + view + "]').click()")
		settle(p)
		if view != "functions" {
			equal(t, view, browsertest.Eval[string](p, "document.querySelector('#nothing').textContent"), "There are no samples.")
		}
	}
	p.Keys("i/x" + browsertest.Escape + browsertest.Up + browsertest.Enter)
}

// TestHTMLEqualsPprof: self and cumulative of every function are those of go tool
// pprof -top, whatever the frames are grouped by.
func TestHTMLEqualsPprof(t *testing.T) {
	s := stackstest.Wide(2000, 12, 60)
	want := stackstest.PprofTop(t, s)
	p := openHTML(t, s, browsertest.View{})
	for _, group := range []int{-1, 0, 1} {
		p.Do(fmt.Sprintf("kprof.set({group: %d})", group))
		equal(t, "functions", pageFunctions(p, 0), want)
	}
}

// pageFunctions is self and total of every function, by name, as the page has them.
func pageFunctions(p *browsertest.Page, column int) map[string][2]int64 {
	return named[[2]int64](p, fmt.Sprintf(`
		kprof.set({column: %d});
		const f = kprof.functions();
		f.some.forEach((some, i) => { if (some) out.push({Name: kprof.p.names[i], Value: [f.self[i], f.total[i]]}) });
	`, column))
}

// named runs JavaScript that pushes names and values to out.
func named[T any](p *browsertest.Page, js string) map[string]T {
	type pair struct {
		Name  string
		Value T
	}
	m := map[string]T{}
	for _, x := range browsertest.Eval[[]pair](p, "(() => { const out = [];"+js+"; return out })()") {
		m[x.Name] = x.Value
	}
	return m
}

// costsOf is what pageFunctions is to be.
func costsOf(s *stacks.Set, column int) map[string][2]int64 {
	m := map[string][2]int64{}
	n := s.Names()
	for i := range s.NumSamples() {
		x := s.Sample(i)
		if x.Event != 0 {
			continue
		}
		names := path(s, n, x)
		leaf := names[len(names)-1]
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			c := m[name]
			c[1] += x.Values[column]
			if name == leaf {
				c[0] += x.Values[column]
			}
			m[name] = c
		}
	}
	return m
}

// boxesFit: boxes lie within those of their parents, beside each other, and names
// within their boxes.
func boxesFit(t *testing.T, p *browsertest.Page) {
	t.Helper()
	wrong := browsertest.Eval[[]string](p, `(() => {
		const wrong = [];
		for (const c of [kprof.flame, kprof.callers, kprof.callees]) {
			if (!c.canvas.offsetWidth || !c.layout) continue;
			const {start, node, x0, x1, levels} = c.layout;
			for (let level = 0; level < levels; level++) for (let i = start[level]; i < start[level + 1]; i++) {
				if (!(x1[i] > x0[i])) wrong.push('empty ' + i);
				if (i > start[level] && x0[i] < x1[i - 1]) wrong.push('overlap ' + i);
				if (level === 0) continue;
				let up = start[level - 1];
				while (up < start[level] && (node[up] !== c.tree.parent[node[i]] || x0[up] > x0[i] || x1[up] < x1[i])) up++;
				if (up === start[level]) wrong.push('outside ' + i);
			}
			for (const l of c.labels) {
				const width = c.context.measureText(l.text).width;
				if (l.inset + width > l.width + 0.01) wrong.push('stackstest.Wide ' + l.text);
			}
			if (levels > 0 && c.x(x1[0]) - c.x(x0[0]) > 100 && !c.labels.length) wrong.push('no names');
		}
		return wrong;
	})()`)
	if len(wrong) > 0 {
		t.Errorf("%d boxes: %.5q", len(wrong), wrong)
	}
}

// siblingsSorted: boxes on one box are in the order of their names, as in SVG.
func siblingsSorted(t *testing.T, p *browsertest.Page) {
	got := browsertest.Eval[[]int](p, `(() => {
		const {flame: {layout: l, tree}, p} = kprof;
		let pairs = 0, wrong = 0;
		for (let level = 1; level < l.levels; level++) for (let i = l.start[level] + 1; i < l.start[level + 1]; i++) {
			const [a, b] = [l.node[i - 1], l.node[i]];
			if (tree.parent[a] !== tree.parent[b]) continue;
			pairs++;
			if (p.nameText(p.nameOf(tree.frame[a])) > p.nameText(p.nameOf(tree.frame[b]))) wrong++;
		}
		return [pairs, wrong];
	})()`)
	if got[0] < 10 || got[1] != 0 {
		t.Errorf("of %d siblings beside each other, %d are not in the order of their names", got[0], got[1])
	}
}
