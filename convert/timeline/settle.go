package timeline

import "slices"

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
	toCompact []*task // with many areas
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

// Settle says that all changes up to time t have been applied and that no sample
// before t comes any more.
func (tl *Timeline) Settle(t uint64) {
	tl.settled = max(tl.settled, t)
	tl.forks = slices.DeleteFunc(tl.forks, func(f fork) bool {
		if f.since > t {
			return false
		}
		f.settle()
		return true
	})
	if tl.forgets {
		tl.compact()
		tl.forget()
	}
}

// forget drops the threads that ended first, beyond the number remembered, and
// processes none of whose threads are left.
func (tl *Timeline) forget() {
	n := 0
	for n < len(tl.exits)-tl.limits.exits && tl.exits[n].time < tl.settled {
		e := tl.exits[n]
		n++
		th := tl.tasks[e.tid]
		if th == nil || th.pid != e.pid || th.name.name != noThread && th.name.since > e.time {
			continue // another one by now
		}
		tl.forgetFacet(e.tid, func(th *task) {
			th.pid, th.name = 0, nameAt{name: noThread}
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
		clear(tl.recent)
	}
}

// forgetFacet forgets what a number is as a thread or as a process. What holds on
// to the task keeps it as it was.
func (tl *Timeline) forgetFacet(number int32, forget func(*task)) {
	left := *tl.tasks[number]
	forget(&left)
	delete(tl.tasks, number)
	if left.pid == 0 && left.threads <= 0 && !left.space.known {
		return
	}
	if left.past != nil {
		past := *left.past
		if left.name.name == noThread {
			past.names = history[nameAt]{}
		} else {
			past.spaces = history[spaceAt]{}
		}
		left.past = &past
	}
	tl.tasks[number] = &left
}

// Freeze applies everything: no change comes any more.
func (tl *Timeline) Freeze() {
	tl.Apply()
	tl.Settle(1<<64 - 1)
}
