package browse

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"kprof/convert/calltree"
)

// mostNodes bounds a tree.
const mostNodes = 1 << 20

// treeState is a tree of calls, and which of its nodes are open: by their paths, so that they
// stay open when the samples change.
type treeState struct {
	tree  *calltree.Tree
	paths []path // of each node
	open  map[path]bool
}

// path is the names from the root to a node, as a hash: stacks may be so deep that all of
// their names for each of their nodes would not fit into memory.
type path uint64

var pathSeed = maphash.MakeSeed()

// below is the path to a function that is called at the end of a path.
func (p path) below(name string) path {
	var h maphash.Hash
	h.SetSeed(pathSeed)
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(p))
	h.Write(b[:])
	h.WriteString(name)
	return path(h.Sum64())
}

func (t *treeState) path(node int) path {
	if node >= len(t.paths) {
		return 0
	}
	return t.paths[node]
}

// children are the nodes below one, the heaviest first.
func (t *treeState) children(node int) []int {
	nodes := t.tree.Nodes
	kids := slices.Collect(t.tree.Children(node))
	slices.SortStableFunc(kids, func(a, b int) int { return cmp.Compare(nodes[b].Value, nodes[a].Value) })
	return kids
}

func (b *Browser) fillTree() error {
	tree, err := calltree.New(b.shown, calltree.Options{
		Event: b.o.Event, Column: b.o.Column, Comm: b.o.Mode == Tree && len(b.back) == 0, Reverse: b.o.Mode == Reverse, Most: mostNodes,
	})
	if err != nil {
		return err
	}
	t := &b.tree
	first := t.open == nil
	if first {
		t.open = map[path]bool{}
	}
	t.tree, t.paths = tree, make([]path, len(tree.Nodes))
	for i := range tree.Nodes { // parents come first
		for c := range tree.Children(i) {
			t.paths[c] = t.paths[i].below(tree.Names[tree.Nodes[c].Name])
		}
	}
	b.total = tree.Sum
	if first {
		t.openHeaviest(b)
		return nil
	}
	t.list(b)
	return nil
}

// openHeaviest opens what has most, down to where it spreads.
func (t *treeState) openHeaviest(b *Browser) {
	if t.tree == nil {
		return
	}
	for node := 0; ; {
		kids := t.children(node)
		if len(kids) == 0 || t.tree.Nodes[kids[0]].Value < t.tree.Sum/2 {
			break
		}
		node = kids[0]
		t.open[t.path(node)] = true
	}
	t.list(b)
}

// list makes the rows of what is open.
func (t *treeState) list(b *Browser) {
	b.rows = b.rows[:0]
	var add func(node, depth int)
	add = func(node, depth int) {
		for _, c := range t.children(node) {
			n := t.tree.Nodes[c]
			open := t.open[t.path(c)]
			leaf := int(n.End) == c+1
			b.rows = append(b.rows, row{name: t.tree.Names[n.Name], self: n.Self, cum: n.Value, depth: depth, node: c, open: open && !leaf, leaf: leaf})
			if open {
				add(c, depth+1)
			}
		}
	}
	add(0, 0)
}

// toggle opens or closes the node that is selected.
func (b *Browser) toggle(open bool) {
	if b.at >= len(b.rows) || b.o.Mode == Functions {
		return
	}
	b.tree.open[b.tree.path(b.rows[b.at].node)] = open
	b.tree.list(b)
}

// openAll opens or closes all below the node that is selected.
func (b *Browser) openAll() {
	if b.at >= len(b.rows) || b.o.Mode == Functions {
		return
	}
	from := b.rows[b.at].node
	for node := from; node < int(b.tree.tree.Nodes[from].End) && node < from+10_000; node++ {
		b.tree.open[b.tree.path(node)] = true
	}
	b.tree.list(b)
}

// toParent closes what is open, or goes to the node above.
func (b *Browser) toParent() {
	if b.at >= len(b.rows) || b.o.Mode == Functions {
		return
	}
	if r := b.rows[b.at]; r.open {
		b.toggle(false)
		return
	}
	for i := b.at - 1; i >= 0; i-- {
		if b.rows[i].depth < b.rows[b.at].depth {
			b.move(i)
			return
		}
	}
}
