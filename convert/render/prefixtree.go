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

// newPrefixTree makes a tree of up to most nodes, and those of frame
// pageFrames.cut. If there would be more, the lightest paths, and of those that
// weigh alike the longest, are left out. Weights are by StackID and not below 0.
func newPrefixTree(s *stacks.Set, weight []float64, most int) *prefixTree {
	b := newPrefixBuilder(s, weight, most)
	b.walk(0, len(b.entries), 0)
	if b.n > most {
		b.shorten()
		b.walk(0, len(b.entries), 0)
	}
	return b.tree
}

// prefixBuilder makes a tree as a radix sort does. All stacks that go along one
// path are a range of entries:
//
//  1. The next frame of each is looked up and counted by name. A stack without
//     one ends here.
//  2. The entries are moved so that those of one name are beside each other: the
//     paths that are one frame longer.
//  3. Each of these becomes a node and is treated alike.
//
// When there are too many nodes, the rest is only counted, by weight and length;
// then it is known which to leave out, and the walk is done again.
type prefixBuilder struct {
	tree *prefixTree
	most int
	n    int // nodes seen in this walk

	flat    []uint32 // the frames of all stacks, outermost first
	names   []uint32 // of frames, by index into frames.all
	entries []prefixEntry
	spare   []prefixEntry // for moving
	next    []uint32      // the next frame of each entry of a range

	// By name, while a range is split; zero in between.
	count []int
	sums  []float64
	kids  []prefixKid // stack of the paths that are one frame longer

	// lengths is how many more paths of each class of weight there are of a length
	// than of the one before.
	lengths [weightClasses][]int
	unit    float64 // the weight below which paths are in the lowest class
	// Paths below this class are left out, and those in it that are longer.
	least   int
	longest int
}

// weightClasses is how many binary orders of weight are told apart.
const weightClasses = 40

// prefixEntry is a stack: its frames are flat[at : at+length].
type prefixEntry struct {
	at     int
	length uint32
	stack  stacks.StackID
	weight float64
}

// prefixKid is a path of which the entries lo to hi are.
type prefixKid struct {
	frame  uint32
	lo, hi int
	weight float64
}

func newPrefixBuilder(s *stacks.Set, weight []float64, most int) *prefixBuilder {
	n := s.NumStacks()
	frames := newPageFrames(s)
	b := &prefixBuilder{
		tree: &prefixTree{frames: frames, leaf: make([]uint32, n)},
		most: most, longest: math.MaxInt,
		names:   make([]uint32, len(frames.all)),
		entries: make([]prefixEntry, n),
		spare:   make([]prefixEntry, n),
		next:    make([]uint32, n),
		count:   make([]int, len(frames.names)),
		sums:    make([]float64, len(frames.names)),
	}
	for i, f := range frames.all {
		b.names[i] = f.name
	}
	var sum float64
	for id := range b.entries {
		at := len(b.flat)
		stack := s.Stack(stacks.StackID(id))
		if len(b.flat)+len(stack) > cap(b.flat) {
			b.flat = slices.Grow(b.flat, len(b.flat)+len(stack)) // twice, where append would copy at every 1.25
		}
		for i := len(stack) - 1; i >= 0; i-- {
			b.flat = append(b.flat, frames.at(stack[i])...)
		}
		if len(stack) == 0 {
			b.flat = append(b.flat, frames.nothing)
		}
		b.entries[id] = prefixEntry{at, uint32(len(b.flat) - at), stacks.StackID(id), weight[id]}
		sum += weight[id]
	}
	b.unit = sum / (1 << (weightClasses - 1))
	b.start()
	return b
}

// start forgets the nodes and begins with the root.
func (b *prefixBuilder) start() {
	b.tree.frame, b.tree.depth = append(b.tree.frame[:0], 0), append(b.tree.depth[:0], 0)
	b.n = 1
}

func (b *prefixBuilder) class(weight float64) int {
	if weight <= b.unit {
		return 0
	}
	return min(math.Ilogb(weight/b.unit), weightClasses-1)
}

