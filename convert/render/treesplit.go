package render

import "slices"

// step moves an entry on by one frame and returns the frame's name, or none when
// there is no other.
func (b *treeBuilder) step(e *entry) uint32 {
	if !e.rootDone && !b.o.Reverse {
		e.rootDone = true
		if e.root != none {
			return e.root
		}
	}
	d := &b.sides[e.side]
	stack := d.set.Stack(e.stack)
	if int(e.locations) < len(stack) {
		frames := d.names.Of(b.location(stack, e.locations))
		name := frames[b.inner(len(frames), e.frames)]
		if e.frames++; int(e.frames) == len(frames) {
			e.locations, e.frames = e.locations+1, 0
		}
		return d.rename[name]
	}
	if !e.rootDone {
		e.rootDone = true
		return e.root // or none
	}
	return none
}

// location is the location of a stack after n others, on the way of the Tree.
func (b *treeBuilder) location(stack []uint32, n uint32) uint32 {
	if b.o.Reverse {
		return stack[n]
	}
	return stack[len(stack)-1-int(n)]
}

// inner is the index of the frame of a location with frames in all after n
// others, on the way of the Tree.
func (b *treeBuilder) inner(frames int, n uint32) int {
	if b.o.Reverse {
		return int(n)
	}
	return frames - 1 - int(n)
}

// kind is that of the frame that step has just returned for e.
func (b *treeBuilder) kind(e entry, name uint32) FrameKind {
	d := &b.sides[e.side]
	stack := d.set.Stack(e.stack)
	if e.locations == 0 && e.frames == 0 || b.o.Reverse && e.rootDone {
		return FrameProcess
	}
	at := e.locations
	if e.frames == 0 {
		at--
	}
	loc := b.location(stack, at)
	frames := uint32(len(d.names.Of(loc)))
	n := e.frames
	if n == 0 {
		n = frames
	}
	inlined := b.inner(int(frames), n-1) < int(frames)-1
	return kindOfFrame(&d.set.Locations[loc], inlined, b.tree.Names[name])
}

// split makes the nodes below the last one, of the entries lo to hi in buffer
// from, and ends that node.
func (b *treeBuilder) split(from, lo, hi int, depth uint32) {
	if hi-lo == 1 {
		b.chain(b.entries[from][lo], depth)
		return
	}
	at := len(b.tree.Nodes) - 1
	touched, kids := len(b.touched), len(b.kids)
	entries := b.entries[from][lo:hi]
	next := b.next[lo:hi]
	ended := 0
	for i := range entries {
		e := &entries[i]
		name := b.step(e)
		next[i] = name
		if name == none {
			ended++
			if e.side == 0 {
				b.tree.Nodes[at].Self += e.value
			}
			continue
		}
		if b.count[name] == 0 {
			b.touched = append(b.touched, name)
		}
		b.count[name]++
		b.sums[name][e.side] += e.value
	}
	names := b.touched[touched:]
	slices.Sort(names)
	pos := lo
	for _, name := range names {
		n := int(b.count[name])
		b.kids = append(b.kids, kid{name: name, lo: pos, hi: pos + n, sum: b.sums[name]})
		b.count[name], b.sums[name] = uint32(pos), [2]int64{} // now where the next goes
		pos += n
	}
	if len(names) == 1 && ended == 0 {
		b.count[names[0]] = 0 // they all are in place
	} else {
		to := b.entries[1-from]
		for i, name := range next {
			if name != none {
				to[b.count[name]] = entries[i]
				b.count[name]++
			}
		}
		for _, name := range names {
			b.count[name] = 0
		}
		from = 1 - from
	}
	b.touched = b.touched[:touched]
	for i := kids; i < len(b.kids); i++ {
		if k := b.kids[i]; b.node(k, b.entries[from][k.lo], depth+1) {
			b.split(from, k.lo, k.hi, depth+1)
		}
	}
	b.kids = b.kids[:kids]
	b.tree.Nodes[at].End = uint32(len(b.tree.Nodes))
}

// chain is split for a single entry: all of its frames that are left.
func (b *treeBuilder) chain(e entry, depth uint32) {
	k := kid{}
	k.sum[e.side] = e.value
	first := len(b.tree.Nodes) - 1
	for k.name = b.step(&e); k.name != none; k.name = b.step(&e) {
		if depth++; !b.node(k, e, depth) {
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
		if k := b.kids[i]; b.node(k, entries[k.lo], depth+1) {
			b.tree.Start = append(b.tree.Start, k.start)
			b.splitByTime(k.lo, k.hi, k.start)
		}
	}
	b.kids = b.kids[:kids]
	b.tree.Nodes[at].End = uint32(len(b.tree.Nodes))
}

// node appends a node, of whose entries e is the first, if it is large enough.
func (b *treeBuilder) node(k kid, e entry, depth uint32) bool {
	t := b.tree
	if len(t.Nodes) == cap(t.Nodes) {
		t.Nodes = slices.Grow(t.Nodes, len(t.Nodes)+1) // twice, where append would copy at every 1.25
	}
	t.Nodes = append(t.Nodes, TreeNode{Name: k.name, Value: k.sum[0], Depth: depth})
	if t.Base != nil {
		t.Base = append(t.Base, k.sum[1])
	}
	last := len(t.Nodes) - 1
	if t.weight(last) < b.min {
		t.Cut++
		t.Nodes = t.Nodes[:last]
		if t.Base != nil {
			t.Base = t.Base[:last]
		}
		return false
	}
	t.Nodes[last].Kind = b.kind(e, k.name)
	return true
}
