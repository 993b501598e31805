package calltree

import "slices"

func (b *treeBuilder) last() int { return len(b.tree.Nodes) - 1 }

func (b *treeBuilder) ended(node int, e *entry) {
	if e.side == 0 {
		b.tree.Nodes[node].Self += e.value
	}
}

func (b *treeBuilder) leftOut(int, []entry, uint32) {} // node has counted it

func (b *treeBuilder) done(node int) { b.tree.Nodes[node].End = uint32(len(b.tree.Nodes)) }

func (b *treeBuilder) single(e entry, depth uint32) {
	k := kid{}
	k.sum[e.side] = e.value
	first := len(b.tree.Nodes) - 1
	for k.name = b.step(&e); k.name != none; k.name = b.step(&e) {
		if depth++; !b.node(k, &e, depth) {
			break
		}
	}
	last := len(b.tree.Nodes)
	if k.name == none && e.side == 0 {
		b.tree.Nodes[last-1].Self = e.value
	}
	for i := first; i < last; i++ {
		b.tree.Nodes[i].End = uint32(last)
	}
}

// splitByTime is split for entries that stay where they are: a child is a run of
// entries of one name. The first of the entries begins at start.
func (b *treeBuilder) splitByTime(lo, hi int, start int64) {
	at := len(b.tree.Nodes) - 1
	depth, kids := b.tree.Nodes[at].Depth, len(b.kids)
	entries := b.entries[0]
	last := uint32(none)
	for i := lo; i < hi; i++ {
		e := &entries[i]
		name := b.step(e)
		switch {
		case name == none:
			b.tree.Nodes[at].Self += e.value
		case name != last:
			b.kids = append(b.kids, kid{name: name, lo: i, hi: i + 1, sum: [2]int64{e.value}, start: start})
		default:
			k := &b.kids[len(b.kids)-1]
			k.hi++
			k.sum[0] += e.value
		}
		last = name
		start += e.value
	}
	for i := kids; i < len(b.kids); i++ {
		if k := b.kids[i]; b.node(k, &entries[k.lo], depth+1) {
			b.tree.Start = append(b.tree.Start, k.start)
			b.splitByTime(k.lo, k.hi, k.start)
		}
	}
	b.kids = b.kids[:kids]
	b.tree.Nodes[at].End = uint32(len(b.tree.Nodes))
}

// node appends a node, of whose entries e is the first, if it is large enough.
func (b *treeBuilder) node(k kid, e *entry, depth uint32) bool {
	t := b.tree
	if b.o.Most > 0 && len(t.Nodes) >= b.o.Most {
		t.Over = true
		return false
	}
	if len(t.Nodes) == cap(t.Nodes) {
		t.Nodes = slices.Grow(t.Nodes, len(t.Nodes)+1) // twice, where append would copy at every 1.25
	}
	t.Nodes = append(t.Nodes, Node{Name: k.name, Value: k.sum[0], Depth: depth})
	if t.Base != nil {
		t.Base = append(t.Base, k.sum[1])
	}
	last := len(t.Nodes) - 1
	if t.Weight(last) < b.min {
		t.Cut++
		t.Nodes = t.Nodes[:last]
		if t.Base != nil {
			t.Base = t.Base[:last]
		}
		return false
	}
	d := &b.sides[e.side]
	switch id := b.frame(e); {
	case id != none:
		t.Nodes[last].Kind = d.frames.All[id].Kind
	case k.name == d.nothing && len(d.set.Stack(e.stack)) == 0:
		t.Nodes[last].Kind = FrameUnknown
	default:
		t.Nodes[last].Kind = FrameProcess
	}
	return true
}
