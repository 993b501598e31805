package table

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"kprof/convert/calltree"
	"kprof/convert/printable"
	"kprof/convert/stacks"
)

// TreeOptions say what Tree shows.
type TreeOptions struct {
	Event, Column int // as in calltree.Options
	Reverse       bool
	Lines         bool // as in calltree.Options
	// Min leaves out what has less than this share of the total, from 0 to 1.
	Min float64
	// Width is the number of columns a line may have. Default: any.
	Width int
	Color bool // escape sequences of a terminal
	// Notes are lines for the header, such as how many records were lost.
	Notes []string
}

// Tree writes the call tree of one event, the heaviest calls first:
//
//	cum  cum%  self%  function
//	 7   70%     0%   main
//	 7   70%    10%   work [kernel]
//	 4   40%    40%   ├─ one
//	 2   20%     0%   └─ two
//	 2   20%    20%      three
//
// A function is indented where the one above calls several; in brackets stands
// the kind of code, where it is another than the caller's. The comm is outermost.
func Tree(w io.Writer, s *stacks.Set, o TreeOptions) error {
	if err := s.CheckColumn(o.Event, o.Column); err != nil {
		return fmt.Errorf("write tree: %w", err)
	}
	tree, err := calltree.New(s, calltree.Options{Event: o.Event, Column: o.Column, Reverse: o.Reverse, Lines: o.Lines, Comm: true, Min: o.Min})
	if err != nil {
		return fmt.Errorf("write tree: %w", err)
	}
	t := treeText{tree: tree, topTable: topTable{
		w:     bufio.NewWriter(w),
		o:     TopOptions{Event: o.Event, Column: o.Column, Width: o.Width, Color: o.Color, Notes: o.Notes},
		total: tree.Sum, unit: s.Events[o.Event].Values[o.Column].Unit,
	}}
	t.header(s, "")
	t.fit(func(yield func(int64) bool) {
		for _, n := range tree.Nodes[1:] {
			if !yield(n.Value) {
				return
			}
		}
	})
	t.row("cum", "cum%", "self%", "function")
	t.calls(0, nil)
	if tree.Cut > 0 {
		t.line("")
		t.line(fmt.Sprintf("Left out: %s with less than %.3g%% each", printable.Count(tree.Cut, "call"), 100*o.Min))
	}
	return flush(t.w, "tree")
}

type treeText struct {
	topTable
	tree *calltree.Tree
}

func (t *treeText) row(cum, cumShare, selfShare, function string, shares ...shareCell) {
	t.line(fmt.Sprintf("%*s %*s %*s  %s", t.valueWidth, cum, t.shareWidth, cumShare, t.shareWidth, selfShare, function), shares...)
}

// calls writes what is below a node, whose own line begins with guides.
func (t *treeText) calls(node int, guides []byte) {
	var children []int
	for c := range t.tree.Children(node) {
		children = append(children, c)
	}
	nodes := t.tree.Nodes
	slices.SortStableFunc(children, func(a, b int) int { return cmp.Compare(nodes[b].Value, nodes[a].Value) })
	before := len(guides)
	for i, c := range children {
		branch, below := "", ""
		switch {
		case len(children) == 1:
		case i == len(children)-1:
			branch, below = "└─ ", "   "
		default:
			branch, below = "├─ ", "│  "
		}
		n := &nodes[c]
		name := string(guides) + branch + t.tree.Names[n.Name]
		if showsKind(n.Kind, nodes[node].Kind) {
			name += " [" + n.Kind.String() + "]"
		}
		t.row(t.value(n.Value), t.share(n.Value), t.share(n.Self), name, t.selfShare(n.Value), shareCell{t.valueWidth + t.shareWidth + 2, n.Self})
		t.calls(c, append(guides[:before:before], below...))
	}
}

// showsKind reports whether the kind of a function is worth showing below one of
// another: user code is what one expects to begin with.
func showsKind(kind, above calltree.FrameKind) bool {
	switch kind {
	case above, calltree.FrameProcess, calltree.FrameUnknown:
		return false
	case calltree.FrameUser:
		return above != calltree.FrameProcess
	}
	return true
}
