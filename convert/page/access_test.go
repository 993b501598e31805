package page

import (
	"fmt"
	"os"
	"testing"

	"kprof/convert/browsertest"
	"kprof/perfevent/livetest"
)

// checkers is where the programs are that testdata/test.sh installs with npm.
const checkers = "../../.build/viewers/node_modules/"

func needChecker(t *testing.T, name, file string) string {
	t.Helper()
	livetest.Require(t, browsertest.Need)
	b, err := os.ReadFile(checkers + file)
	if err != nil {
		t.Skipf("needs %s (%v)", name, err)
	}
	return string(b)
}

// TestAccessible: axe-core finds nothing serious in any view, light or dark, on a phone, in a
// comparison, or in what opens over a page.
func TestAccessible(t *testing.T) {
	axe := needChecker(t, "axe-core", "axe-core/axe.min.js")
	check := func(p *browsertest.Page, what string) {
		t.Helper()
		accessible(t, p, what)
	}
	load := func(p *browsertest.Page) { p.Do(axe) }
	p := openHTML(t, pageSet(), browsertest.View{})
	load(p)
	for _, dark := range []bool{false, true} {
		p.View(browsertest.View{Dark: dark})
		for _, view := range []string{"flame", "time", "callers", "functions", "tree", "heat", "values", "samples"} {
			if dark && (view == "time" || view == "heat") {
				continue // they are pictures; what is around them others have too
			}
			p.Do(fmt.Sprintf("kprof.set({view: %q})", view))
			check(p, fmt.Sprintf("%s, dark %v", view, dark))
		}
		p.Do("kprof.set({view: 'flame', query: 'vfs', span: [0, 1e9], steps: [{op: 'hide', text: '^main$'}]}); document.querySelector('#filter').click()")
		check(p, fmt.Sprintf("filters, dark %v", dark))
		p.Do("kprof.toggleFilters(false); document.querySelector('#save').click()")
		check(p, fmt.Sprintf("menu, dark %v", dark))
		p.Keys(browsertest.Escape)
		p.Do("kprof.set({query: '', span: null, steps: []}); kprof.about()")
		check(p, fmt.Sprintf("about, dark %v", dark))
		p.Keys(browsertest.Escape)
	}
	p.View(browsertest.View{Width: 390, Height: 844, Mobile: true})
	check(p, "phone")
	c := &Compare{Verdict: "Changed.", Columns: []string{"self base", "self new"}, Rows: []CompareRow{{"added", "new", "none → 16 bytes", []string{"0%", "30%"}}}}
	p = openPage(t, pageOf(t, comparedSet(), Options{Compare: c}), browsertest.View{})
	load(p)
	p.Do("document.querySelector('#verdict details').open = true; kprof.set({sides: true})")
	check(p, "comparison")
}

// accessible fails the test for each serious problem that axe-core, which the page has, finds in it.
func accessible(t *testing.T, p *browsertest.Page, what string) {
	t.Helper()
	settle(p)
	for _, found := range browsertest.Eval[[]string](p, `(async () => {
		const { violations } = await axe.run(document, { resultTypes: ['violations'] });
		return violations.filter((v) => ['serious', 'critical'].includes(v.impact))
			.map((v) => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + ' ' + n.failureSummary.slice(0, 200)).join(' | '));
	})()`) {
		t.Errorf("%s: %s", what, found)
	}
}
