package page

import (
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
