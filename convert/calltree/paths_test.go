package calltree

import (
	"slices"
	"strings"
	"testing"

	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
)

// TestPaths: the way from the root to the leaf of each stack is its names, and no two
// nodes are the same path.
func TestPaths(t *testing.T) {
	for seed := range uint64(20) {
		s := stackstest.SetOf(stackstest.OddRows(seed, 300))
		frames := NewFrames(s, FrameOptions{})
		p := NewPaths(s, frames, PathOptions{})
		texts := make([]string, len(p.Frame)) // of nodes
		seen := map[string]bool{}
		var path []string
		for i, depth := range p.Depth {
			if i > 0 {
				path = append(path[:depth-1], frames.Names[frames.All[p.Frame[i]].Name])
			}
			if texts[i] = strings.Join(path, ";;"); seen[texts[i]] {
				t.Errorf("%q is two nodes", texts[i])
			}
			seen[texts[i]] = true
		}
		names := s.Names()
		for id := range s.NumStacks() {
			var want []string
			for _, loc := range slices.Backward(s.Stack(stacks.StackID(id))) {
				for _, n := range slices.Backward(names.Of(loc)) {
					want = append(want, names.Names[n])
				}
			}
			if want == nil {
				want = []string{"[unknown]"}
			}
			if got := texts[p.Leaf[id]]; got != strings.Join(want, ";;") {
				t.Fatalf("seed %d: stack %d is %q, want %q", seed, id, got, want)
			}
		}
		if p.Cut != 0 {
			t.Errorf("%d stacks are cut", p.Cut)
		}
		weight := make([]float64, s.NumStacks())
		for i := range weight {
			weight[i] = float64(i % 7)
		}
		most := len(p.Frame) / 3
		cut := NewPaths(s, frames, PathOptions{Most: most, Weight: weight})
		whole := 0
		for _, f := range cut.Frame {
			if f != cut.CutFrame {
				whole++
			}
		}
		if whole > most || whole < most/2 || cut.Cut == 0 {
			t.Errorf("seed %d: %d nodes of at most %d, %d stacks are cut", seed, whole, most, cut.Cut)
		}
		ends := 0
		for _, leaf := range cut.Leaf {
			if leaf > 0 && cut.Frame[leaf] == cut.CutFrame {
				ends++
			}
		}
		if ends != cut.Cut {
			t.Errorf("seed %d: %d stacks end at a cut, %d are said to", seed, ends, cut.Cut)
		}
	}
}
