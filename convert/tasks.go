package convert

import (
	"cmp"
	"slices"
)

// threadOf returns the thread tid, which belongs to pid from now on.
func (tl *timeline) threadOf(tid, pid int32) *task {
	th := tl.task(tid)
	if th.pid != pid {
		if old := tl.tasks[th.pid]; old != nil && th.pid != 0 {
			old.threads--
		}
		th.pid = pid
		tl.task(pid).threads++
	}
	return th
}

func (tl *timeline) pastOf(tk *task) *past {
	if tk.past == nil {
		tk.past = &past{}
	}
	return tk.past
}

// rename gives a thread a name. Names that were over before the settled time are
// of no use any more.
func (tl *timeline) rename(th *task, n nameAt) {
	if n.born >= th.name.born || th.name.name == unborn {
		n, th.name = th.name, n
	}
	switch {
	case th.name.born < tl.settled:
		if th.past != nil {
			th.past.names = history[nameAt]{}
		}
		return
	case n.name == unborn:
		return
	}
	names := &tl.pastOf(th).names
	if names.add(n) {
		tl.late = append(tl.late, names)
	}
	names.forget(tl.settled, 1)
}

// begin gives a process an address space. Those that were over before the settled
// time are of no use any more, but for the last of them: see spaceBefore.
func (tl *timeline) begin(p *task, s spaceAt) {
	s.known = true
	if before := p.stateAt(s.born); before != nil && before.own {
		// Maps of the new space may have arrived before it.
		if maps := before.space.areas.cut(s.born); len(maps) > 0 {
			before.space.index = nil
			own := &space{areas: history[area]{all: maps}, open: tl.mayChange(&s)}
			own.inherit(s.space, s.asOf, tl.limits.ancestors)
			s.space, s.own = own, true
		}
	}
	if s.born >= p.space.born || !p.space.known {
		s, p.space = p.space, s
	}
	if !s.known {
		return
	}
	spaces := &tl.pastOf(p).spaces
	if spaces.add(s) {
		tl.late = append(tl.late, spaces)
	}
	spaces.forget(tl.settled, 2)
}

// spaceFrom returns the space of its own that a process has at time t, which it
// makes if it has none.
func (tl *timeline) spaceFrom(p *task, t uint64) *space {
	s := p.stateAt(t)
	if s == nil {
		tl.begin(p, spaceAt{})
		s = p.stateAt(t)
	}
	if !s.own {
		own := &space{open: tl.mayChange(s)}
		own.inherit(s.space, s.asOf, tl.limits.ancestors)
		s.space, s.own = own, true
	}
	return s.space
}

// mayChange reports whether the space that s was forked from may turn out to be
// another.
func (tl *timeline) mayChange(s *spaceAt) bool {
	return tl.forgets && s.forked && s.born > tl.settled
}

// fork is one that has to be looked at again.
type fork struct {
	born   uint64
	parent *task
	child  *task
	name   bool // it is the name that the child takes over, else the space
}

func (tl *timeline) forked(c *taskChange) {
	parent := tl.task(c.other)
	if parent.pid == 0 {
		tl.threadOf(c.other, c.ppid)
	}
	if th := tl.threadOf(c.tid, c.pid); th != parent {
		tl.rename(th, nameAt{c.born, parent.nameAt(c.born), true})
		tl.again(fork{c.born, parent, th, true})
	}
	if c.pid == c.ppid || c.pid != c.tid {
		return
	}
	s, p := spaceAt{born: c.born}, tl.task(c.pid)
	if c.op == opFork {
		from := tl.task(c.ppid)
		s.forked = true
		s.space, s.asOf = from.spaceAt(c.born)
		s.space, s.asOf = s.space.mapping(s.asOf)
		tl.again(fork{c.born, from, p, false})
	}
	tl.begin(p, s)
}

// again has inherit look at f until its time is settled. Where all changes come in
// one go it has been looked at already.
func (tl *timeline) again(f fork) {
	if tl.forgets {
		tl.forks = append(tl.forks, f)
	}
}

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
	var areas []area
	for _, child := range slices.Backward(line) {
		areas = append(areas, child.base.areas.all[:child.base.epoch(child.forkedAt)]...)
	}
	areas = visible(areas)
	for i := range areas {
		areas[i].born = s.forkedAt
	}
	s.areas.all = append(areas, s.areas.all...)
	s.base, s.ancestors, s.inherits, s.index = nil, 0, 0, nil
}

// inherit looks again at what was forked since the settled time.
func (tl *timeline) inherit() {
	slices.SortStableFunc(tl.forks, func(a, b fork) int { return cmp.Compare(a.born, b.born) })
	for _, f := range tl.forks {
		if f.name {
			f.inheritName()
		} else {
			f.inheritSpace(tl.limits.ancestors)
		}
	}
}

func (f *fork) inheritName() {
	n := &f.child.name
	if past := f.child.past; n.born > f.born && past != nil {
		for i := bornBy(past.names.all, f.born) - 1; i >= 0 && past.names.all[i].born == f.born; i-- {
			if n = &past.names.all[i]; n.forked {
				break
			}
		}
	}
	if n.born == f.born && n.forked {
		n.name = f.parent.nameAt(f.born)
	}
}

func (f *fork) inheritSpace(maxAncestors int) {
	s := f.space()
	if s == nil {
		return
	}
	from := f.parent.stateAt(f.born)
	if from != nil && from.born == f.born {
		return // what it was at that time was found when the fork arrived
	}
	base, asOf := from.at(f.born)
	if s.own {
		s.space.inherit(base, asOf, maxAncestors)
	} else {
		s.space, s.asOf = base.mapping(asOf)
	}
}

// space returns the address space that began with the fork, or nil.
func (f *fork) space() *spaceAt {
	s := &f.child.space
	if past := f.child.past; s.born > f.born && past != nil {
		for i := bornBy(past.spaces.all, f.born) - 1; i >= 0 && past.spaces.all[i].born == f.born; i-- {
			if s = &past.spaces.all[i]; s.forked {
				break
			}
		}
	}
	if s.born != f.born || !s.forked {
		return nil
	}
	return s
}

// settle says that f is not looked at any more.
func (f *fork) settle() {
	if s := f.space(); !f.name && s != nil && s.own {
		s.space.open = false
	}
}
