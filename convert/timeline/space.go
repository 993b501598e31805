package timeline

import "slices"

// space is one address space over time: that of a process between two execs, or
// the kernel's. At a given time an address belongs to the area started last, among
// those started by then, that covers it; that a later map cuts an older one needs
// no more. What no area covers is looked up in the space it was forked from, as
// of the fork.
type space struct {
	areas    history[Area]
	index    *index // nil after a change
	base     *space // forked from, or nil
	forkedAt uint64 // as of when

	inherits  uint32 // areas that base and its ancestors have for it
	ancestors uint16 // base, its base, and so on
	open      bool   // base and forkedAt may change: see Timeline.mayChange
	compacted uint8  // how many areas it had last time they were looked through: see compact
}

// epoch tells states of the space apart: two times with the same epoch see the
// same areas.
func (s *space) epoch(t uint64) int { return startedBy(s.areas.all, t) }

// mapping passes by ancestors that had mapped nothing by time t.
func (s *space) mapping(t uint64) (*space, uint64) {
	for s != nil && s.epoch(t) == 0 {
		s, t = s.base, min(t, s.forkedAt)
	}
	return s, t
}

// maxForks bounds how far ancestors are counted.
const maxForks = 1000

// inherit makes s a fork of base as it was at time t.
func (s *space) inherit(base *space, t uint64, maxAncestors int) {
	base, t = base.mapping(t)
	if s.base == base && s.forkedAt == t {
		return
	}
	s.base, s.forkedAt, s.ancestors, s.inherits = base, t, 0, 0
	if base != nil {
		base.shorten(maxAncestors)
		s.ancestors = min(base.ancestors+1, maxForks)
		s.inherits = base.inherits + uint32(base.epoch(t))
	}
}

// shorten has the first ancestor of a long line take over the areas of the others:
// a daemon that forks its successor and ends would otherwise keep all that ever
// were. A line is long that has more than max, and more than a quarter of the
// areas in it: so these do not multiply.
func (s *space) shorten(max int) {
	long := func(s *space) bool { return int(s.ancestors) > max && uint32(s.ancestors) >= s.inherits/4 }
	if !long(s) {
		return
	}
	first := s // that will not be given another base
	for first != nil && first.open {
		first = first.base
	}
	if first == nil {
		return
	}
	if first.count(); long(first) { // it may have become shorter
		first.flatten()
	}
	s.count()
}

// count counts the ancestors anew.
func (s *space) count() {
	s.ancestors, s.inherits = 0, 0
	for b := s; b.base != nil && s.ancestors < maxForks; b = b.base {
		s.ancestors++
		s.inherits += uint32(b.base.epoch(b.forkedAt))
	}
}

// flatten takes over the areas of all ancestors.
func (s *space) flatten() {
	var line []*space
	for b := s; b.base != nil; b = b.base {
		line = append(line, b)
	}
	var areas []Area
	for _, child := range slices.Backward(line) {
		areas = append(areas, child.base.areas.all[:child.base.epoch(child.forkedAt)]...)
	}
	areas = visible(areas)
	for i := range areas {
		areas[i].since = s.forkedAt
	}
	s.areas.all = append(areas, s.areas.all...)
	s.base, s.ancestors, s.inherits, s.index = nil, 0, 0, nil
}
