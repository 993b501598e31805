package timeline

import "math/bits"

// visible returns the areas of which anything is left when all are there.
func visible(areas []Area) []Area {
	left := make([]bool, len(areas))
	for i := range latest(areas).Seen() {
		left[i] = true
	}
	var v []Area
	for i, a := range areas {
		if left[i] {
			v = append(v, a)
		}
	}
	return v
}

// isOverfull reports whether s has so many more areas than when they were last looked
// through that it is worth to do so.
func (s *space) isOverfull(limit int) bool {
	n := len(s.areas.all)
	return n > limit && bits.Len(uint(n)) > int(s.compacted)
}

// compact drops areas that others had replaced by the settled time from spaces
// with many. A space that others were forked from stays as it is for them.
func (tl *Timeline) compact() {
	for _, p := range tl.toCompact {
		tl.compactState(&p.space)
		if p.past != nil {
			for i := range p.past.spaces.all {
				tl.compactState(&p.past.spaces.all[i])
			}
		}
	}
	tl.toCompact = tl.toCompact[:0]
	if tl.kernel.isOverfull(tl.limits.areas) {
		tl.work += tl.kernel.compact(tl.settled)
	}
}

func (tl *Timeline) compactState(s *spaceAt) {
	if s.own && s.space.isOverfull(tl.limits.areas) {
		clone := *s.space
		tl.work += clone.compact(tl.settled)
		s.space = &clone
	}
}

func (s *space) compact(settled uint64) int {
	n := s.epoch(settled)
	before := len(s.areas.all)
	s.areas.all = append(visible(s.areas.all[:n]), s.areas.all[n:]...)
	s.index = nil
	s.compacted = uint8(bits.Len(uint(len(s.areas.all))))
	return before
}
