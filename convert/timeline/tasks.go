package timeline

// threadOf returns the thread tid, which belongs to pid from now on.
func (tl *Timeline) threadOf(tid, pid int32) *task {
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

func (tl *Timeline) pastOf(tk *task) *past {
	if tk.past == nil {
		tk.past = &past{}
	}
	return tk.past
}

// rename gives a thread a name. Names that were over before the settled time are
// of no use any more.
func (tl *Timeline) rename(th *task, n nameAt) {
	if n.since >= th.name.since || th.name.name == noThread {
		n, th.name = th.name, n
	}
	switch {
	case th.name.since < tl.settled:
		if th.past != nil {
			th.past.names = history[nameAt]{}
		}
		return
	case n.name == noThread:
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
func (tl *Timeline) begin(p *task, s spaceAt) {
	s.known = true
	if before := p.stateAt(s.since); before != nil && before.own {
		// Maps of the new space may have arrived before it.
		if maps := before.space.areas.cut(s.since); len(maps) > 0 {
			before.space.index = nil
			own := &space{areas: history[Area]{all: maps}, open: tl.mayChange(&s)}
			own.inherit(s.space, s.asOf, tl.limits.ancestors)
			s.space, s.own = own, true
		}
	}
	if s.since >= p.space.since || !p.space.known {
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
func (tl *Timeline) spaceFrom(p *task, t uint64) *space {
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
func (tl *Timeline) mayChange(s *spaceAt) bool {
	return tl.forgets && s.forked && s.since > tl.settled
}

// maxCgroups bounds the cgroups whose paths are remembered.
const maxCgroups = 1 << 20

// Cgroup returns the path of the cgroup with an id, from the root of its hierarchy on; ok is
// false where the recording does not say it.
func (tl *Timeline) Cgroup(id uint64) (path string, ok bool) {
	path, ok = tl.cgroups[id]
	return path, ok
}
