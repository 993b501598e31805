package convert

import "slices"

// settling bounds what a timeline keeps of the past.
type settling struct {
	// settled is a time up to which everything is known and before which no
	// more samples come. States that were over by then are dropped when others
	// are added; forks up to then have been looked up.
	settled      uint64
	forkedNames  []*thread // whose names may still refer to their parent
	forkedSpaces []*space

	// forgets says that settle is called now and then, and that it may forget
	// what has not been true for long.
	forgets   bool
	limits    limits
	exits     []exit     // of threads that are remembered still, in order of arrival
	crowded   []*process // with many areas
	forgotten uint32     // changes when threads or processes are forgotten
}

// limits of what is kept.
type limits struct {
	exits     int // threads remembered after their end, since samples of them come for a while
	areas     int // of a space, before it is worth to look for those that have been replaced
	ancestors int // spaces that an address is looked up in
}

var defaultLimits = limits{exits: 1 << 14, areas: 256, ancestors: 32}

// exit is the end of a thread.
type exit struct {
	pid, tid int32
	time     uint64
}

// settle says that all changes up to time t have been applied and that no sample
// before t comes any more. It looks up what was forked up to t, so that the
// states of the parents need not be kept.
func (tl *timeline) settle(t uint64) {
	tl.settled = max(tl.settled, t)
	tl.forkedNames = slices.DeleteFunc(tl.forkedNames, func(th *thread) bool {
		for i := range th.names {
			n := &th.names[i]
			if n.from == nil {
				continue
			}
			if n.born > t {
				return false
			}
			n.name, n.from = n.from.nameAt(n.born), nil
		}
		return true
	})
	var settled []*space
	tl.forkedSpaces = slices.DeleteFunc(tl.forkedSpaces, func(s *space) bool {
		if s.forkedAt > t {
			return false
		}
		s.base, s.parent = s.parent.spaceAt(s.forkedAt), nil
		settled = append(settled, s)
		return true
	})
	for _, s := range settled {
		s.shortcut(tl.limits.ancestors)
	}
	if tl.forgets {
		tl.uncrowd()
		tl.forget()
	}
}

// shortcut passes by ancestors that map nothing themselves, and takes over the
// areas of a long line of ancestors: a daemon that forks its successor and ends
// would otherwise keep all that ever were.
func (s *space) shortcut(maxAncestors int) {
	for b := s.base; b != nil && b.epoch(s.forkedAt) == 0; b = s.base {
		s.forkedAt, s.base = min(s.forkedAt, b.forkedAt), b.base
	}
	if s.base == nil {
		return
	}
	if s.ancestors = s.base.ancestors + 1; int(s.ancestors) < maxAncestors {
		return
	}
	var line []*space
	for b := s; b.base != nil; b = b.base {
		line = append(line, b)
	}
	var areas []area
	for _, child := range slices.Backward(line) {
		areas = append(areas, child.base.areas[:child.base.epoch(child.forkedAt)]...)
	}
	areas = visible(areas)
	for i := range areas {
		areas[i].born = s.forkedAt
	}
	s.areas = append(areas, s.areas...)
	s.base, s.ancestors, s.index = nil, 0, nil
}

// visible returns the areas of which anything is left when all are there.
func visible(areas []area) []area {
	left := make([]bool, len(areas))
	for _, p := range latestPieces(areas) {
		left[p.area] = true
	}
	var v []area
	for i, a := range areas {
		if left[i] {
			v = append(v, a)
		}
	}
	return v
}

// uncrowd drops areas that others had replaced by the settled time from spaces
// with many. A space that others were forked from stays as it is for them.
func (tl *timeline) uncrowd() {
	for _, p := range tl.crowded {
		for i := range p.spaces {
			if s := p.spaces[i].space; s.parent == nil && len(s.areas) > tl.limits.areas {
				clone := *s
				clone.uncrowd(tl.settled)
				p.spaces[i].space = &clone
			}
		}
	}
	tl.crowded = tl.crowded[:0]
	if len(tl.kernel.areas) > max(int(tl.kernel.crowded), tl.limits.areas) {
		tl.kernel.uncrowd(tl.settled)
	}
}

func (s *space) uncrowd(settled uint64) {
	n := s.epoch(settled)
	s.areas = append(visible(s.areas[:n]), s.areas[n:]...)
	s.index = nil
	s.crowded = 2 * int32(len(s.areas))
}

// forget drops the threads that ended first, beyond the number remembered, and
// processes none of whose threads are left.
func (tl *timeline) forget() {
	n := 0
	for n < len(tl.exits)-tl.limits.exits && tl.exits[n].time < tl.settled {
		e := tl.exits[n]
		n++
		th := tl.threads[e.tid]
		if th == nil || th.pid != e.pid || len(th.names) > 0 && th.names[len(th.names)-1].born > e.time {
			continue // another one by now
		}
		delete(tl.threads, e.tid)
		p := tl.processes[e.pid]
		if p == nil {
			continue
		}
		if p.threads--; p.threads <= 0 {
			delete(tl.processes, e.pid)
		}
	}
	if n > 0 {
		tl.exits = slices.Delete(tl.exits, 0, n)
		tl.forgotten++
	}
}

// freeze settles everything: no change comes any more.
func (tl *timeline) freeze() {
	tl.apply()
	tl.pending = nil
	tl.settle(1<<64 - 1)
	for _, p := range tl.processes {
		for _, s := range p.spaces {
			if len(s.space.areas) > 0 {
				tl.indexed(s.space)
			}
		}
	}
	tl.indexed(&tl.kernel)
	tl.indexed(&tl.guest)
}
