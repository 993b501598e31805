package timeline

import (
	"kprof/symbolize/ranges"
)

// index finds areas of a space by address.
type index struct {
	serial uint32            // differs for each index ever built
	last   *ranges.Index     // of the state after all areas
	blocks [][]*ranges.Index // of runs of areas that were started one after the other: see findBefore
}

// Runs of the lowest level are searched area by area; those of the levels above
// have blockLeaf * blockFan^level areas.
const (
	blockLeaf = 32
	blockFan  = 16
)

// build lays the areas flat for look-ups.
func (x *index) build(areas []Area) {
	x.last = latest(areas)
}

// latest finds, for an address, the latest of areas that covers it.
func latest(areas []Area) *ranges.Index {
	return ranges.New(len(areas), func(i int) ranges.Range {
		return ranges.Range{Start: areas[i].Start, End: areas[i].End}
	})
}

// find returns the area that holds addr at time t, or nil.
func (x *index) find(areas []Area, addr, t uint64, e *effort) *Area {
	i, ok := x.last.Lookup(addr)
	if !ok {
		return nil
	}
	if a := &areas[i]; a.since <= t {
		return a
	}
	return x.findBefore(areas, addr, t, e)
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
		if i, ok := x.block(areas, level, n/size, size, e).Lookup(addr); ok {
			return &areas[n+i]
		}
	}
	return nil
}

// block returns the index of the i-th run of size areas, which counts from its first.
func (x *index) block(areas []Area, level, i, size int, e *effort) *ranges.Index {
	for len(x.blocks) <= level {
		x.blocks = append(x.blocks, nil)
	}
	if x.blocks[level] == nil {
		x.blocks[level] = make([]*ranges.Index, len(areas)/size)
	}
	b := &x.blocks[level][i]
	if *b == nil {
		e.spent += uint64(4 * size)
		*b = latest(areas[i*size : (i+1)*size])
	}
	return *b
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
