package viewer

import (
	"cmp"
	"slices"
)

// callNode is a call of a function, of which there is one sample: at the time of its end, with its own time
// as weight and its callers as stack.
type callNode struct {
	row         uint32
	depth       int32
	child, next int32 // index of the first call in it, and of the one behind it in the same call; -1 for none
	begin, end  int64 // ns since the first end of all
}

// callTrees are the calls of a track, each behind those in it.
type callTrees struct {
	nodes []callNode
	first int32 // index of the first that is in no other
}

// layOut makes trees of the calls of all tracks, and notes when the first of all begins.
func (c *chrome) layOut() {
	c.calls = make([]callTrees, len(c.tracks.list))
	for i := range c.tracks.list {
		c.calls[i] = c.callTrees(c.tracks.list[i].items)
		for j := range c.calls[i].nodes {
			c.origin = min(c.origin, c.calls[i].nodes[j].begin)
		}
	}
}

// callTrees makes trees of the samples of a track. What a call took is its own time, and that of the calls in it,
// which ended before it.
func (c *chrome) callTrees(items []item) callTrees {
	depths := map[uint32]int32{} // by row
	depth := func(row uint32) int32 {
		d, known := depths[row]
		if !known {
			c.path = c.frames.appendFunctions(c.path[:0], c.set.Sample(int(row)).Stack)
			d = int32(len(c.path))
			depths[row] = d
		}
		return d
	}
	slices.SortStableFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(depth(b.row), depth(a.row)))
	})
	all := make([]callNode, 0, len(items))
	var ended []int32 // calls, of which those that they are in have not ended
	var caller []uint32
	for _, x := range items {
		n := callNode{row: x.row, depth: depth(x.row), child: -1, next: -1, end: int64(x.time)}
		took := max(x.weight, 0)
		caller = c.frames.appendFunctions(caller[:0], c.set.Sample(int(x.row)).Stack)
		for len(ended) > 0 {
			last := ended[len(ended)-1]
			in := &all[last]
			if in.depth <= n.depth || !c.isWithin(in.row, caller) {
				break
			}
			took += in.end - in.begin
			in.next, n.child = n.child, last
			ended = ended[:len(ended)-1]
		}
		n.begin = n.end - took
		ended = append(ended, int32(len(all)))
		all = append(all, n)
	}
	for i := len(ended) - 1; i > 0; i-- {
		all[ended[i-1]].next = ended[i]
	}
	if len(ended) == 0 {
		return callTrees{first: -1}
	}
	return callTrees{all, ended[0]}
}

// isWithin reports whether the outermost functions of a row are those of a stack.
func (c *chrome) isWithin(row uint32, outer []uint32) bool {
	c.path = c.frames.appendFunctions(c.path[:0], c.set.Sample(int(row)).Stack)
	return len(c.path) >= len(outer) && slices.Equal(c.path[:len(outer)], outer)
}

// writeCalls writes calls that follow each other, from the i-th on, between two times. Times of text are whole µs,
// so that one may seem to begin before the call that it is in.
func (c *chrome) writeCalls(all []callNode, i int32, from, to int64) {
	for ; i >= 0; i = all[i].next {
		n := &all[i]
		begin := min(max(n.begin, from), to)
		end := min(max(n.end, begin), to)
		c.path = c.frames.appendFunctions(c.path[:0], c.set.Sample(int(n.row)).Stack)
		depth := len(c.open)
		c.begin(c.path[len(c.path)-1], uint64(begin-c.origin))
		c.writeCalls(all, n.child, begin, end)
		c.end(depth, uint64(end-c.origin))
		from = end
	}
}
