package render

import (
	"fmt"

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
	Nodes []TreeNode
	// Base has the base's value of each node in a Tree of two Sets, else nil.
	// Scale is what it is to be multiplied with to be compared.
	Base  []int64
	Scale float64
	// Start has the values before each node in a Tree by time, else nil.
	Start []int64
	// Sum is the value of all samples: the root's unless TreeOptions.Total is more.
	Sum int64
	// Cut counts the nodes that were left out because of TreeOptions.Min. Those
	// below them were not looked at.
	Cut int
}

// TreeNode is one node. The children of node i are the nodes i+1, then that one's
// End, and so on below End.
type TreeNode struct {
	Name  uint32 // index into Tree.Names
	End   uint32 // index into Tree.Nodes behind the last node below this one
	Value int64  // of all samples that went along here
	Self  int64  // of those that ended here, whatever was left out below
	Depth uint32 // 0 for the root
	Kind  FrameKind
}

// TreeOptions say what is merged, and how.
type TreeOptions struct {
	Event  int // index into Set.Events
	Column int // which of the event's values
	// Comm makes the samples' label "comm" the outermost frame, where there is one.
	Comm bool
	// Reverse merges from the leaf: below a function are its callers.
	Reverse bool
	// ByTime keeps the samples in the order of their times (Set.Moments), those of
	// one thread beside each other: only neighbours are merged.
	ByTime bool
	// Total is the root's value. Default: the sum of all samples.
	Total int64
	// Min leaves out the nodes that have less than this part, 0 to 1, of the total.
	Min float64
}

// NewTree merges the samples of one event. Rows whose value is 0 do not count. It
// returns an error if the Set does not have what o asks for, or has values below
// 0, of which no node would be the sum.
func NewTree(s *stacks.Set, o TreeOptions) (*Tree, error) {
	b := treeBuilder{o: o, sides: []side{{set: s}}}
	return b.build()
}

// newDiffTree merges the samples of two Sets: Value is that of set, Base that of
// base, whose event and column baseOptions has. What TreeOptions.Min is compared
// with is the mean of the one and scale times the other; scale 0 is what makes the
// totals equal.
func newDiffTree(base, set *stacks.Set, baseOptions, o TreeOptions, scale float64) (*Tree, error) {
	b := treeBuilder{o: o, scale: scale, sides: []side{
		{set: set},
		{set: base, event: baseOptions.Event, column: baseOptions.Column},
	}}
	return b.build()
}

// weight is what a node is as large as: in a comparison, the mean of both.
func (t *Tree) weight(i int) float64 {
	v := float64(t.Nodes[i].Value)
	if t.Base == nil {
		return v
	}
	return (v + t.Scale*float64(t.Base[i])) / 2
}

// FrameKind is what sort of code a frame is, for those who look at it.
type FrameKind uint8

const (
	FrameUnknown FrameKind = iota
	FrameUser
	FrameKernel
	FrameModule
	FrameBPF
	FrameJIT     // code in memory without a file
	FrameInlined // a function that is part of its caller's code
	FrameGuest   // of a virtual machine, or a hypervisor
	FrameProcess // not code, but what ran it: a comm
	numFrameKinds
)

var frameKinds = [numFrameKinds]string{"unknown", "user", "kernel", "module", "BPF", "JIT", "inlined", "guest", "process"}

func (k FrameKind) String() string {
	if k < numFrameKinds {
		return frameKinds[k]
	}
	return fmt.Sprintf("FrameKind(%d)", uint8(k))
}

// kindOfCode is what frames of a location of each kind are.
var kindOfCode = [...]FrameKind{
	stacks.KindUnknown:    FrameUnknown,
	stacks.KindKernel:     FrameKernel,
	stacks.KindModule:     FrameModule,
	stacks.KindBPF:        FrameBPF,
	stacks.KindUser:       FrameUser,
	stacks.KindVDSO:       FrameUser,
	stacks.KindAnon:       FrameJIT,
	stacks.KindGuest:      FrameGuest,
	stacks.KindHypervisor: FrameGuest,
}

// annotations are what flamegraph.pl and its collapsers append to names to tell
// what they are.
var annotations = map[string]FrameKind{
	"_[k]": FrameKernel, "_[j]": FrameJIT, "_[i]": FrameInlined,
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

// cut leaves out the nodes that small tells, with all below them.
func (t *Tree) cut(small func(i int) bool) {
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
