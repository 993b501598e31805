package render

import (
	"math"
	"slices"

	"kprof/convert/stacks"
)

// prefixTree is the stacks of a Set laid over each other from their outermost
// frames on: one node for each different path of function names. Node 0 is the
// root, above the outermost frames, and has no frame. Nodes are in preorder: a
// node's number is above its parent's, and those below it follow it directly.
type prefixTree struct {
	frames *pageFrames
	frame  []uint32 // of each node, index into frames.all; that of the root means nothing
	depth  []uint32 // of each node, 0 for the root
	leaf   []uint32 // the node where each stack ends, by StackID
	cut    int      // stacks that end at a node of frame pageFrames.cut, before their end
}

// newPrefixTree makes a tree of about most nodes or less. If there would be more,
// paths of little weight, which is by StackID and not below 0, end early.
//
// All stacks that go along one path are a range of entries. The heaviest path is
// made longer first, and of those that weigh alike the shortest:
//
//  1. The next frame of each of its entries is looked up and counted by name. A
//     stack without one ends here.
//  2. The entries are moved, into the other of two buffers, so that those of one
//     name are beside each other: the paths that are one frame longer.
func newPrefixTree(s *stacks.Set, weight []float64, most int) *prefixTree {
	b := prefixBuilder{
		set: s, frames: newPageFrames(s), weight: weight,
		leaf:  make([]uint32, s.NumStacks()),
		nodes: []prefixNode{{first: none, last: none, next: none}},
	}
	b.count = make([]uint32, len(b.frames.names))
	b.sums = make([]float64, len(b.frames.names))
	b.nextFrame = make([]uint32, s.NumStacks())
	for side := range b.entries {
		b.entries[side] = make([]prefixEntry, s.NumStacks())
	}
	all := prefixPath{hi: uint32(s.NumStacks())}
	var sum float64
	for i := range b.entries[0] {
		stack := s.Stack(stacks.StackID(i))
		b.entries[0][i] = prefixEntry{stack: stacks.StackID(i), left: uint32(len(stack))}
		sum += weight[i]
	}
	b.unit = sum / (1 << (weightClasses - 1))
	b.put(all, sum)
	for p, ok := b.take(); ok; p, ok = b.take() {
		if len(b.nodes) < most {
			b.split(p)
		} else {
			b.end(p)
		}
	}
	return b.preorder()
}

// prefixBuilder numbers nodes as they come.
type prefixBuilder struct {
	set    *stacks.Set
	frames *pageFrames
	weight []float64
	leaf   []uint32
	cut    int
	nodes  []prefixNode

	entries   [2][]prefixEntry
	nextFrame []uint32 // of the entries of a path while it is split

	// By name, while a path is split; zero in between.
	count []uint32
	sums  []float64
	kids  []prefixKid

	// waiting are the paths to be made longer, by the logarithm of their weight.
	waiting [weightClasses]prefixQueue
	unit    float64 // the weight from which paths are not in the lowest class
}

// weightClasses is how many binary orders of weight are told apart.
const weightClasses = 40

// prefixEntry is a stack on its way: how many of its locations are left, and how
// many frames of the outermost of these are behind.
type prefixEntry struct {
	stack       stacks.StackID
	left, inner uint32
}

type prefixNode struct {
	frame             uint32
	first, last, next uint32 // children as a list, none at its end
}

// prefixPath is a node and the entries that go through it:
// prefixBuilder.entries[side][lo:hi].
type prefixPath struct {
	node, lo, hi uint32
	side         uint8
}

// prefixKid is a path one frame longer, while its entries are counted.
type prefixKid struct {
	frame uint32
	path  prefixPath
}

// prefixQueue gives out what came first.
type prefixQueue struct {
	paths []prefixPath
	taken int
}

func (b *prefixBuilder) put(p prefixPath, weight float64) {
	class := 0
	if weight > b.unit {
		class = min(math.Ilogb(weight/b.unit), weightClasses-1)
	}
	q := &b.waiting[class]
	if q.taken == len(q.paths) {
		q.paths, q.taken = q.paths[:0], 0
	}
	q.paths = append(q.paths, p)
}

