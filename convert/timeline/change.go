package timeline

import (
	"cmp"
	"slices"
)

// changes are what records change in a timeline, in order of arrival. There may be
// as many as records, so each has only what it needs.
type changes struct {
	maps     list[mapChange]
	tasks    list[taskChange]
	modules  []int  // which of maps are of modules of the kernel
	last     uint64 // time of the one added last
	unsorted bool
}

// mapChange is a mapping that comes or goes.
type mapChange struct {
	area  Area
	order uint32 // of arrival, among all
	op    changeOp
}

// taskChange is what happens to a task.
type taskChange struct {
	since    uint64
	pid, tid int32
	ppid     int32
	other    int32 // ptid, or the name of opName and opExec
	order    uint32
	op       changeOp
}

type changeOp uint8

const (
	opMap     changeOp = iota // area in the space of area.pid
	opKernel                  // area in the kernel
	opGuest                   // area in the kernel of the guest
	opName                    // tid of pid is called other
	opExec                    // opName, and pid has a new space
	opFork                    // tid of pid begins as a copy of ptid of ppid
	opAppears                 // opFork, but its maps follow by themselves
	opExit                    // tid of pid
)

func (cs *changes) len() int { return cs.maps.n + cs.tasks.n }

// next returns the order of a change that arrives now.
func (cs *changes) next(t uint64) uint32 {
	cs.unsorted = cs.unsorted || t < cs.last
	cs.last = t
	return uint32(cs.len())
}

func (cs *changes) addMap(op changeOp, a Area) {
	cs.maps.add(mapChange{area: a, op: op, order: cs.next(a.since)})
}

// orderModules has modules that are there since the same time count in the order of their
// addresses: since Linux 6.4 a module's size reaches beyond its text, perhaps into the text of
// another (procfs.Module), which begins at an address of its own.
func (cs *changes) orderModules() {
	if len(cs.modules) < 2 {
		return
	}
	areas := make([]Area, len(cs.modules))
	for i, n := range cs.modules {
		areas[i] = cs.maps.at(n).area
	}
	slices.SortStableFunc(cs.modules, func(a, b int) int { return cmp.Compare(cs.maps.at(a).area.since, cs.maps.at(b).area.since) })
	slices.SortStableFunc(areas, func(a, b Area) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.Start, b.Start))
	})
	for i, n := range cs.modules {
		cs.maps.at(n).area = areas[i]
	}
}

func (cs *changes) addTask(c taskChange) {
	c.order = cs.next(c.since)
	cs.tasks.add(c)
}

// Apply makes the records added so far count, in the order of their times. Where
// all changes of a recording come in one go nothing comes late, however
// disordered the recording.
func (tl *Timeline) Apply() {
	tl.work = 0
	cs := &tl.pending
	tl.work += len(tl.forks) / 4 // to be looked at again, which is quick
	cs.orderModules()
	var maps, tasks inTime
	if cs.unsorted {
		maps, tasks = sorted(&cs.maps), sorted(&cs.tasks)
	}
	for m, t := 0, 0; m < cs.maps.n || t < cs.tasks.n; {
		i, k := maps.at(m), tasks.at(t)
		if t == cs.tasks.n || m < cs.maps.n && cs.maps.at(i).before(cs.tasks.at(k)) {
			tl.mapped(cs.maps.at(i))
			m++
			if !cs.unsorted {
				cs.maps.letGo(i)
			}
		} else {
			tl.happened(cs.tasks.at(k))
			t++
			if !cs.unsorted {
				cs.tasks.letGo(k)
			}
		}
	}
	tl.pending = changes{}
	for _, h := range tl.late {
		tl.work += h.merge()
	}
	tl.late = tl.late[:0]
	tl.inherit()
}

func (a *mapChange) before(b *taskChange) bool {
	return a.area.since < b.since || a.area.since == b.since && a.order < b.order
}

// inTime is the order of changes by time, ties in the order of arrival; nil where
// they arrived in it.
type inTime []dated

type dated struct {
	since uint64
	i     uint32
}

func (o inTime) at(i int) int {
	if i >= len(o) {
		return i
	}
	return int(o[i].i)
}

func sorted[T timed](l *list[T]) inTime {
	o := make(inTime, l.n)
	for i := range o {
		o[i] = dated{(*l.at(i)).start(), uint32(i)}
	}
	slices.SortFunc(o, func(a, b dated) int { return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.i, b.i)) })
	return o
}

func (c mapChange) start() uint64  { return c.area.since }
func (c taskChange) start() uint64 { return c.since }

// mapped makes a mapping count.
func (tl *Timeline) mapped(c *mapChange) {
	var s *space
	switch c.op {
	case opKernel:
		s = &tl.kernel
	case opGuest:
		s = &tl.guest
	default:
		tk := tl.task(c.area.PID)
		s = tl.spaceFrom(tk, c.area.since)
		if tl.forgets && s.isOverfull(tl.limits.areas) {
			tl.toCompact = append(tl.toCompact, tk)
		}
	}
	s.index = nil
	if s.areas.add(c.area) {
		tl.late = append(tl.late, &s.areas)
	}
}

// happened makes what happened to a task count.
func (tl *Timeline) happened(c *taskChange) {
	switch c.op {
	case opName, opExec:
		tl.rename(tl.threadOf(c.tid, c.pid), nameAt{since: c.since, name: c.other})
		if c.op == opExec {
			tl.begin(tl.task(c.pid), spaceAt{since: c.since, executed: true})
		}
	case opFork, opAppears:
		tl.forked(c)
	case opExit:
		tl.exits = append(tl.exits, exit{c.pid, c.tid, c.since})
	}
}
