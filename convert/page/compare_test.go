package page

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"kprof/convert/browsertest"
	"kprof/convert/stacks"
)

// comparedSet is both sides of a comparison: half of same is in each, added only in the
// new one, gone only in the base.
func comparedSet() *stacks.Set {
	s := stacks.New(stacks.Event{Name: "cpu", Values: []stacks.ValueType{{Type: "new", Unit: "count"}, {Type: "base", Unit: "count"}}})
	loc := func(name string) uint32 {
		l := s.AddLocation(stacks.NoMapping, 0, stacks.KindUser)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name})})
		return l
	}
	main := loc("main")
	s.Add(0, s.Intern([]uint32{loc("same"), main}), 0, 500, 500)
	s.Add(0, s.Intern([]uint32{loc("added"), main}), 0, 300, 0)
	s.Add(0, s.Intern([]uint32{loc("gone"), main}), 0, 0, 200)
	s.Add(0, s.Intern([]uint32{loc("more"), main}), 0, 200, 100)
	return s
}

// TestCompare: boxes have the colour of what differs, the verdict and the functions that
// changed are there, and lead to their callers.
func TestCompare(t *testing.T) {
	c := &Compare{
		Verdict: "Changed: added <b> +30%.", Columns: []string{"self base", "self new"},
		Rows: []CompareRow{{"added", "new", "none → 16 bytes", []string{"0%", "30%"}}, {"gone", "gone", "", []string{"20%", "0%"}}},
	}
	p := openPage(t, pageOf(t, comparedSet(), Options{Compare: c}), browsertest.View{Width: 1200, Height: 700})
	colors := func() map[string][3]float64 {
		return named[[3]float64](p, `
			const c = kprof.flame, l = c.layout;
			for (let i = l.start[1]; i < l.start[l.levels]; i++) {
				const frame = c.tree.frame[l.node[i]];
				out.push({Name: kprof.p.nameText(kprof.p.nameOf(frame)), Value: c.tint(l.node[i], frame)});
			}`)
	}
	warm := func(c [3]float64) float64 { return c[0] - c[2] } // red above blue
	got := colors()
	if warm(got["added"]) < 150 || warm(got["more"]) < 80 || warm(got["more"]) >= warm(got["added"]) || warm(got["same"]) > 20 || warm(got["same"]) < -20 {
		t.Errorf("colours of more: %v", got)
	}
	if _, shown := got["gone"]; shown {
		t.Error("gone has a box among the values of the new side")
	}
	p.Screenshot("html-compare")
	p.Do("kprof.set({column: 1})")
	settle(p)
	if got := colors(); warm(got["gone"]) > -150 {
		t.Errorf("colours of less: %v", got)
	}
	p.Do("kprof.set({column: 0}); document.querySelector('#changes').click()")
	settle(p)
	if got := colors(); warm(got["more"]) > 20 || warm(got["added"]) < 150 {
		t.Errorf("colours of what is more than noise: %v", got)
	}
	equal(t, "hash", hash(p), "#changes=true")
	clickBox(p, "more")
	equal(t, "details", browsertest.Eval[string](p, "document.querySelector('#details').textContent"),
		"more100 (12.50%) → 200 (20.00%) · +100 · user")
	p.Keys(browsertest.Escape)
	equal(t, "verdict", browsertest.Eval[string](p, "document.querySelector('#verdict p').textContent"), c.Verdict)
	p.Do("document.querySelector('#verdict details').open = true")
	equal(t, "rows", browsertest.Eval[[]string](p, "[...document.querySelectorAll('#verdict tbody tr')].map(r => r.innerText)"), []string{"added\tnew\t0%\t30%\tnone → 16 bytes", "gone\tgone\t20%\t0%\t"})
	p.Do("document.querySelector('#verdict tbody button').click()")
	settle(p)
	equal(t, "after a click", hash(p), "#view=callers&changes=true&function=added")
	p.View(browsertest.View{Width: 390, Height: 844, Mobile: true})
	p.Do("kprof.set({view: 'flame'})")
	settle(p)
	equal(t, "scrolls sideways on a phone", browsertest.Eval[bool](p, "document.documentElement.scrollWidth > 390"), false)
	equal(t, "the switches' labels on a phone, in lines", browsertest.Eval[[]bool](p, "['changes', 'sides'].map((id) => document.querySelector(`#${id}-pick span`).offsetHeight).map((height) => height > 0 && height < 24)"), []bool{true, true})
	equal(t, "errors", p.Errors(), nil)
}