func (b *prefixBuilder) take() (prefixPath, bool) {
	for class := weightClasses - 1; class >= 0; class-- {
		if q := &b.waiting[class]; q.taken < len(q.paths) {
			q.taken++
			return q.paths[q.taken-1], true
		}
	}
	return prefixPath{}, false
}

// step moves an entry on by one frame, which it returns, or none at its end.
func (b *prefixBuilder) step(e *prefixEntry, top bool) uint32 {
	if e.left == 0 {
		if top {
			return b.frames.nothing
		}
		return none
	}
	of := b.frames.at(b.set.Stack(e.stack)[e.left-1])
	f := of[e.inner]
	if e.inner++; int(e.inner) == len(of) {
		e.left, e.inner = e.left-1, 0
	}
	return f
}

// split makes the nodes below that of a path.
func (b *prefixBuilder) split(p prefixPath) {
	entries := b.entries[p.side][p.lo:p.hi]
	next := b.nextFrame[p.lo:p.hi]
	b.kids = b.kids[:0]
	for i := range entries {
		e := &entries[i]
		f := b.step(e, p.node == 0)
		next[i] = f
		if f == none {
			b.leaf[e.stack] = p.node
			continue
		}
		name := b.frames.all[f].name
		if b.count[name] == 0 {
			b.kids = append(b.kids, prefixKid{frame: f})
		}
		b.count[name]++
		b.sums[name] += b.weight[e.stack]
	}
	at := p.lo
	for i := range b.kids {
		k := &b.kids[i]
		name := b.frames.all[k.frame].name
		k.path = prefixPath{node: b.add(p.node, k.frame), lo: at, hi: at + b.count[name], side: 1 - p.side}
		at, b.count[name] = k.path.hi, k.path.lo // from now on where the next goes
	}
	if len(b.kids) == 1 && at == p.hi {
		b.kids[0].path.side = p.side // they are in place
	} else {
		to := b.entries[1-p.side]
		for i, f := range next {
			if f != none {
				name := b.frames.all[f].name
				to[b.count[name]] = entries[i]
				b.count[name]++
			}
		}
	}
	for _, k := range b.kids {
		name := b.frames.all[k.frame].name
		b.put(k.path, b.sums[name])
		b.count[name], b.sums[name] = 0, 0
	}
}

// end leaves a path as it is: what goes on from it is cut.
func (b *prefixBuilder) end(p prefixPath) {
	cut := uint32(none)
	for i := p.lo; i < p.hi; i++ {
		e := &b.entries[p.side][i]
		if e.left == 0 && p.node != 0 {
			b.leaf[e.stack] = p.node
			continue
		}
		if cut == none {
			cut = b.add(p.node, b.frames.cut)
		}
		b.leaf[e.stack] = cut
		b.cut++
	}
}

// add appends a node.
func (b *prefixBuilder) add(parent, frame uint32) uint32 {
	node := uint32(len(b.nodes))
	if len(b.nodes) == cap(b.nodes) {
		b.nodes = slices.Grow(b.nodes, len(b.nodes)+1) // twice, where append would copy at every 1.25
	}
	b.nodes = append(b.nodes, prefixNode{frame: frame, first: none, last: none, next: none})
	p := &b.nodes[parent]
	if p.first == none {
		p.first = node
	} else {
		b.nodes[p.last].next = node
	}
	p.last = node
	return node
}

// preorder numbers the nodes anew.
func (b *prefixBuilder) preorder() *prefixTree {
	n := len(b.nodes)
	t := &prefixTree{frames: b.frames, frame: make([]uint32, 0, n), depth: make([]uint32, 0, n), leaf: b.leaf, cut: b.cut}
	number := make([]uint32, n)
	var up []uint32 // the nodes above, each to be gone on from its sibling
	for node := uint32(0); ; {
		number[node] = uint32(len(t.frame))
		t.frame = append(t.frame, b.nodes[node].frame)
		t.depth = append(t.depth, uint32(len(up)))
		if first := b.nodes[node].first; first != none {
			up = append(up, node)
			node = first
			continue
		}
		for len(up) > 0 && b.nodes[node].next == none {
			node = up[len(up)-1]
			up = up[:len(up)-1]
		}
		if len(up) == 0 {
			break
		}
		node = b.nodes[node].next
	}
	for id, node := range t.leaf {
		t.leaf[id] = number[node]
	}
	return t
}
