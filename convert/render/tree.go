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
	Base []int64
	// Start has the values before each node in a Tree by time, else nil.
	Start []int64
	// Cut is what was left out because of TreeOptions.Min.
	Cut TreeCut
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

// TreeCut counts what a Tree leaves out.
type TreeCut struct {
	Nodes int   // that were left out, not counting those below them
	Value int64 // of the samples that end in or below those
	Base  int64 // as Value, of the base
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
	// Min leaves out the nodes with a value below it.
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
// base. TreeOptions.Min is compared with the mean of the one and scale times the
// other.
func newDiffTree(base, set *stacks.Set, baseOptions, o TreeOptions, scale float64) (*Tree, error) {
	b := treeBuilder{o: o, scale: scale, sides: []side{
		{set: set},
		{set: base, event: baseOptions.Event, column: baseOptions.Column},
	}}
	return b.build()
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
