package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprof/convert/browsertest"
	"kprof/convert/stacks"
)

// TestMenu: by the second button, by keys alone and on a phone, what is under the pointer is
// told, and what can be done with it is done, told by the address, and undone.
func TestMenu(t *testing.T) {
	s := pageSet()
	p := openPage(t, pageOf(t, s, Options{Column: 1, Select: Select{Command: []string{"kprof", "report"}, Inputs: []string{"x.data"},
		Flags: map[string]string{"event": "--event", "focus": "--focus", "hide": "--hide", "collapse": "--collapse"}}}), browsertest.View{Width: 1280, Height: 800})
	all := total(p)
	with := func(name string) int64 {
		return sumOf(s, 0, 1, func(_ stacks.Sample, path []string) bool { return slices.Contains(path, name) })
	}
	type point struct{ X, Y float64 }
	at := browsertest.Eval[point](p, `(() => {
		kprof.set({group: -1});
		const c = kprof.flame, l = c.layout, p = kprof.p;
		for (let i = l.start[2]; i < l.start[3]; i++) if (p.nameText(p.nameOf(c.tree.frame[l.node[i]])) === 'do_syscall_64') {
			c.reveal(2);
			const r = c.canvas.getBoundingClientRect();
			return {X: r.x + (c.x(l.x0[i]) + c.x(l.x1[i])) / 2, Y: r.y + c.y(2) + 9};
		}
	})()`)
	settle(p)
	p.Hover(at.X, at.Y)
	p.Wait("!document.querySelector('#tooltip').hidden")
	tip := browsertest.Eval[string](p, "document.querySelector('#tooltip').innerText")
	for _, want := range []string{"do_syscall_64", "total", "self", "of parent", "kernel", "[kernel.kallsyms]"} {
		if !strings.Contains(tip, want) {
			t.Errorf("the tooltip does not tell %s: %q", want, tip)
		}
	}
	p.Screenshot("html-tooltip")
	p.RightClick(at.X, at.Y)
	p.Wait("document.activeElement.getAttribute('role') === 'menuitem'")
	p.Screenshot("html-menu")
	p.Keys(browsertest.Down + browsertest.Up + browsertest.Enter)
	settle(p)
	equal(t, "focused", total(p), with("do_syscall_64"))
	equal(t, "hash", hash(p), "#group=&focus=^do_syscall_64$")
	equal(t, "command", browsertest.Eval[string](p, "kprof.command()"), "kprof report --event cpu-clock --focus '^do_syscall_64$' x.data")
	p.Reload()
	settle(p)
	equal(t, "after a reload", total(p), with("do_syscall_64"))
	p.Screenshot("html-steps")
	p.Keys("u")
	equal(t, "undone", total(p), all)

	// By keys alone: go to a box, ask what can be done, choose by its letter.
	p.Do("kprof.flame.canvas.focus()")
	p.Keys(browsertest.Up + browsertest.Up)
	name := browsertest.Eval[string](p, "document.querySelector('#details strong').textContent")
	p.Keys("m")
	equal(t, "menu of", browsertest.Eval[string](p, "document.querySelector('#menu strong').textContent"), name)
	p.Keys("x")
	settle(p)
	equal(t, "without", total(p), all-with(name))
	p.Keys(browsertest.Escape)
	equal(t, "undone", total(p), all)
	p.Do("document.querySelector('.rows .tr').focus()")
	p.Keys("f")
	settle(p)
	if got := total(p); got >= all || got == 0 {
		t.Errorf("a row's key leaves %d of %d", got, all)
	}
	p.Do("document.querySelector('#chips button').click()")
	equal(t, "undone by its chip", total(p), all)
	p.Do("kprof.set({steps: [{op: 'collapse', text: '[kernel]'}, {op: 'hide', text: '^main$'}]})")
	settle(p)
	equal(t, "collapsed", total(p), all)
	boxesFit(t, p)
	p.Screenshot("html-collapsed")
	p.Do("location.hash = '#focus=(&collapse=nothing&hide=^main$'")
	settle(p)
	equal(t, "what makes no sense", browsertest.Eval[string](p, "JSON.stringify(kprof.state.steps)"), `[{"op":"hide","text":"^main$"}]`)

	p.View(browsertest.View{Width: 390, Height: 844, Mobile: true})
	settle(p)
	p.Do(`const c = kprof.flame.canvas, r = c.getBoundingClientRect();
		const at = {clientX: r.x + 40, clientY: r.y + c.clientHeight - 28, pointerType: 'touch', button: 0, bubbles: true, pointerId: 7};
		c.dispatchEvent(new PointerEvent('pointerdown', at))`)
	p.Wait("!document.querySelector('#menu').hidden")
	p.Screenshot("html-phone-menu")
	equal(t, "the menu is cut", browsertest.Eval[bool](p, `(() => { const r = document.querySelector('#menu').getBoundingClientRect(); return r.left < 0 || r.right > 390 || r.bottom > 844 })()`), false)
}

