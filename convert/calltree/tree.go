// Package calltree merges the stacks of a Set by the names of their frames.
package calltree

import (
	"slices"

	"kprof/convert/stacks"
)

// Tree is the stacks of a Set merged by the names of their frames: each node is a
// path of names from the root, and the samples that went along it. Frames of the
// same name are one, whatever their addresses, lines and files.
type Tree struct {
	Names []string // distinct, sorted by byte
	// Nodes in preorder: a node is followed by those below it. The first is the
	// root, which stands for all samples and has no name. Siblings are sorted by
	// name, or stand in the order of time.
	Nodes []Node
	// Base has the base's value of each node in a Tree of two Sets, else nil.
	// Scale is what it is to be multiplied with to be compared.
	Base  []int64
	Scale float64
	// Start has the values before each node in a Tree by time, else nil.
	Start []int64
	// Sum is the value of all samples: the root's unless Options.Total is more.
	Sum int64
	// Cut counts the nodes that were left out because of Options.Min. Those
	// below them were not looked at.
	Cut int
	// Over tells that there would have been more nodes than Options.Most.
	Over bool
}

// Node is one node. The children of node i are the nodes i+1, then that one's
// End, and so on below End.
type Node struct {
	Name  uint32 // index into Tree.Names
	End   uint32 // index into Tree.Nodes behind the last node below this one
	Value int64  // of all samples that went along here
	Self  int64  // of those that ended here, whatever was left out below
	Depth uint32 // 0 for the root
	Kind  FrameKind
}

// Options say what is merged, and how.
type Options struct {
	// Event is an index into Set.Events, Column which of its values is added up.
	Event, Column int
	// Comm makes the samples' label "comm" the outermost frame, where there is one.
	Comm bool
	// Lines keeps frames of the same name apart by source line, where it is known.
	Lines bool
	// Reverse merges from the leaf: below a function are its callers.
	Reverse bool
	// ByTime keeps the samples in the order of their times (Set.TimedSamples), those of
	// one thread beside each other: only neighbours are merged.
	ByTime bool
	// Total is the root's value. Default: the sum of all samples.
	Total int64
	// Min leaves out the nodes that have less than this part, 0 to 1, of the total.
	Min float64

	// Merged merges the samples that ByTime takes as without it.
	Merged bool
	// Most is how many nodes are made at most, 0 for any number: what more there
	// would be is left out, and Tree.Over set.
	Most int
}

// Source is what Trees are made of: the samples of a Set, or of two that are
// compared.
type Source struct {
	Set *stacks.Set
	// Base is what Set is compared with, or nil. BaseEvent and BaseColumn are its
	// event and column, as Options has those of Set.
	Base                  *stacks.Set
	BaseEvent, BaseColumn int
	// BaseScale is what the base's values are multiplied with to be compared.
	// Default: what makes the totals equal.
	BaseScale float64
}

// New merges the samples of one event of a Set: the Tree of a Source without a
// base.
func New(s *stacks.Set, o Options) (*Tree, error) { return Source{Set: s}.Tree(o) }

// Tree merges the samples of one event. Rows whose value is 0 do not count. It
// returns an error if a Set does not have what o asks for, or has values below
// 0, of which no node would be the sum. With a base, Value is that of Set and Base
// that of the base; Options.Min is compared with the mean of the one and the other
// times its scale.
func (s Source) Tree(o Options) (*Tree, error) { return s.builder(o).build() }

func (s Source) builder(o Options) *treeBuilder {
	b := &treeBuilder{o: o, scale: s.BaseScale, splitter: splitter{reverse: o.Reverse, sorted: true}}
	b.visitor = b
	b.sides = []side{{set: s.Set, event: o.Event, column: o.Column}}
	if s.Base != nil {
		b.sides = append(b.sides, side{set: s.Base, event: s.BaseEvent, column: s.BaseColumn})
	}
	return b
}

// Weight is what a node is as large as: in a comparison, the mean of both.
func (t *Tree) Weight(i int) float64 {
	v := float64(t.Nodes[i].Value)
	if t.Base == nil {
		return v
	}
	return (v + t.Scale*float64(t.Base[i])) / 2
}

// Children calls yield with the index of each child of node i.
func (t *Tree) Children(i int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for c := i + 1; c < int(t.Nodes[i].End); c = int(t.Nodes[c].End) {
			if !yield(c) {
				return
			}
		}
	}
}

// Without returns a copy without the nodes that small tells, and all below them.
func (t *Tree) Without(small func(i int) bool) *Tree {
	c := *t
	c.Nodes, c.Base, c.Start = slices.Clone(t.Nodes), slices.Clone(t.Base), slices.Clone(t.Start)
	c.prune(small)
	return &c
}

// prune leaves out the nodes that small tells, with all below them.
func (t *Tree) prune(small func(i int) bool) {
	moved := make([]uint32, len(t.Nodes)+1) // where nodes are now
	n := 0
	for i := 0; i < len(t.Nodes); {
		end := int(t.Nodes[i].End)
		if i > 0 && small(i) {
			t.Cut++
			for ; i < end; i++ {
				moved[i] = uint32(n)
			}
			continue
		}
		moved[i] = uint32(n)
		t.Nodes[n] = t.Nodes[i]
		if t.Base != nil {
			t.Base[n] = t.Base[i]
		}
		if t.Start != nil {
			t.Start[n] = t.Start[i]
		}
		n++
		i++
	}
	moved[len(t.Nodes)] = uint32(n)
	t.Nodes = t.Nodes[:n]
	for i := range t.Nodes {
		t.Nodes[i].End = moved[t.Nodes[i].End]
	}
}
