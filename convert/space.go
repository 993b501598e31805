package convert

import (
	"cmp"
	"slices"

	"kprof/convert/stacks"
)

// object is what a mapping maps: a file of a certain build, anonymous memory,
// the kernel, a module, a BPF program. Texts are numbers among the strings.
type object struct {
	file    int32
	buildID int32
	symbol  int32 // of the kernel: what its mapping's offset is the address of
	kind    stacks.Kind
	size    uint64 // of a jitdump, whose functions are all of one mapping; else 0

	// Of a file without a build id.
	maj, min uint32
	ino, gen uint64
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
	areas    history[area]
	index    *index // nil after a change
	base     *space // forked from, or nil
	forkedAt uint64 // as of when

	inherits  uint32 // areas that base and its ancestors have for it
	ancestors uint16 // base, its base, and so on
	open      bool   // base and forkedAt may change: see timeline.mayChange
	crowded   uint8  // how many areas it had last time they were looked through: see uncrowd
}

// index finds areas of a space by address.
type index struct {
	serial uint32    // differs for each index ever built
	last   []piece   // disjoint pieces of the state after all areas, by start
	blocks [][]block // of earlier states: see findBefore
}

// block is a run of areas that were born one after the other.
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

// epoch tells states of the space apart: two times with the same epoch see the
// same areas.
func (s *space) epoch(t uint64) int { return bornBy(s.areas.all, t) }

// build sorts the areas for look-ups.
func (x *index) build(areas []area) {
	x.last = latestPieces(areas)
}

// latestPieces returns the pieces of the state after all areas.
func latestPieces(areas []area) []piece {
	byStart := make([]int32, len(areas))
	for i := range areas {
		byStart[i] = int32(i)
	}
	slices.SortFunc(byStart, func(i, j int32) int {
		return cmp.Or(cmp.Compare(areas[i].start, areas[j].start), cmp.Compare(i, j))
	})
	return lastPieces(areas, byStart, nil)
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
func (x *index) find(areas []area, addr, t uint64, e *effort) *area {
	i := pieceOf(x.last, addr)
	if i < 0 {
		return nil
	}
	if a := &areas[i]; a.born <= t {
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
// areas born by t that covers addr. It goes back over them in the largest blocks
// that fit, which are built when they are first looked at: a program that maps a
// million times costs a million times the logarithm, not the square.
func (x *index) findBefore(areas []area, addr, t uint64, e *effort) *area {
	n := bornBy(areas, t)
	for n > 0 {
		if n%blockLeaf != 0 || n < blockLeaf {
			n--
			e.spent++
			if a := &areas[n]; addr >= a.start && addr < a.end {
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
func (x *index) block(areas []area, level, i, size int, e *effort) []piece {
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
	hasty        uint64 // look-ups that were given up
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
		e.hasty++
		return false
	}
	e.spent += searchEffort
	return true
}
