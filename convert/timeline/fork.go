package timeline

import (
	"cmp"
	"slices"
)

// fork is one that has to be looked at again.
type fork struct {
	since  uint64
	parent *task
	child  *task
	name   bool // it is the name that the child takes over, else the space
}

func (tl *Timeline) forked(c *taskChange) {
	parent := tl.task(c.other)
	if parent.pid == 0 {
		tl.threadOf(c.other, c.ppid)
	}
	if th := tl.threadOf(c.tid, c.pid); th != parent {
		tl.rename(th, nameAt{c.since, parent.nameAt(c.since), true})
		tl.again(fork{c.since, parent, th, true})
	}
	if c.pid == c.ppid || c.pid != c.tid {
		return
	}
	s, p := spaceAt{since: c.since}, tl.task(c.pid)
	if c.op == opFork {
		from := tl.task(c.ppid)
		s.forked = true
		s.space, s.asOf = from.spaceAt(c.since)
		s.space, s.asOf = s.space.mapping(s.asOf)
		tl.again(fork{c.since, from, p, false})
	}
	tl.begin(p, s)
}

// again has inherit look at f until its time is settled. Where all changes come in
// one go it has been looked at already.
func (tl *Timeline) again(f fork) {
	if tl.forgets {
		tl.forks = append(tl.forks, f)
	}
}

// inherit looks again at what was forked since the settled time.
func (tl *Timeline) inherit() {
	slices.SortStableFunc(tl.forks, func(a, b fork) int { return cmp.Compare(a.since, b.since) })
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
	if past := f.child.past; n.since > f.since && past != nil {
		for i := startedBy(past.names.all, f.since) - 1; i >= 0 && past.names.all[i].since == f.since; i-- {
			if n = &past.names.all[i]; n.forked {
				break
			}
		}
	}
	if n.since == f.since && n.forked {
		n.name = f.parent.nameAt(f.since)
	}
}

func (f *fork) inheritSpace(maxAncestors int) {
	s := f.space()
	if s == nil {
		return
	}
	from := f.parent.stateAt(f.since)
	if from != nil && from.since == f.since {
		return // what it was at that time was found when the fork arrived
	}
	base, asOf := from.at(f.since)
	if s.own {
		s.space.inherit(base, asOf, maxAncestors)
	} else {
		s.space, s.asOf = base.mapping(asOf)
	}
}

// space returns the address space that began with the fork, or nil.
func (f *fork) space() *spaceAt {
	s := &f.child.space
	if past := f.child.past; s.since > f.since && past != nil {
		for i := startedBy(past.spaces.all, f.since) - 1; i >= 0 && past.spaces.all[i].since == f.since; i-- {
			if s = &past.spaces.all[i]; s.forked {
				break
			}
		}
	}
	if s.since != f.since || !s.forked {
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