// TestNarrow: what is narrower than a pixel and stands alone can be pointed at; and functions are
// found by where they are from, which has no command.
func TestNarrow(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	m := s.AddMapping(stacks.Mapping{File: "/usr/bin/server", Kind: stacks.KindUser})
	for i, name := range []string{"often", "once"} {
		l := s.AddLocation(m, uint64(i), stacks.KindUser)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name, File: "src/" + name + ".c", StartLine: 40})})
		for n := range []int{99, 1}[i] {
			row := s.Add(0, s.Intern([]uint32{l}), 0, 1)
			s.AddTimedSample(stacks.TimedSample{Time: 1e9 + uint64(n)*1000 + uint64(i)*5e8, Sample: uint32(row), Value: 1})
		}
	}
	row := s.Add(0, s.Intern([]uint32{0}), 0, 1)
	s.AddTimedSample(stacks.TimedSample{Time: 2e9, Sample: uint32(row), Value: 1})
	s.SortTimedSamples()
	p := openPage(t, pageOf(t, s, Options{Select: Select{Command: []string{"kprof", "report"}, Inputs: []string{"x.data"}, Flags: map[string]string{"focus": "--focus"}}}), browsertest.View{})
	p.Do("kprof.set({view: 'time'})")
	settle(p)
	box := browsertest.Eval[struct{ X, Y, Width float64 }](p, `(() => {
		const c = kprof.flame, l = c.layout, r = c.canvas.getBoundingClientRect();
		const i = l.x0.findIndex((x) => Math.abs(x - 5e8) < 10);
		return {X: r.x + c.x(l.x0[i]), Y: r.y + c.y(1) + 9, Width: c.x(l.x1[i]) - c.x(l.x0[i])};
	})()`)
	if box.Width > .1 {
		t.Errorf("the box is %v pixels wide", box.Width)
	}
	p.Click(box.X-9, box.Y)
	equal(t, "beside it", browsertest.Eval[bool](p, "kprof.state.range === null"), true)
	p.Click(box.X-1.2, box.Y)
	settle(p)
	equal(t, "the box", browsertest.Eval[string](p, "document.querySelector('#details strong').textContent"), "once")
	equal(t, "shown from", browsertest.Eval[float64](p, "Math.round(kprof.state.range[0] / 1000)"), 5e5)

	p.Do("kprof.set({view: 'functions', range: null, query: 'from:/once\\\\.C:40$'})")
	rows := "[...document.querySelectorAll('#table .rows .tr')].map((r) => r.querySelector('.name').innerText.trim() + ' ' + r.querySelector('.place').textContent)"
	equal(t, "with capitals", browsertest.Eval[[]string](p, rows), []string{})
	p.Do("kprof.set({query: 'from:/once\\\\.c:40$'})")
	equal(t, "from a file", browsertest.Eval[[]string](p, rows), []string{"once server · src/once.c:40"})
	equal(t, "matched", browsertest.Eval[string](p, "document.querySelector('#matched').textContent"), "0.99% matched")
	equal(t, "command", browsertest.Eval[string](p, "kprof.command()"), "")
	p.Do("kprof.set({query: 'from:'})")
	equal(t, "from anywhere", browsertest.Eval[[]string](p, rows)[0], "often server · src/often.c:40")
	p.Do("kprof.set({query: 'from::once'})")
	equal(t, "a name", browsertest.Eval[[]string](p, rows), []string{})
}

// TestSource: the menu leads to the source of a function, at addresses of a page's own choosing.
func TestSource(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	for i, file := range []string{"/build/linux/./fs/x/../read $& #1.c", "/usr/src/other.c", ""} {
		l := s.AddLocation(stacks.NoMapping, uint64(i), stacks.KindUser)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: fmt.Sprint("f", i), File: file, StartLine: int64(40 * i)}), Line: 7})
		s.Add(0, s.Intern([]uint32{l}), 0, 1)
	}
	source, err := ParseSource("/build/linux/=https://example.org/{file}#L{line}")
	if err != nil {
		t.Fatal(err)
	}
	p := openPage(t, pageOf(t, s, Options{Source: source, links: []Link{{"pprof", "pprof/"}}}), browsertest.View{})
	p.Do("window.opened = []; window.open = (...all) => opened.push(all.join(' '))")
	for i, want := range [][]string{
		{"https://example.org/fs/read%20%24%26%20%231.c#L1 _blank noopener", "pprof/source?f=%5Ef0%24 _blank noopener"},
		{"pprof/source?f=%5Ef1%24 _blank noopener"},
		nil,
	} {
		for _, key := range []string{"g", "p"} {
			p.Do(fmt.Sprintf("kprof.openMenu({frame: kprof.p.frameName.indexOf(kprof.p.names.indexOf('f%d'))}, 9, 9)", i))
			p.Do("[...document.querySelectorAll('#menu button')].find((b) => b.dataset.key === '" + key + "')?.click(); kprof.menu.close()")
		}
		equal(t, fmt.Sprint("of function ", i), browsertest.Eval[[]string](p, "opened.splice(0)"), append([]string{}, want...))
	}
	for _, bad := range []string{"", "javascript:alert(1)//http://{file}", "ftp://example.org/{file}", "https://{file}", "https://example.org/", "https:///{file}", "/x=javascript:{file}", "x=http:{file}"} {
		if s, err := ParseSource(bad); err == nil {
			t.Errorf("%q is %+v", bad, s)
		}
	}
}
