package page

import (
	gocmp "cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprof/convert/browsertest"
	"kprof/convert/calltree"
	"kprof/convert/stacks"
)

// functionsEqual: the table is that of Costs, and shows it.
func functionsEqual(t *testing.T, p *browsertest.Page, s *stacks.Set) {
	equal(t, "functions", pageFunctions(p, 1), costsOf(s, 1))
	costs, all, err := calltree.Costs(s, calltree.Options{Column: 1})
	if err != nil {
		t.Fatal(err)
	}
	p.Do("document.querySelector('[data-view=functions]').click(); document.querySelector('.head .total button').click()")
	settle(p)
	slices.SortFunc(costs, func(a, b calltree.Cost) int { return gocmp.Compare(b.Cum, a.Cum) })
	var shares []string
	for _, c := range costs[:10] {
		shares = append(shares, fmt.Sprintf("%.2f%%", 100*float64(c.Cum)/float64(all)))
	}
	equal(t, "shares", browsertest.Eval[[]string](p, "[...document.querySelectorAll('.rows .total span')].slice(0, 10).map(e => e.textContent)"), shares)
	p.Screenshot("html-functions")
	p.Do("document.querySelector('.head .self button').click()")
}

// callersEqual: callers and callees of a function are those of the samples.
func callersEqual(t *testing.T, p *browsertest.Page, s *stacks.Set, name string) {
	p.Do(`kprof.set({group: -1, query: '^` + name + `$'}); document.querySelector('.rows .tr').click(); kprof.set({query: ''})`)
	settle(p)
	p.Screenshot("html-callers")
	boxesFit(t, p)
	var cum int64
	up, down := map[string]int64{}, map[string]int64{}
	n := s.Names()
	for i := range s.NumSamples() {
		x := s.Sample(i)
		names := path(s, n, x)
		at := slices.Index(names, name)
		if x.Event != 0 || at < 0 {
			continue
		}
		cum += x.Values[1]
		down[strings.Join(names[at:], ";")] += x.Values[1]
		names = names[:at+1]
		slices.Reverse(names)
		up[strings.Join(names, ";")] += x.Values[1]
	}
	for side, want := range map[string]map[string]int64{"callers": up, "callees": down} {
		got := named[int64](p, `
			const {sums: {tree, self}} = kprof.`+side+`, paths = [];
			for (let i = 0; i < self.length; i++) {
				paths.push((i ? paths[tree.parent[i]] + ';' : '') + kprof.p.nameText(kprof.p.nameOf(tree.frame[i])));
				if (self[i]) out.push({Name: paths[i], Value: self[i]});
			}`)
		equal(t, side, got, want)
		sums := browsertest.Eval[[]int64](p, `[kprof.`+side+`.sums.total[0], kprof.`+side+`.sums.self.reduce((a, b) => a + b)]`)
		equal(t, "sums of "+side, sums, []int64{cum, cum})
	}
	p.Back()
	settle(p)
}

// timeEqual: at the time of each sample of a thread its stack is shown.
func timeEqual(t *testing.T, p *browsertest.Page, s *stacks.Set) {
	p.Do("document.querySelector('[data-view=time]').click()")
	settle(p)
	p.Screenshot("html-time")
	boxesFit(t, p)
	lane := strings.Fields(browsertest.Eval[string](p, "document.querySelector('#lane').selectedOptions[0].textContent"))[0]
	n := s.Names()
	var times []uint64
	var want []string
	for _, m := range s.TimedSamples {
		if x := s.Sample(int(m.Sample)); labelIs(s, x, "tid", lane) {
			times = append(times, m.Time-s.TimedSamples[0].Time)
			want = append(want, strings.Join(path(s, n, x), ";"))
		}
	}
	got := browsertest.Eval[[]string](p, js(times)+`.map(t => {
		const {flame: {layout: l, tree}, p} = kprof, path = [];
		for (let level = 1; level < l.levels; level++) for (let i = l.start[level]; i < l.start[level + 1]; i++) {
			if (l.x0[i] <= t && t < l.x1[i]) path.push(p.nameText(p.nameOf(tree.frame[l.node[i]])));
		}
		return path.join(';');
	})`)
	equal(t, "boxes where nothing is sampled", browsertest.Eval[int](p, fmt.Sprintf(`(() => {
		const {layout: {x0, x1}} = kprof.flame;
		return x0.filter((x, i) => x <= %[1]d && x1[i] > %[1]d).length;
	})()`, gap(s))), 0)
	if len(times) < 20 {
		t.Errorf("%d samples of thread %s", len(times), lane)
	}
	equal(t, "stacks of thread "+lane, got, want)
}

// gap is a time in the middle of the longest time without samples, ns after the
// first.
func gap(s *stacks.Set) (middle uint64) {
	var longest uint64
	for i := 1; i < len(s.TimedSamples); i++ {
		if d := s.TimedSamples[i].Time - s.TimedSamples[i-1].Time; d > longest {
			longest, middle = d, s.TimedSamples[i].Time-d/2-s.TimedSamples[0].Time
		}
	}
	return middle
}
