package srcline

// maxRanges bounds how many ranges one lookup, or the index of one unit, goes
// through: entries may share a list, so that a small file could describe more
// than anyone can read. The kernel's longest list has some thousand.
const maxRanges = 1 << 20

// DW_RLE_*, DWARF 5 section 7.25.
const (
	rleEnd          = 0
	rleBaseAddrx    = 1
	rleStartxEndx   = 2
	rleStartxLength = 3
	rleOffsetPair   = 4
	rleBase         = 5
	rleStartEnd     = 6
	rleStartLength  = 7
)

// eachRange calls f for the address ranges of an entry until it returns false.
// Empty ranges, and those of code that the linker left out, are not among them.
func (u *loaded) eachRange(e *entry, budget *int, f func(start, end uint64) bool) {
	if e.ranges.ok() {
		if u.version >= 5 {
			u.rangeList5(e.ranges, budget, f)
		} else {
			u.rangeList(u.rangesBase+e.ranges.u, budget, f)
		}
		return
	}
	low, ok := u.addr(e.low)
	if !ok || !e.high.ok() {
		return
	}
	high, ok := u.addr(e.high)
	if !ok {
		high = low + e.high.u // a size, since DWARF 4
	}
	if u.placed(low, high) {
		f(low, high)
	}
}

// placed reports whether a range is one of code that is there. Linkers put 0,
// or a number close to the largest, where code was left out.
func (u *loaded) placed(start, end uint64) bool {
	if start >= end || start == 0 && !u.s.Relocatable {
		return false
	}
	return start < ^uint64(0)>>(64-8*uint(u.addrSize))-1
}

// rangeList goes through a list of .debug_ranges: pairs of addresses, counted
// from a base that a pair with the largest address sets.
func (u *loaded) rangeList(off uint64, budget *int, f func(start, end uint64) bool) {
	c := cursor{b: u.s.Ranges, big: u.s.BigEndian}
	c.seek(off)
	base := u.low
	size := int(u.addrSize)
	largest := ^uint64(0) >> (64 - 8*uint(size))
	for !c.bad {
		if *budget--; *budget < 0 {
			return
		}
		start, end := c.uint(size), c.uint(size)
		switch {
		case c.bad:
			u.malformed(".debug_ranges", off, "list of ranges without an end")
		case start == 0 && end == 0:
			return
		case start == largest:
			base = end
		case start < end && u.placed(base+start, base+end) && !f(base+start, base+end):
			return
		}
	}
}

// rangeList5 goes through a list of .debug_rnglists.
func (u *loaded) rangeList5(v value, budget *int, f func(start, end uint64) bool) {
	off := v.u
	if v.form == formRnglistx {
		rel, ok := u.element(u.s.RngLists, u.rangesBase, v.u, int(u.offSize))
		if !ok {
			return
		}
		off = u.rangesBase + rel
	}
	c := cursor{b: u.s.RngLists, big: u.s.BigEndian}
	c.seek(off)
	base := u.low
	size := int(u.addrSize)
	for !c.bad {
		if *budget--; *budget < 0 {
			return
		}
		var start, end uint64
		ok, ok2 := true, true
		kind := c.u8()
		switch kind {
		case rleEnd:
			if c.bad {
				break
			}
			return
		case rleBaseAddrx:
			base, _ = u.addrAt(c.uleb())
		case rleBase:
			base = c.uint(size)
		case rleStartxEndx:
			start, ok = u.addrAt(c.uleb())
			end, ok2 = u.addrAt(c.uleb())
		case rleStartxLength:
			start, ok = u.addrAt(c.uleb())
			end = start + c.uleb()
		case rleOffsetPair:
			start, end = c.uleb(), c.uleb()
			start, end = start+base, end+base
		case rleStartEnd:
			start, end = c.uint(size), c.uint(size)
		case rleStartLength:
			start = c.uint(size)
			end = start + c.uleb()
		default:
			c.fail()
		}
		if c.bad {
			u.malformed(".debug_rnglists", off, "list of ranges")
			return
		}
		if ok && ok2 && u.placed(start, end) && !f(start, end) {
			return
		}
	}
}