// TestCompareSides: both flame graphs are below each other; what is pointed at in one is
// marked in the other, and what is zoomed to in one is in both.
func TestCompareSides(t *testing.T) {
	p := openPage(t, pageOf(t, comparedSet(), Options{Compare: &Compare{}}), browsertest.View{Width: 1200, Height: 700})
	p.ClickOn("#sides")
	settle(p)
	equal(t, "hash", hash(p), "#sides=true")
	equal(t, "sides", browsertest.Eval[[]string](p, "[...document.querySelectorAll('.side')].map(e => e.innerText)"), []string{"new: 1\u202f000", "base: 800"})
	widths := func() map[string]float64 {
		return named[float64](p, `
			for (const c of [kprof.flame, kprof.other]) for (let i = 0, l = c.layout; i < l.start[l.levels]; i++) {
				const frame = c.tree.frame[l.node[i]], side = c === kprof.flame ? 'new ' : 'base ';
				out.push({Name: side + (l.node[i] ? kprof.p.nameText(kprof.p.nameOf(frame)) : 'all'), Value: l.x1[i] - l.x0[i]});
			}`)
	}
	equal(t, "widths", widths(), map[string]float64{
		"new all": 1000, "new main": 1000, "new same": 500, "new added": 300, "new more": 200,
		"base all": 800, "base main": 800, "base same": 500, "base gone": 200, "base more": 100,
	})
	point := func(chart, name string) {
		at := browsertest.Eval[browsertest.Box](p, `(() => {
			const c = kprof.`+chart+`, l = c.layout, i = [...l.node].findIndex((n) => n && kprof.p.nameText(kprof.p.nameOf(c.tree.frame[n])) === `+js(name)+`);
			const level = l.start.findLastIndex((from) => from <= i), r = c.canvas.getBoundingClientRect();
			return {X: r.x + (c.x(l.x0[i]) + c.x(l.x1[i])) / 2, Y: r.y + c.y(level) + 5};
		})()`)
		p.Hover(at.X, at.Y)
	}
	marked := func(chart string) string {
		return browsertest.Eval[string](p, `(() => {
			const c = kprof.`+chart+`;
			return c.hover.hidden ? '' : kprof.p.nameText(kprof.p.nameOf(c.tree.frame[c.layout.node[c.hovered.i]]));
		})()`)
	}
	point("other", "more")
	equal(t, "marked in the other", marked("flame"), "more")
	equal(t, "tooltip", browsertest.Eval[string](p, "document.querySelector('#tooltip').innerText.replace(/\\s+/g, ' ')"),
		"more base → new 100 (12.50%) → 200 (20.00%) difference +100 of parent 12.50% kind user")
	point("other", "gone")
	equal(t, "marked though it is gone", marked("flame"), "")
	point("flame", "same")
	equal(t, "marked in the other", marked("other"), "same")
	clickBox(p, "more")
	settle(p)
	equal(t, "zoomed", browsertest.Eval[[]float64](p, "[kprof.flame, kprof.other].map(c => c.range[1] - c.range[0])"), []float64{200, 100})
	p.Screenshot("html-sides")
	p.Keys(browsertest.Escape)
	p.ClickOn("[data-view=functions]")
	equal(t, "sides in another view", browsertest.Eval[bool](p, "document.querySelector('#other').hidden"), true)
}

// TestCompareSave: of a comparison a profile is saved in which the base is negative, as pprof and
// kprof diff have it, and a page of the comparison, or of the part of it that is selected.
func TestCompareSave(t *testing.T) {
	c := &Compare{Verdict: "Changed.", Columns: []string{"self"}, Rows: []CompareRow{{"added", "new", "", []string{"30%"}}, {"gone", "gone", "", []string{"0%"}}}}
	p := openPage(t, pageOf(t, comparedSet(), Options{Compare: c}), browsertest.View{})
	p.ClickOn("#save")
	p.Wait("document.querySelector('#menu [data-key=b]') && document.querySelector('#menu [data-key=h]')")
	equal(t, "whom it is for", browsertest.Eval[string](p, "document.querySelector('#menu [data-key=b] span').textContent"), "Profile for pprof")
	p.Keys(browsertest.Escape)
	sums := func() map[string]int64 {
		t.Helper()
		g, err := profile.ParseData(saved(t, p, "await kprof.selectedProfile()"))
		if err == nil {
			err = g.CheckValid()
		}
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "values", fmt.Sprint(g.SampleType[0].Type, len(g.SampleType), g.SampleType[0].Unit), "cpu1count")
		got := map[string]int64{}
		for _, x := range g.Sample {
			got[x.Location[0].Line[0].Function.Name+" "+strings.Join(x.Label["pprof::base"], "")] += x.Value[0]
		}
		return got
	}
	equal(t, "both sides", sums(), map[string]int64{"same ": 500, "same true": -500, "added ": 300, "gone true": -200, "more ": 200, "more true": -100})
	page := func() *browsertest.Page {
		return openPage(t, string(bytes.Clone(saved(t, p, "await kprof.selectedPage()"))), browsertest.View{})
	}
	const seen = `[document.querySelector('#verdict p').textContent, document.querySelectorAll('#verdict tbody tr').length,
		...[0, 1].map((column) => (kprof.set({column}), kprof.sums().total[0])), kprof.p.head.names.join(' ')].map(String)`
	equal(t, "all", browsertest.Eval[[]string](page(), seen), []string{"Changed.", "2", "1000", "800", "main same added gone more [kernel]"})
	p.Do("kprof.set({steps: [{op: 'focus', text: 'gone|more'}]})")
	equal(t, "a part", sums(), map[string]int64{"gone true": -200, "more ": 200, "more true": -100})
	part := page()
	equal(t, "a part", browsertest.Eval[[]string](part, seen), []string{"A part of what was compared; verdicts are of all of it.", "1", "200", "300", "main gone more [kernel]"})
	part.Do("kprof.set({column: 0, sides: true})")
	settle(part)
	equal(t, "errors", append(p.Errors(), part.Errors()...), nil)
}
