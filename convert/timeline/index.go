package timeline

import (
	"cmp"
	"slices"
)

// index finds areas of a space by address.
type index struct {
	serial uint32    // differs for each index ever built
	last   []piece   // disjoint pieces of the state after all areas, by start
	blocks [][]block // of earlier states: see findBefore
}

// block is a run of areas that were started one after the other.
type block struct {
	built  bool
	pieces []piece // disjoint, each of the latest area of the run, by start
}

// Runs of the lowest level are searched area by area; those of the levels above
// have blockLeaf * blockFan^level areas.
const (
	blockLeaf = 32
	blockFan  = 16
)

// piece is a part of an area that no later area covers.
type piece struct {
	start, end uint64
	area       int32
}

// build sorts the areas for look-ups.
func (x *index) build(areas []Area) {
	x.last = latestPieces(areas)
}

// latestPieces returns the pieces of the state after all areas.
func latestPieces(areas []Area) []piece {
	byStart := make([]int32, len(areas))
	for i := range areas {
		byStart[i] = int32(i)
	}
	slices.SortFunc(byStart, func(i, j int32) int {
		return cmp.Or(cmp.Compare(areas[i].Start, areas[j].Start), cmp.Compare(i, j))
	})
	return lastPieces(areas, byStart, nil)
}

// lastPieces sweeps over the areas by address and appends the pieces on which
// each is the latest. Open areas wait in a heap with the latest on top; those
// that have ended are dropped when they come to the top.
func lastPieces(areas []Area, byStart []int32, pieces []piece) []piece {
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
			if end := areas[top].End; end <= at {
				open.pop()
			} else {
				emit(at, min(end, addr), top)
				at = min(end, addr)
			}
		}
		at = addr
	}
	for _, i := range byStart {
		advance(areas[i].Start)
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
func (x *index) find(areas []Area, addr, t uint64, e *effort) *Area {
	i := pieceOf(x.last, addr)
	if i < 0 {
		return nil
	}
	if a := &areas[i]; a.since <= t {
		return a
	}
	return x.findBefore(areas, addr, t, e)
}

// pieceOf returns the area of the piece that holds addr, or -1.
func pieceOf(pieces []piece, addr uint64) int32 {
	i, _ := slices.BinarySearchFunc(pieces, addr, func(p piece, addr uint64) int {
		if p.end <= addr {
			return -1
		}
		return 1
	})
	if i == len(pieces) || pieces[i].start > addr {
		return -1
	}
	return pieces[i].area
}

// findBefore is find where the last state is not the one at t: the latest of the
// areas started by t that covers addr. It goes back over them in the largest blocks
// that fit, which are built when they are first looked at: a program that maps a
// million times costs a million times the logarithm, not the square.
func (x *index) findBefore(areas []Area, addr, t uint64, e *effort) *Area {
	n := startedBy(areas, t)
	for n > 0 {
		if n%blockLeaf != 0 || n < blockLeaf {
			n--
			e.spent++
			if a := &areas[n]; addr >= a.Start && addr < a.End {
				return a
			}
			continue
		}
		level, size := 0, blockLeaf
		for n%(size*blockFan) == 0 {
			level, size = level+1, size*blockFan
		}
		n -= size
		if !e.search() {
			return nil
		}
		if i := pieceOf(x.block(areas, level, n/size, size, e), addr); i >= 0 {
			return &areas[n+int(i)]
		}
	}
	return nil
}

// block returns the pieces of the i-th run of size areas, as indices in the run.
func (x *index) block(areas []Area, level, i, size int, e *effort) []piece {
	for len(x.blocks) <= level {
		x.blocks = append(x.blocks, nil)
	}
	if x.blocks[level] == nil {
		x.blocks[level] = make([]block, len(areas)/size)
	}
	b := &x.blocks[level][i]
	if !b.built {
		e.spent += uint64(4 * size)
		b.built, b.pieces = true, latestPieces(areas[i*size:(i+1)*size])
	}
	return b.pieces
}

// effort bounds what look-ups cost: a recording can be made up of maps and forks
// in which each address has to be looked for in thousands of places. Its unit is
// an area that is looked at.
type effort struct {
	asked, spent uint64
	abandoned    uint64 // look-ups that were given up
}

const (
	maxEffort    = 1 << 25 // and for each look-up as much again as a search
	searchEffort = 16
	freeForks    = 8 // ancestors that are searched whatever the effort
)

// search reports whether one more search may be made. When it may not, that is
// counted.
func (e *effort) search() bool {
	if e.spent > maxEffort+searchEffort*e.asked {
		e.abandoned++
		return false
	}
	e.spent += searchEffort
	return true
}
