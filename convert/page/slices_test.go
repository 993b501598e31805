package page

import (
	"fmt"
	"testing"

	"kprof/convert/browsertest"
	"kprof/convert/stacks"
)

// TestSlices: what is computed in slices is what is computed at once, whatever is selected
// meanwhile; and until it is there, what is shown has no numbers.
func TestSlices(t *testing.T) {
	s := pageSet()
	states := []string{
		"{steps: [{op: 'hide', text: '^do_syscall_64$'}]}", "{inverted: true}", "{steps: [{op: 'focus', text: 'vfs'}, {op: 'collapse', text: '[kernel]'}]}",
		"{steps: [{op: 'show-from', text: 'main'}, {op: 'collapse-recursion', text: 'serve'}], group: 0}", "{steps: [{op: 'show-to', text: 'schedule'}], inverted: true}",
		"{filter: new Map([[0, new Set([1])]]), heavy: true}", "{event: 1, column: 0}", "{group: 3}",
	}
	const (
		first = "{steps: [], inverted: false, group: -1, filter: new Map(), heavy: false, event: 0, column: 1}"
		seen  = `(() => {
			const {levels, start, node, x0, x1} = kprof.flame.layout, {sums: {self, total}, tree} = kprof.flame;
			return JSON.stringify([levels, start, [...node], [...x0], [...x1], [...self], [...total], [...tree.frame], [...kprof.functions().self], [...kprof.functions().total]]);
		})()`
	)
	all := openHTML(t, s, browsertest.View{})
	p := openHTML(t, s, browsertest.View{})
	p.Do("kprof.manyNodes = 0; kprof.background.sliceTime = 0; kprof.showCounted()")
	p.Wait("kprof.coarse")
	for _, state := range states {
		all.Do("kprof.set({..." + first + ", ..." + state + "})")
		equal(t, state+": while it is counted", browsertest.Eval[string](p, "(kprof.memory.clear(), kprof.set("+states[2]+"), kprof.set({..."+first+", ..."+state+"}), document.querySelector('#details span').textContent)"), "counting …")
		settle(all)
		settle(p)
		if got, want := browsertest.Eval[string](p, seen), browsertest.Eval[string](all, seen); got != want {
			t.Errorf("%s: %.200s, want %.200s", state, got, want)
		}
	}
	// A picture comes first, and its boxes select nothing.
	p.Do("kprof.set(" + first + ")")
	settle(p)
	p.Wait("kprof.coarse?.event === 0")
	want := sumOf(s, 0, 1, func(stacks.Sample, []string) bool { return true })
	for _, state := range []string{"{steps: [{op: 'hide', text: '^main$'}]}", "{inverted: true}"} {
		equal(t, state+": first picture, and zoom", browsertest.Eval[[]int64](p, "(kprof.set({..."+first+", ..."+state+"}), kprof.pick(kprof.flame, {level: 1, i: 1}, {}), [kprof.flame.layout.max, kprof.flame.layout.levels > 1, kprof.counting, kprof.state.zoom].map(Number))"), []int64{want, 1, 1, 0})
		settle(p)
	}
	equal(t, "errors", p.Errors(), nil)
}

// TestInvertedLarge: segments of more ends than a slice has.
func TestInvertedLarge(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "cpu", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	const functions = 190
	locs := make([]uint32, functions)
	for i := range locs {
		locs[i] = s.AddLocation(stacks.NoMapping, uint64(i), stacks.KindUser)
		s.SetLines(locs[i], stacks.Line{Function: s.AddFunction(stacks.Function{Name: fmt.Sprintf("f%03d", i)})})
	}
	leaves := map[string]int64{}
	for i := range functions {
		for j := range functions {
			leaf := locs[0] // of more than a slice
			if j == 0 {
				leaf = locs[i]
			}
			s.Add(0, s.Intern([]uint32{leaf, locs[i], locs[j]}), 0, int64(i+j+1))
			leaves[fmt.Sprintf("f%03d", map[bool]int{true: i}[j == 0])] += int64(i + j + 1)
		}
	}
	p := openHTML(t, s, browsertest.View{})
	p.Do("kprof.set({inverted: true})")
	settle(p)
	got := named[int64](p, `
		const {flame: {layout: l, tree, sums}, p} = kprof;
		for (let i = l.start[1]; i < l.start[2]; i++) out.push({Name: p.nameText(p.nameOf(tree.frame[l.node[i]])), Value: sums.total[l.node[i]]});`)
	equal(t, "leaves", got, leaves)
	boxes := browsertest.Eval[[]int](p, "kprof.flame.layout.start")
	// The root, leaves, their callers, and theirs.
	equal(t, "boxes by level", boxes[1], 1)
	equal(t, "leaves", boxes[2]-boxes[1], functions)
	equal(t, "all", browsertest.Eval[int64](p, "kprof.flame.sums.self.reduce((a, b) => a + b)"), total(p))
}
