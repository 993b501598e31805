package convert

import (
	"cmp"
	"slices"

	"kprof/convert/stacks"
)

// object is what a mapping maps: a file of a certain build, anonymous memory,
// the kernel, a module, a BPF program.
type object struct {
	file    string
	buildID string
	kind    stacks.Kind
	symbol  string // of the kernel: what its mapping's offset is the address of
	size    uint64 // of a jitdump, whose functions are all of one mapping; else 0
}

// area is one mapping record: addresses [start, end) hold obj from off on, since
// time born. An area without an object is a hole.
type area struct {
	start, end uint64
	off        uint64 // offset in the file of start
	born       uint64
	obj        int32 // index into timeline.objects, or noObject
	pid        int32
}

const noObject = -1

// newArea returns an area without an object. One that would reach beyond the
// last address ends there.
func newArea(start, size, born uint64) area {
	end := start + size
	if end < start {
		end = 1<<64 - 1
	}
	return area{start: start, end: end, born: born}
}

// space is one address space over time: that of a process between two execs, or
// the kernel's. At a given time an address belongs to the area born last, among
// those born by then, that covers it; that a later map cuts an older one needs
// no more. What no area covers is looked up in the space it was forked from, as
// of the fork.
type space struct {
	parent    *process // forked from, or nil
	forkedAt  uint64
	base      *space // parent's space at forkedAt, once looked up
	ancestors int32  // base, its base, and so on
	executed  bool   // begun by an exec
	crowded   int32  // how many areas are worth another look: see uncrowd

	areas []area // by born, ties in order of arrival
	index *index // nil after a change
}

// index finds areas of a space by address.
type index struct {
	serial  uint32  // differs for each index ever built
	last    []piece // disjoint pieces of the state after all areas, by start
	byStart []int32 // areas by start; maxEnd[i] is the highest end up to byStart[i]
	maxEnd  []uint64
}

// piece is a part of an area that no later area covers.
type piece struct {
	start, end uint64
	area       int32
}

// add adds an area. Most arrive in order of time.
func (s *space) add(a area) {
	i := len(s.areas)
	if i > 0 && s.areas[i-1].born > a.born {
		i = s.epoch(a.born)
	}
	s.areas = slices.Insert(s.areas, i, a)
	s.index = nil
}

// cutAfter removes the areas born after t and returns them.
func (s *space) cutAfter(t uint64) []area {
	n := s.epoch(t)
	if n == len(s.areas) {
		return nil
	}
	cut := s.areas[n:]
	s.areas = s.areas[:n:n]
	s.index = nil
	return cut
}

// epoch tells states of the space apart: two times with the same epoch see the
// same areas.
func (s *space) epoch(t uint64) int {
	n := len(s.areas)
	if n == 0 || s.areas[n-1].born <= t {
		return n
	}
	i, _ := slices.BinarySearchFunc(s.areas, t, func(a area, t uint64) int { return after(a.born, t) })
	return i
}

// build sorts the areas for look-ups.
func (x *index) build(areas []area) {
	x.byStart = make([]int32, len(areas))
	for i := range areas {
		x.byStart[i] = int32(i)
	}
	slices.SortFunc(x.byStart, func(i, j int32) int {
		return cmp.Or(cmp.Compare(areas[i].start, areas[j].start), cmp.Compare(i, j))
	})
	x.maxEnd = make([]uint64, len(areas))
	var high uint64
	for k, i := range x.byStart {
		high = max(high, areas[i].end)
		x.maxEnd[k] = high
	}
	x.last = lastPieces(areas, x.byStart, nil)
}

// lastPieces sweeps over the areas by address and appends the pieces on which
// each is the latest. Open areas wait in a heap with the latest on top; those
// that have ended are dropped when they come to the top.
func lastPieces(areas []area, byStart []int32, pieces []piece) []piece {
	var open latestFirst
	emit := func(from, to uint64, a int32) {
		if from >= to {
			return
		}
		if n := len(pieces); n > 0 && pieces[n-1].area == a && pieces[n-1].end == from {
			pieces[n-1].end = to
			return
		}
		pieces = append(pieces, piece{from, to, a})
	}
	var at uint64
	// advance emits what the open areas cover from at up to addr.
	advance := func(addr uint64) {
		for len(open) > 0 && at < addr {
			top := open[0]
			if end := areas[top].end; end <= at {
				open.pop()
			} else {
				emit(at, min(end, addr), top)
				at = min(end, addr)
			}
		}
		at = addr
	}
	for _, i := range byStart {
		advance(areas[i].start)
		open.push(i)
	}
	advance(1<<64 - 1)
	return pieces
}

// latestFirst is a heap of indices of areas, the highest on top.
type latestFirst []int32

func (h *latestFirst) push(x int32) {
	*h = append(*h, x)
	q := *h
	for i := len(q) - 1; i > 0; {
		p := (i - 1) / 2
		if q[p] >= q[i] {
			break
		}
		q[p], q[i] = q[i], q[p]
		i = p
	}
}

func (h *latestFirst) pop() {
	q := *h
	n := len(q) - 1
	q[0] = q[n]
	q = q[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && q[c+1] > q[c] {
			c++
		}
		if q[i] >= q[c] {
			break
		}
		q[i], q[c] = q[c], q[i]
		i = c
	}
	*h = q
}

// find returns the area that holds addr at time t, or nil.
func (x *index) find(areas []area, addr, t uint64) *area {
	i, _ := slices.BinarySearchFunc(x.last, addr, func(p piece, addr uint64) int {
		if p.end <= addr {
			return -1
		}
		return 1
	})
	if i == len(x.last) || x.last[i].start > addr {
		return nil
	}
	if a := &areas[x.last[i].area]; a.born <= t {
		return a
	}
	return x.findBefore(areas, addr, t)
}

// findBefore is find where the last state is not the one at t: among all areas
// that start at or below addr, the latest that covers it and was born by t.
func (x *index) findBefore(areas []area, addr, t uint64) *area {
	i, _ := slices.BinarySearchFunc(x.byStart, addr, func(i int32, addr uint64) int {
		if areas[i].start <= addr {
			return -1
		}
		return 1
	})
	best := int32(-1)
	for i--; i >= 0 && x.maxEnd[i] > addr; i-- {
		a := x.byStart[i]
		if a > best && areas[a].end > addr && areas[a].born <= t {
			best = a
		}
	}
	if best < 0 {
		return nil
	}
	return &areas[best]
}
