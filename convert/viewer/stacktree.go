package viewer

import (
	"cmp"
	"slices"

	"kprof/convert/calltree"
	"kprof/convert/stacks"
)

// none is no node.
const none = ^uint32(0)

// stackTree is all stacks of a Set as paths from a root. Nodes are numbered so
// that a parent comes before its children.
type stackTree struct {
	parent []uint32 // by node, or none
	frame  []uint32 // by node, index into frameTable.frames
	leaf   []uint32 // by StackID, the last node of its path
}

func newStackTree(s *stacks.Set, frames *frameTable) *stackTree {
	paths := calltree.NewPaths(s, frames.table, calltree.PathOptions{Names: frames.of, NumNames: len(frames.frames)})
	t := &stackTree{leaf: paths.Leaf}
	above := make([]uint32, len(paths.Frame)) // in paths
	var path []uint32
	for node, depth := range paths.Depth {
		path = append(path[:depth], uint32(node))
		if depth > 0 {
			above[node] = path[depth-1]
		}
	}
	// Nodes are numbered in the order in which stacks have them.
	number := make([]uint32, len(paths.Frame)) // by node of paths
	for i := range number {
		number[i] = none
	}
	for id, leaf := range paths.Leaf {
		path = path[:0]
		for at := leaf; at != 0 && number[at] == none; at = above[at] {
			path = append(path, at)
		}
		for _, at := range slices.Backward(path) {
			number[at] = uint32(len(t.parent))
			t.parent, t.frame = append(t.parent, number[above[at]]), append(t.frame, frames.of[paths.Frame[at]])
		}
		t.leaf[id] = number[leaf]
	}
	return t
}

// leftHeavy returns for each node its place when the tree is walked from the
// roots, the heaviest child first: sorted by the place of their leaves, samples
// that share callers lie side by side. weight tells what each stack has itself.
func (t *stackTree) leftHeavy(weight []int64) []uint32 {
	n := len(t.parent)
	total := make([]int64, n)
	size := make([]uint32, n) // nodes of the subtree
	for id, leaf := range t.leaf {
		total[leaf] += weight[id]
	}
	order := make([]uint32, n) // siblings, heaviest first, below parents in order
	for i := n - 1; i >= 0; i-- {
		order[i] = uint32(i)
		size[i]++
		if p := t.parent[i]; p != none {
			total[p] += total[i]
			size[p] += size[i]
		}
	}
	slices.SortFunc(order, func(a, b uint32) int {
		// Roots come first: none and one more is 0.
		return cmp.Or(cmp.Compare(t.parent[a]+1, t.parent[b]+1), cmp.Compare(total[b], total[a]), cmp.Compare(a, b))
	})
	// A parent's place is known before those of its children, since its number
	// is less than theirs and so less than that of any sibling group after it.
	place := make([]uint32, n)
	next := uint32(0)
	for i, node := range order {
		p := t.parent[node]
		if i == 0 || t.parent[order[i-1]] != p {
			next = 0
			if p != none {
				next = place[p] + 1
			}
		}
		place[node] = next
		next += size[node]
	}
	return place
}
