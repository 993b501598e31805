package srcline

import (
	"debug/dwarf"
	"errors"
	"math"
	"sort"

	"kprof/symbolize/ranges"
)

// unitIndex finds the unit that covers an address.
type unitIndex struct {
	ranges []unitRange
	spans  *ranges.Index
}

type unitRange struct {
	ranges.Range
	unit int32
}

func (x *unitIndex) lookup(addr uint64) (unit int, ok bool) {
	if x.spans == nil {
		return 0, false // its making was cut short
	}
	i, ok := x.spans.Lookup(addr)
	if !ok {
		return 0, false
	}
	return int(x.ranges[i].unit), true
}

// readIndex finds out what addresses each unit covers:
//
//  1. .debug_aranges lists them for the units that the compiler or assembler
//     wrote it for; clang by default writes none.
//  2. Of any other unit, the root entry does.
//  3. Where that says nothing either, the functions do.
func (d *Data) readIndex() {
	d.units = d.readUnits()
	x := &d.index
	listed := make([]bool, len(d.units))
	d.readARanges(func(unit int, start, end uint64) {
		listed[unit] = true
		x.ranges = append(x.ranges, unitRange{ranges.Range{Start: start, End: end}, int32(unit)})
	})

	// Each list of ranges belongs to one unit, and each of its elements takes
	// a byte at least.
	budget := len(d.s.Ranges) + len(d.s.RngLists)
	work := 16*len(d.s.Abbrev) + 1<<20
	var last abbrevTable // units may share a table
	lastOff := uint64(math.MaxUint64)
	for i := range d.units {
		u := loaded{Data: d, unit: &d.units[i], index: -1}
		if listed[i] || u.kind == unitType || u.kind == unitSplitType || u.kind == unitPartial {
			continue
		}
		if u.unit.abbrevs == lastOff {
			u.abbrevs = last
		} else {
			var ok bool
			if u.abbrevs, ok = d.readAbbrevs(u.unit); !ok {
				continue
			}
			last, lastOff = u.abbrevs, u.unit.abbrevs
			if work -= u.abbrevs.size(); work < 0 {
				d.malformed(".debug_abbrev", u.unit.abbrevs, "too many tables that overlap")
				break
			}
		}
		if !u.useRoot() || u.tag != dwarf.TagCompileUnit && u.tag != dwarf.TagSkeletonUnit {
			continue
		}
		u.placeUnit(x, int32(i), &budget)
		if budget < 0 {
			d.malformed(".debug_info", u.off, "too many ranges")
			break
		}
	}
	if len(x.ranges) > math.MaxInt32 {
		x.ranges = x.ranges[:math.MaxInt32]
	}
	x.spans = ranges.New(len(x.ranges), func(i int) ranges.Range { return x.ranges[i].Range })
	if len(x.ranges) == 0 {
		d.fail(errNoUnits)
	}
}

var errNoUnits = errors.New("no DWARF unit tells its addresses")

// placeUnit adds the ranges of unit i.
func (u *loaded) placeUnit(x *unitIndex, i int32, budget *int) {
	add := func(start, end uint64) bool {
		x.ranges = append(x.ranges, unitRange{ranges.Range{Start: start, End: end}, i})
		return true
	}
	c := u.cursor(u.root)
	a := u.abbrevs.get(c.uleb())
	var e entry
	u.entry(&c, a, &e)
	before := len(x.ranges)
	u.eachRange(&e, budget, add)
	if len(x.ranges) == before && !e.ranges.ok() && !e.high.ok() && !u.split {
		for _, r := range u.readFunctions(false, budget).ranges {
			add(r.Start, r.End)
		}
	}
}

// readARanges calls f for what .debug_aranges lists: for each unit a header, and
// pairs of an address and a size.
func (d *Data) readARanges(f func(unit int, start, end uint64)) {
	c := cursor{b: d.s.Aranges, big: d.s.BigEndian}
	for !c.done() {
		off := c.off
		n, offSize := c.length()
		if c.bad || n > uint64(len(c.b)-c.off) {
			d.malformed(".debug_aranges", uint64(off), "length of a set")
			return
		}
		h := cursor{b: c.b[:c.off+int(n)], off: c.off, big: c.big}
		c.off += int(n)
		version := h.u16()
		info := h.uint(int(offSize))
		size, segment := int(h.u8()), h.u8()
		i := sort.Search(len(d.units), func(i int) bool { return d.units[i].off >= info })
		if h.bad || version != 2 || segment != 0 || i == len(d.units) || d.units[i].off != info || size != int(d.units[i].addrSize) {
			continue // its unit tells
		}
		u := loaded{Data: d, unit: &d.units[i]}
		if pad := (h.off - off) % (2 * size); pad > 0 {
			h.skip(uint64(2*size - pad))
		}
		for {
			start, length := h.uint(size), h.uint(size)
			if h.bad || start == 0 && length == 0 {
				break
			}
			if u.placed(start, start+length) {
				f(i, start, start+length)
			}
		}
	}
}
