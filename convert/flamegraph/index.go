package flamegraph

import (
	"cmp"
	"encoding/json"
	"slices"

	"kprof/convert/calltree"
)

// index is what a flame graph knows of the frames that it leaves out, so that a
// search sums up all samples, not only what is drawn. It is a tree of all frames, or,
// where that would be too large a part of the file, the totals of names, of which each
// is exact, and those of several at least as much as their largest. It is a sequence
// of numbers: for each node of the tree, in preorder and from the root on,
//
//	levels to go up from the node before to its parent, 0 for the root,
//	index into the names, 0 for the root,
//	value of the samples that end here, in units of Unit,
//	and in a comparison that of the base;
//
// for each name its total, and in a comparison that of the base. A number has five
// bits in each character of digits, the lowest first, and 32 more in all but its
// last.
type index struct {
	Tree   string  `json:"tree"`
	Totals string  `json:"totals"`
	Unit   float64 `json:"unit"`  // 0 for totals
	Whole  bool    `json:"whole"` // no name is missing

	names []uint32 // that it has, as indices into calltree.Tree.Names, by their indices in the file
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

func appendDigits(b []byte, n int64) []byte {
	for ; n >= 32; n >>= 5 {
		b = append(b, digits[n&31|32])
	}
	return append(b, digits[n])
}

// newIndex makes what may be half of the file, names included.
func newIndex(source calltree.Source, o Options) (*index, error) {
	room := o.maxSize() / 2
	to := o.treeOptions(0)
	to.Merged, to.Most = true, room/3 // a node has three numbers
	t, err := source.Tree(to)
	if err != nil {
		return nil, err
	}
	if !t.Over {
		s := searchTree(t)
		if size := s.namesSize(t.Names); size+len(s.Tree) <= room {
			return s, nil
		}
	}
	totals, err := source.Totals(to)
	if err != nil {
		return nil, err
	}
	return searchTotals(totals, source.Base != nil, room), nil
}

// searchTree writes a tree.
func searchTree(t *calltree.Tree) *index {
	uses := make([]int, len(t.Names))
	for _, n := range t.Nodes[1:] {
		uses[n.Name]++
	}
	s := &index{Whole: true}
	for name, n := range uses {
		if n > 0 {
			s.names = append(s.names, uint32(name))
		}
	}
	slices.SortStableFunc(s.names, func(x, y uint32) int { return cmp.Compare(uses[y], uses[x]) })
	ids := uses
	for id, name := range s.names {
		ids[name] = id
	}
	base := make([]int64, len(t.Base)) // that ends at each node
	copy(base, t.Base)
	var unit int64
	var path []int
	for i, n := range t.Nodes {
		path = append(path[:n.Depth], i)
		unit = divisor(unit, n.Self)
		if t.Base != nil && i > 0 {
			base[path[n.Depth-1]] -= t.Base[i]
		}
	}
	for _, v := range base {
		unit = divisor(unit, v)
	}
	unit = max(unit, 1)
	s.Unit = float64(unit)
	var b []byte
	depth := -1
	for i, n := range t.Nodes {
		id := 0
		if i > 0 {
			id = ids[n.Name]
		}
		b = appendDigits(b, int64(depth+1-int(n.Depth)))
		b = appendDigits(b, int64(id))
		b = appendDigits(b, n.Self/unit)
		if t.Base != nil {
			b = appendDigits(b, base[i]/unit)
		}
		depth = int(n.Depth)
	}
	s.Tree = string(b)
	return s
}

// divisor is the greatest number that both are multiples of.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// searchTotals writes the totals of names, the largest first, as far as there is
// room for them.
func searchTotals(t *calltree.Totals, base bool, room int) *index {
	sums, names := t.Sums, t.Names
	weight := func(name uint32) float64 {
		return float64(sums[name][0]) + t.Scale*float64(sums[name][1])
	}
	s := &index{}
	for name := range names {
		if sums[name] != [2]int64{} {
			s.names = append(s.names, uint32(name))
		}
	}
	slices.SortStableFunc(s.names, func(x, y uint32) int { return cmp.Compare(weight(y), weight(x)) })
	all := len(s.names)
	var text []byte
	n := 0
	for size := 0; n < all; n++ {
		name := s.names[n]
		had := len(text)
		text = appendDigits(text, sums[name][0])
		if base {
			text = appendDigits(text, sums[name][1])
		}
		if size += nameSize(names[name]); size+len(text) > room {
			text = text[:had]
			break
		}
	}
	s.names, s.Totals, s.Whole = s.names[:n], string(text), n == all
	return s
}

func (s *index) namesSize(names []string) (size int) {
	for _, name := range s.names {
		size += nameSize(names[name])
	}
	return size
}

// nameSize is how long a name is in the file.
func nameSize(name string) int {
	b, err := json.Marshal(visible(name))
	if err != nil {
		panic(err) // a string can be written
	}
	return len(b) + 1
}