// walk makes the nodes below the last one, of the entries lo to hi, which have
// depth frames in common.
func (b *prefixBuilder) walk(lo, hi int, depth uint32) {
	if hi-lo == 1 && depth > 0 {
		b.chain(&b.entries[lo], depth)
		return
	}
	node := len(b.tree.frame) - 1
	first := len(b.kids)
	b.split(lo, hi, depth, uint32(node))
	cut := uint32(none)
	for i := first; i < len(b.kids); i++ {
		k := b.kids[i]
		if b.add(k.frame, depth+1, 1, k.weight) {
			b.walk(k.lo, k.hi, depth+1)
			continue
		}
		if cut == none {
			cut = b.put(b.tree.frames.cut, depth+1)
		}
		for _, e := range b.entries[k.lo:k.hi] {
			b.tree.leaf[e.stack] = cut
		}
		b.tree.cut += k.hi - k.lo
	}
	b.kids = b.kids[:first]
}

// split moves the entries so that those of one name are beside each other, and
// appends these to kids. Those that end at node come first.
func (b *prefixBuilder) split(lo, hi int, depth, node uint32) {
	first, ended := len(b.kids), 0
	entries, next := b.entries[lo:hi], b.next[lo:hi]
	for i := range entries {
		e := &entries[i]
		if e.length == depth {
			b.tree.leaf[e.stack] = node
			next[i] = none
			ended++
			continue
		}
		f := b.flat[e.at+int(depth)]
		next[i] = f
		name := b.names[f]
		if b.count[name] == 0 {
			b.kids = append(b.kids, prefixKid{frame: f})
		}
		b.count[name]++
		b.sums[name] += e.weight
	}
	kids := b.kids[first:]
	at := lo + ended
	for i := range kids {
		k := &kids[i]
		name := b.names[k.frame]
		k.lo, k.hi, k.weight = at, at+b.count[name], b.sums[name]
		b.count[name], b.sums[name] = k.lo, 0 // now where the next goes
		at = k.hi
	}
	if len(kids) > 1 || ended > 0 && ended < hi-lo {
		to := lo
		for i, f := range next {
			if f == none {
				b.spare[to] = entries[i]
				to++
				continue
			}
			name := b.names[f]
			b.spare[b.count[name]] = entries[i]
			b.count[name]++
		}
		copy(entries, b.spare[lo:hi])
	}
	for _, k := range kids {
		b.count[b.names[k.frame]] = 0
	}
}

// chain is walk for a single entry: all of its frames that are left, as far as
// they are kept.
func (b *prefixBuilder) chain(e *prefixEntry, depth uint32) {
	rest := b.flat[e.at+int(depth) : e.at+int(e.length)]
	for i, f := range rest {
		depth++
		if b.n >= b.most && b.longest == math.MaxInt {
			b.add(f, depth, len(rest)-i, e.weight) // only counted
			return
		}
		if !b.add(f, depth, 1, e.weight) {
			b.put(b.tree.frames.cut, depth)
			b.tree.cut++
			break
		}
	}
	b.tree.leaf[e.stack] = uint32(len(b.tree.frame) - 1)
}

// add appends a node, and counts it and others below it that weigh alike; it
// returns false if such nodes are left out.
func (b *prefixBuilder) add(frame, depth uint32, n int, weight float64) bool {
	c := b.class(weight)
	if b.longest < math.MaxInt {
		if c < b.least || c == b.least && int(depth) > b.longest {
			return false
		}
	} else {
		l := &b.lengths[c]
		if end := int(depth) + n; end >= len(*l) {
			*l = append(*l, make([]int, end+1-len(*l))...)
		}
		(*l)[depth]++
		(*l)[int(depth)+n]--
	}
	if b.n += n; b.n <= b.most {
		b.put(frame, depth)
	}
	return true
}

// put appends a node and returns its number.
func (b *prefixBuilder) put(frame, depth uint32) uint32 {
	t := b.tree
	if len(t.frame) == cap(t.frame) {
		t.frame = slices.Grow(t.frame, len(t.frame)+1) // twice, where append would copy at every 1.25
		t.depth = slices.Grow(t.depth, len(t.depth)+1)
	}
	t.frame, t.depth = append(t.frame, frame), append(t.depth, depth)
	return uint32(len(t.frame) - 1)
}

// shorten decides what to leave out, and starts again.
func (b *prefixBuilder) shorten() {
	b.start()
	n := 1
	for b.least = weightClasses - 1; b.least >= 0; b.least-- {
		paths := 0 // of the length
		for length, more := range b.lengths[b.least] {
			paths += more
			if n += paths; n > b.most {
				b.longest = length - 1
				return
			}
		}
	}
}
