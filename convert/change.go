package convert

import (
	"cmp"
	"slices"
	"strings"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
)

// changes are what records change in a timeline, in order of arrival. There may be
// as many as records, so each has only what it needs.
type changes struct {
	maps     list[mapChange]
	tasks    list[taskChange]
	last     uint64 // time of the one added last
	unsorted bool
}

// mapChange is a mapping that comes or goes.
type mapChange struct {
	area  area
	order uint32 // of arrival, among all
	op    changeOp
}

// taskChange is what happens to a task.
type taskChange struct {
	born     uint64
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

func (cs *changes) addMap(op changeOp, a area) {
	cs.maps.add(mapChange{area: a, op: op, order: cs.next(a.born)})
}

func (cs *changes) addTask(c taskChange) {
	c.order = cs.next(c.born)
	cs.tasks.add(c)
}

// comm adds a change of name, and of address space if it is an exec.
func (tl *timeline) comm(c abi.Comm, t uint64) {
	op := opName
	if c.Exec {
		op = opExec
	}
	tl.pending.addTask(taskChange{op: op, born: t, pid: c.PID, tid: c.TID, other: tl.strings.of(c.Comm)})
}

// fork adds a new thread or process. synthesized says that it is not a fork that
// happened but perf telling who was there; its maps follow by themselves.
func (tl *timeline) fork(f abi.Task, t uint64, synthesized bool) {
	op := opFork
	if synthesized {
		op = opAppears
	}
	tl.pending.addTask(taskChange{op: op, born: t, pid: f.PID, tid: f.TID, ppid: f.PPID, other: f.PTID})
}

// exit adds the end of a thread, which ends nothing yet.
func (tl *timeline) exit(f abi.Task, t uint64) {
	if tl.forgets {
		tl.pending.addTask(taskChange{op: opExit, born: t, pid: f.PID, tid: f.TID})
	}
}

// mmap adds a mapping.
func (tl *timeline) mmap(m abi.Mmap, misc abi.Misc, t uint64) {
	if m.Len == 0 {
		return
	}
	a, op := newArea(m.Addr, m.Len, t), opMap
	a.off, a.pid = m.Off, m.PID
	o, file, symbol := object{}, m.File, ""
	mode := misc.CPUMode()
	switch {
	case mode == abi.MiscGuestUser:
		return // pids of a guest are not those of the host
	case mode == abi.MiscGuestKernel:
		op = opGuest
		file, o.kind = kernelObject(m.File)
	case mode == abi.MiscKernel || m.PID == -1 && mode != abi.MiscUser:
		op = opKernel
		if file, o.kind = kernelObject(m.File); o.kind == stacks.KindKernel {
			symbol = strings.TrimPrefix(m.File, file)
		}
	default:
		o.kind = userKind(m.File)
		tl.noteDump(&m)
		if m.Flags&mapHugeTLB != 0 {
			o.kind = stacks.KindAnon
		}
		if o.kind == stacks.KindVDSO {
			a.off = 0 // Linux 3.2 says its address
		}
		if o.kind != stacks.KindAnon && m.BuildID == "" {
			o.maj, o.min, o.ino, o.gen = m.Maj, m.Min, m.Ino, m.InoGen
		}
	}
	o.file, o.symbol, o.buildID = tl.strings.of(file), tl.strings.of(symbol), tl.strings.of(m.BuildID)
	a.obj = tl.objects.of(o)
	tl.pending.addMap(op, a)
}

// mapHugeTLB is MAP_HUGETLB of mmap(2): memory, whatever the name.
const mapHugeTLB = 0x40000

// ksymbol adds or removes a piece of code in the kernel.
func (tl *timeline) ksymbol(k abi.Ksymbol, t uint64) {
	if k.Len == 0 {
		return
	}
	a := newArea(k.Addr, uint64(k.Len), t)
	a.pid, a.obj = -1, noObject
	if !k.Unregister {
		a.obj = tl.objects.of(object{file: tl.strings.of(k.Name), kind: stacks.KindBPF})
	}
	tl.pending.addMap(opKernel, a)
}

// apply makes the changes added so far count, in the order of their times. Where
// all changes of a recording come in one go nothing comes late, however
// disordered the recording.
func (tl *timeline) apply() {
	cs := &tl.pending
	tl.work += len(tl.forks) / 4 // to be looked at again, which is quick
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
	return a.area.born < b.born || a.area.born == b.born && a.order < b.order
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
		o[i] = dated{(*l.at(i)).since(), uint32(i)}
	}
	slices.SortFunc(o, func(a, b dated) int { return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.i, b.i)) })
	return o
}

func (c mapChange) since() uint64  { return c.area.born }
func (c taskChange) since() uint64 { return c.born }

// mapped makes a mapping count.
func (tl *timeline) mapped(c *mapChange) {
	var s *space
	switch c.op {
	case opKernel:
		s = &tl.kernel
	case opGuest:
		s = &tl.guest
	default:
		tk := tl.task(c.area.pid)
		s = tl.spaceFrom(tk, c.area.born)
		if tl.forgets && s.crowds(tl.limits.areas) {
			tl.crowded = append(tl.crowded, tk)
		}
	}
	s.index = nil
	if s.areas.add(c.area) {
		tl.late = append(tl.late, &s.areas)
	}
}

// happened makes what happened to a task count.
func (tl *timeline) happened(c *taskChange) {
	switch c.op {
	case opName, opExec:
		tl.rename(tl.threadOf(c.tid, c.pid), nameAt{born: c.born, name: c.other})
		if c.op == opExec {
			tl.begin(tl.task(c.pid), spaceAt{born: c.born, executed: true})
		}
	case opFork, opAppears:
		tl.forked(c)
	case opExit:
		tl.exits = append(tl.exits, exit{c.pid, c.tid, c.born})
	}
}
