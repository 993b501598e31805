// Package ranges finds the innermost of overlapping address ranges.
package ranges

import (
	"cmp"
	"iter"
	"slices"
)

// A Range covers the addresses from Start up to, not including, End.
type Range struct {
	Start, End uint64
}

// none marks addresses that no range covers.
const none = -1

// An Index finds, for an address, the last of the ranges that cover it. It is
// read-only, and safe for concurrent use.
//
// It is the ranges laid flat: where they overlap, the one on top is seen.
//
//	ranges   0 ├───────────────┤
//	         1     ├───┤
//	         2       ├─────┤
//	index    0─────1─2─────0───none
type Index struct {
	starts []uint64
	ranges []int32 // what is seen from starts[i] to starts[i+1], or none
}

// edge is where a range begins.
type edge struct {
	start uint64
	index int32
}

// New lays n ranges flat, n at most 2³¹-1: of those that cover an address, the
// one with the largest index is seen. Empty ranges are never seen.
func New(n int, at func(i int) Range) *Index {
	edges := make([]edge, 0, n)
	for i := range n {
		if r := at(i); r.Start < r.End {
			edges = append(edges, edge{r.Start, int32(i)})
		}
	}
	byStart := func(a, b edge) int {
		if c := cmp.Compare(a.start, b.start); c != 0 {
			return c
		}
		return cmp.Compare(a.index, b.index)
	}
	if !slices.IsSortedFunc(edges, byStart) {
		slices.SortFunc(edges, byStart)
	}

	x := &Index{
		starts: make([]uint64, 0, len(edges)+1),
		ranges: make([]int32, 0, len(edges)+1),
	}
	var open heap // ranges begun; its top is seen, unless it has ended
	for _, e := range edges {
		x.closeUntil(&open, e.start, at)
		open.push(e.index)
		x.add(e.start, open[0])
	}
	x.closeUntil(&open, ^uint64(0), at)
	x.starts = slices.Clip(x.starts)
	x.ranges = slices.Clip(x.ranges)
	return x
}

// closeUntil takes the ranges off the top that end at or before limit, and
// records what is seen behind each.
func (x *Index) closeUntil(open *heap, limit uint64, at func(i int) Range) {
	for len(*open) > 0 {
		end := at(int((*open)[0])).End
		if end > limit {
			return
		}
		open.pop()
		for len(*open) > 0 && at(int((*open)[0])).End <= end {
			open.pop() // ended underneath
		}
		seen := int32(none)
		if len(*open) > 0 {
			seen = (*open)[0]
		}
		x.add(end, seen)
	}
}

// add records that range seen is on top from start on. Starts never fall.
func (x *Index) add(start uint64, seen int32) {
	if n := len(x.starts); n > 0 && x.starts[n-1] == start {
		x.ranges[n-1] = seen
	} else if n > 0 && x.ranges[n-1] == seen {
		// Nothing changes.
	} else {
		x.starts = append(x.starts, start)
		x.ranges = append(x.ranges, seen)
	}
}

// Lookup returns the index of the topmost range that covers addr.
func (x *Index) Lookup(addr uint64) (int, bool) {
	lo, hi := 0, len(x.starts)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if x.starts[mid] <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || x.ranges[lo-1] == none {
		return 0, false
	}
	return int(x.ranges[lo-1]), true
}

// Seen returns the ranges of which anything is seen, by address; one that others
// lie in the middle of comes more than once.
func (x *Index) Seen() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, i := range x.ranges {
			if i != none && !yield(int(i)) {
				return
			}
		}
	}
}

// heap is a binary heap with the largest index on top. container/heap would
// box each of a million integers.
type heap []int32

func (h *heap) push(v int32) {
	s := append(*h, v)
	i := len(s) - 1
	for i > 0 && s[(i-1)/2] < s[i] {
		s[i], s[(i-1)/2] = s[(i-1)/2], s[i]
		i = (i - 1) / 2
	}
	*h = s
}

func (h *heap) pop() {
	s := *h
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && s[child+1] > s[child] {
			child++
		}
		if s[i] >= s[child] {
			break
		}
		s[i], s[child] = s[child], s[i]
		i = child
	}
	*h = s
}
