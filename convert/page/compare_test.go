package page

import (
	"testing"

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
		Rows: []CompareRow{{"added", "new", []string{"0%", "30%"}}, {"gone", "gone", []string{"20%", "0%"}}},
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
	equal(t, "rows", browsertest.Eval[[]string](p, "[...document.querySelectorAll('#verdict tbody tr')].map(r => r.innerText)"), []string{"added\tnew\t0%\t30%", "gone\tgone\t20%\t0%"})
	p.Do("document.querySelector('#verdict tbody button').click()")
	settle(p)
	equal(t, "after a click", hash(p), "#view=callers&changes=true&function=added")
	p.View(browsertest.View{Width: 390, Height: 844, Mobile: true})
	settle(p)
	equal(t, "scrolls sideways on a phone", browsertest.Eval[bool](p, "document.documentElement.scrollWidth > 390"), false)
	equal(t, "the switch's label on a phone", browsertest.Eval[bool](p, "document.querySelector('#changes-pick span').offsetWidth > 0"), true)
	equal(t, "errors", p.Errors(), nil)
}
