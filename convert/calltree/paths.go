package calltree

import (
	"math"
	"slices"

	"kprof/convert/stacks"
)

// Paths is the stacks of a Set laid over each other from their outermost frames on,
// whatever their samples: one node for each different path. Node 0 is the root, above
// the outermost frames, and has no frame. Nodes are in preorder: a node's number is
// above its parent's, and those below it follow it directly; children are in the order
// in which stacks have them.
type Paths struct {
	Frames *Frames
	Frame  []uint32 // of each node, index into Frames.All; that of the root means nothing
	Depth  []uint32 // of each node, 0 for the root
	Leaf   []uint32 // the node where each stack ends, by StackID
	// Cut counts the stacks that end before their end, at a node of frame CutFrame.
	Cut      int
	CutFrame uint32
}

// PathOptions say what of the stacks is kept.
type PathOptions struct {
	// Most is how many nodes there are at most, besides those of frame CutFrame. If
	// there would be more, the lightest paths, and of those that weigh alike the
	// longest, are left out. Default: any number.
	Most int
	// Weight is what stacks weigh, by StackID and not below 0. It is for Most.
	Weight []float64
	// Names has for each frame what tells paths apart, below NumNames. Default: the
	// frame's name.
	Names    []uint32
	NumNames int
}

// NewPaths lays the stacks of a Set over each other. Paths are told apart by name, and
// nodes have the frame that came first.
func NewPaths(s *stacks.Set, frames *Frames, o PathOptions) *Paths {
	b := pathBuilder{
		paths: &Paths{Frames: frames, Leaf: make([]uint32, s.NumStacks()), CutFrame: frames.Add("…")},
		most:  o.Most, longest: math.MaxInt,
	}
	if b.most == 0 {
		b.most = math.MaxInt
	}
	if o.Names == nil {
		o.NumNames = len(frames.Names)
		for _, f := range frames.All {
			o.Names = append(o.Names, f.Name)
		}
	}
	b.visitor = &b
	b.sides = []side{{set: s, frames: frames, names: o.Names}}
	b.walk(s, &o)
	if b.n > b.most {
		b.shorten()
		b.walk(s, &o)
	}
	return b.paths
}

// pathBuilder makes Paths: it is the visitor of its splitter. When there are too many
// nodes, the rest is only counted, by weight and length; then it is known which to
// leave out, and the stacks are split again.
type pathBuilder struct {
	splitter
	paths *Paths
	most  int
	n     int // nodes seen in this walk

	cuts []cutNode // by depth: the last node of frame CutFrame made there

	// lengths is how many more paths of each class of weight there are of a length
	// than of the one before.
	lengths [weightClasses][]int
	// Paths below this class are left out, and those in it that are longer.
	least   int
	longest int
}

// cutNode is a node of frame CutFrame and its parent.
type cutNode struct{ parent, node uint32 }

// weightClasses is how many binary orders of weight are told apart. The weights of all
// stacks are made to add up to 1<<weightBits at most, so that they are integers; those
// of the lowest class are below unitWeight.
const (
	weightClasses = 40
	weightBits    = 61
	unitWeight    = 1 << (weightBits - weightClasses + 1)
)

// walk makes all nodes anew.
func (b *pathBuilder) walk(s *stacks.Set, o *PathOptions) {
	p := b.paths
	p.Frame, p.Depth, p.Cut = append(p.Frame[:0], 0), append(p.Depth[:0], 0), 0
	b.n, b.cuts = 1, b.cuts[:0]
	var sum float64
	for _, w := range o.Weight {
		sum += w
	}
	nothing := o.Names[p.Frames.Nothing]
	b.entries[0] = b.entries[0][:0]
	b.entries[0] = slices.Grow(b.entries[0], s.NumStacks())
	for id := range s.NumStacks() {
		e := entry{stack: stacks.StackID(id), root: none}
		if len(s.Stack(e.stack)) == 0 {
			e.root = nothing
		}
		if sum > 0 {
			e.value = int64(math.Ldexp(o.Weight[id]/sum, weightBits))
		}
		b.entries[0] = append(b.entries[0], e)
	}
	b.prepare(o.NumNames)
	b.splitAll()
}

func class(weight int64) int {
	if weight <= unitWeight {
		return 0
	}
	return min(math.Ilogb(float64(weight)/unitWeight), weightClasses-1)
}

func (b *pathBuilder) last() int { return len(b.paths.Frame) - 1 }

func (b *pathBuilder) ended(node int, e *entry) { b.paths.Leaf[e.stack] = uint32(node) }

func (b *pathBuilder) done(int) {}

func (b *pathBuilder) node(k kid, e *entry, depth uint32) bool {
	return b.add(b.frameOf(e), depth, 1, k.sum[0])
}

// frameOf is the frame that e was stepped to, that of nothing for a stack without any.
func (b *pathBuilder) frameOf(e *entry) uint32 {
	if id := b.frame(e); id != none {
		return id
	}
	return b.paths.Frames.Nothing
}

func (b *pathBuilder) leftOut(node int, entries []entry, depth uint32) {
	for len(b.cuts) <= int(depth) {
		b.cuts = append(b.cuts, cutNode{parent: none})
	}
	c := &b.cuts[depth]
	if c.parent != uint32(node) {
		*c = cutNode{uint32(node), b.put(b.paths.CutFrame, depth)}
	}
	for i := range entries {
		b.paths.Leaf[entries[i].stack] = c.node
	}
	b.paths.Cut += len(entries)
}

func (b *pathBuilder) single(e entry, depth uint32) {
	for name := b.step(&e); name != none; name = b.step(&e) {
		depth++
		if b.n >= b.most && b.longest == math.MaxInt {
			f, n := b.frameOf(&e), 1
			for b.step(&e) != none {
				n++
			}
			b.add(f, depth, n, e.value) // only counted
			return
		}
		if !b.add(b.frameOf(&e), depth, 1, e.value) {
			b.put(b.paths.CutFrame, depth)
			b.paths.Cut++
			break
		}
	}
	b.paths.Leaf[e.stack] = uint32(b.last())
}

// add appends a node, and counts it and others below it that weigh alike; it
// returns false if such nodes are left out.
func (b *pathBuilder) add(frame, depth uint32, n int, weight int64) bool {
	c := class(weight)
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
func (b *pathBuilder) put(frame, depth uint32) uint32 {
	p := b.paths
	if len(p.Frame) == cap(p.Frame) {
		p.Frame = slices.Grow(p.Frame, len(p.Frame)+1) // twice, where append would copy at every 1.25
		p.Depth = slices.Grow(p.Depth, len(p.Depth)+1)
	}
	p.Frame, p.Depth = append(p.Frame, frame), append(p.Depth, depth)
	return uint32(len(p.Frame) - 1)
}

// shorten decides what to leave out.
func (b *pathBuilder) shorten() {
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
