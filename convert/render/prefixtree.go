package render

import (
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
}

// pageFrame is what a node shows. Nodes are told apart by name only, and have the
// frame that came first.
type pageFrame struct {
	name    uint32 // index into pageFrames.names
	kind    FrameKind
	mapping int32  // index into Set.Mappings, or stacks.NoMapping
	file    string // source file, "" if unknown
}

// pageFrames is the frames that the locations of a Set stand for, each once.
type pageFrames struct {
	names []string
	all   []pageFrame
	// of[at[loc]:at[loc+1]] are indices into all, outermost first, at least one.
	of []uint32
	at []uint32
	// nothing is what a stack without any location shows.
	nothing uint32
}

func newPageFrames(s *stacks.Set) *pageFrames {
	n := s.Names()
	t := &pageFrames{names: n.Names, at: make([]uint32, 1, len(s.Locations)+1)}
	ids := make(map[pageFrame]uint32)
	id := func(f pageFrame) uint32 {
		i, ok := ids[f]
		if !ok {
			i = uint32(len(t.all))
			ids[f] = i
			t.all = append(t.all, f)
		}
		return i
	}
	unknown := slices.Index(t.names, "[unknown]")
	if unknown < 0 {
		unknown = len(t.names)
		t.names = append(t.names, "[unknown]")
	}
	for i := range s.Locations {
		loc, names := &s.Locations[i], n.Of(uint32(i))
		lines := s.Lines(uint32(i))
		for j := len(names) - 1; j >= 0; j-- {
			f := pageFrame{name: names[j], kind: kindOfFrame(loc, j < len(names)-1, n.Names[names[j]]), mapping: loc.Mapping}
			if t.names[f.name] == "" {
				f.name = uint32(unknown)
			}
			if len(lines) > 0 {
				f.file = s.Functions[lines[j].Function].File
			}
			t.of = append(t.of, id(f))
		}
		t.at = append(t.at, uint32(len(t.of)))
	}
	t.nothing = id(pageFrame{name: uint32(unknown), kind: FrameUnknown, mapping: stacks.NoMapping})
	return t
}

func (t *pageFrames) frames(loc uint32) []uint32 { return t.of[t.at[loc]:t.at[loc+1]] }

// newPrefixTree lays the stacks of a Set over each other. Siblings are in the
// order in which they came.
func newPrefixTree(s *stacks.Set) *prefixTree {
	b := prefixBuilder{
		t:        newPageFrames(s),
		leaf:     make([]uint32, s.NumStacks()),
		children: make([]prefixChild, 1<<10),
	}
	b.add(none, 0)
	for id := range b.leaf {
		b.leaf[id] = b.insert(s, s.Stack(stacks.StackID(id)))
	}
	return b.preorder()
}

// prefixBuilder numbers nodes as they come. Children are found by hash.
type prefixBuilder struct {
	t     *pageFrames
	leaf  []uint32
	nodes []prefixNode

	children []prefixChild // open addressing, of a length that is a power of 2

	// The last stack: what the next one shares with it needs no look-up.
	path   []uint32 // its nodes
	frames []uint32 // their frames
}

type prefixNode struct {
	frame             uint32
	first, last, next uint32 // children as a list, none at its end
}

// prefixChild is an entry of the hash table: node 0, the root, is nobody's child and
// marks an empty one.
type prefixChild struct{ parent, name, node uint32 }

func (b *prefixBuilder) insert(s *stacks.Set, stack []uint32) uint32 {
	node, d, same := uint32(0), 0, true
	step := func(f uint32) {
		if same && d < len(b.path) && b.frames[d] == f {
			node = b.path[d]
			d++
			return
		}
		same = false
		node = b.childOf(node, f)
		b.path, b.frames = append(b.path[:d], node), append(b.frames[:d], f)
		d++
	}
	for i := len(stack) - 1; i >= 0; i-- {
		for _, f := range b.t.frames(stack[i]) {
			step(f)
		}
	}
	if len(stack) == 0 {
		step(b.t.nothing)
	}
	b.path, b.frames = b.path[:d], b.frames[:d]
	return node
}

func (b *prefixBuilder) childOf(parent, frame uint32) uint32 {
	name := b.t.all[frame].name
	mask := uint32(len(b.children) - 1)
	i := childHash(parent, name) & mask
	for ; b.children[i].node != 0; i = (i + 1) & mask {
		if c := &b.children[i]; c.parent == parent && c.name == name {
			return c.node
		}
	}
	node := b.add(parent, frame)
	b.children[i] = prefixChild{parent, name, node}
	if len(b.nodes)*4 > len(b.children)*3 {
		b.grow()
	}
	return node
}

// add appends a node.
func (b *prefixBuilder) add(parent, frame uint32) uint32 {
	node := uint32(len(b.nodes))
	b.nodes = append(b.nodes, prefixNode{frame: frame, first: none, last: none, next: none})
	if parent == none {
		return node
	}
	p := &b.nodes[parent]
	if p.first == none {
		p.first = node
	} else {
		b.nodes[p.last].next = node
	}
	p.last = node
	return node
}

func (b *prefixBuilder) grow() {
	old := b.children
	b.children = make([]prefixChild, 2*len(old))
	mask := uint32(len(b.children) - 1)
	for _, c := range old {
		if c.node == 0 {
			continue
		}
		i := childHash(c.parent, c.name) & mask
		for b.children[i].node != 0 {
			i = (i + 1) & mask
		}
		b.children[i] = c
	}
}

func childHash(parent, name uint32) uint32 {
	h := (uint64(parent)<<32 | uint64(name)) * 0x9e3779b97f4a7c15
	return uint32(h >> 32)
}

// preorder numbers the nodes anew.
func (b *prefixBuilder) preorder() *prefixTree {
	n := len(b.nodes)
	t := &prefixTree{frames: b.t, frame: make([]uint32, 0, n), depth: make([]uint32, 0, n), leaf: b.leaf}
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
