package convert

import (
	"math/bits"
	"slices"
)

// settling bounds what a timeline keeps of the past.
type settling struct {
	// settled is a time up to which everything is known and before which no
	// more samples come. States that were over by then are dropped when others
	// are added; forks up to then have been looked up.
	settled uint64
	forks   []fork // since then

	// forgets says that settle is called now and then, and that it may forget
	// what has not been true for long.
	forgets   bool
	limits    limits
	exits     []exit  // of threads that are remembered still, in order of arrival
	crowded   []*task // with many areas
	forgotten uint32  // changes when threads or processes are forgotten
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
// before t comes any more.
func (tl *timeline) settle(t uint64) {
	tl.settled = max(tl.settled, t)
	tl.forks = slices.DeleteFunc(tl.forks, func(f fork) bool {
		if f.born > t {
			return false
		}
		f.settle()
		return true
	})
	if tl.forgets {
		tl.uncrowd()
		tl.forget()
	}
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

// crowds reports whether s has so many more areas than when they were last looked
// through that it is worth to do so.
func (s *space) crowds(limit int) bool {
	n := len(s.areas.all)
	return n > limit && bits.Len(uint(n)) > int(s.crowded)
}

// uncrowd drops areas that others had replaced by the settled time from spaces
// with many. A space that others were forked from stays as it is for them.
func (tl *timeline) uncrowd() {
	for _, p := range tl.crowded {
		tl.uncrowdState(&p.space)
		if p.past != nil {
			for i := range p.past.spaces.all {
				tl.uncrowdState(&p.past.spaces.all[i])
			}
		}
	}
	tl.crowded = tl.crowded[:0]
	if tl.kernel.crowds(tl.limits.areas) {
		tl.work += tl.kernel.uncrowd(tl.settled)
	}
}

func (tl *timeline) uncrowdState(s *spaceAt) {
	if s.own && s.space.crowds(tl.limits.areas) {
		clone := *s.space
		tl.work += clone.uncrowd(tl.settled)
		s.space = &clone
	}
}

func (s *space) uncrowd(settled uint64) int {
	n := s.epoch(settled)
	before := len(s.areas.all)
	s.areas.all = append(visible(s.areas.all[:n]), s.areas.all[n:]...)
	s.index = nil
	s.crowded = uint8(bits.Len(uint(len(s.areas.all))))
	return before
}

// forget drops the threads that ended first, beyond the number remembered, and
// processes none of whose threads are left.
func (tl *timeline) forget() {
	n := 0
	for n < len(tl.exits)-tl.limits.exits && tl.exits[n].time < tl.settled {
		e := tl.exits[n]
		n++
		th := tl.tasks[e.tid]
		if th == nil || th.pid != e.pid || th.name.name != unborn && th.name.born > e.time {
			continue // another one by now
		}
		tl.forgetFacet(e.tid, func(th *task) {
			th.pid, th.name = 0, nameAt{name: unborn}
		})
		p := tl.tasks[e.pid]
		if p == nil {
			continue
		}
		if p.threads--; p.threads <= 0 {
			tl.forgetFacet(e.pid, func(p *task) { p.threads, p.space = 0, spaceAt{} })
		}
	}
	if n > 0 {
		tl.exits = slices.Delete(tl.exits, 0, n)
		tl.forgotten++
	}
}

// forgetFacet forgets what a number is as a thread or as a process. What holds on
// to the task keeps it as it was.
func (tl *timeline) forgetFacet(number int32, forget func(*task)) {
	left := *tl.tasks[number]
	forget(&left)
	delete(tl.tasks, number)
	if left.pid == 0 && left.threads <= 0 && !left.space.known {
		return
	}
	if left.past != nil {
		past := *left.past
		if left.name.name == unborn {
			past.names = history[nameAt]{}
		} else {
			past.spaces = history[spaceAt]{}
		}
		left.past = &past
	}
	tl.tasks[number] = &left
}

// freeze applies everything: no change comes any more.
func (tl *timeline) freeze() {
	tl.apply()
	tl.settle(1<<64 - 1)
}
