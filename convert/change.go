package convert

import (
	"cmp"
	"slices"
	"strings"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
)

// change is what a record changes in a timeline. Its time is area.born.
type change struct {
	op                   changeOp
	area                 area
	pid, tid, ppid, ptid int32
	name                 nameID
}

type changeOp uint8

const (
	opMap     changeOp = iota // area in the space of area.pid
	opKernel                  // area in the kernel
	opGuest                   // area in the kernel of the guest
	opName                    // tid of pid is called name
	opExec                    // opName, and pid has a new space
	opFork                    // tid of pid begins as a copy of ptid of ppid
	opAppears                 // opFork, but its maps follow by themselves
	opExit                    // tid of pid
)

// comm adds a change of name, and of address space if it is an exec.
func (tl *timeline) comm(c abi.Comm, t uint64) {
	op := opName
	if c.Exec {
		op = opExec
	}
	tl.pending = append(tl.pending, change{op: op, area: area{born: t}, pid: c.PID, tid: c.TID, name: tl.name(c.Comm)})
}

// fork adds a new thread or process. synthesized says that it is not a fork that
// happened but perf telling who was there; its maps follow by themselves.
func (tl *timeline) fork(f abi.Task, t uint64, synthesized bool) {
	op := opFork
	if synthesized {
		op = opAppears
	}
	tl.pending = append(tl.pending, change{op: op, area: area{born: t}, pid: f.PID, tid: f.TID, ppid: f.PPID, ptid: f.PTID})
}

// exit adds the end of a thread, which ends nothing yet.
func (tl *timeline) exit(f abi.Task, t uint64) {
	if tl.forgets {
		tl.pending = append(tl.pending, change{op: opExit, area: area{born: t}, pid: f.PID, tid: f.TID})
	}
}

// mmap adds a mapping.
func (tl *timeline) mmap(m abi.Mmap, misc abi.Misc, t uint64) {
	if m.Len == 0 {
		return
	}
	c := change{area: newArea(m.Addr, m.Len, t)}
	c.area.off, c.area.pid = m.Off, m.PID
	o := objectKey{object: object{file: m.File, buildID: m.BuildID}}
	mode := misc.CPUMode()
	switch {
	case mode == abi.MiscGuestUser:
		return // pids of a guest are not those of the host
	case mode == abi.MiscGuestKernel:
		c.op = opGuest
		o.file, o.kind = kernelObject(m.File)
	case mode == abi.MiscKernel || m.PID == -1 && mode != abi.MiscUser:
		c.op = opKernel
		if o.file, o.kind = kernelObject(m.File); o.kind == stacks.KindKernel {
			o.symbol = strings.TrimPrefix(m.File, o.file)
		}
	default:
		o.kind = userKind(m.File)
		tl.noteDump(&m)
		if m.Flags&mapHugeTLB != 0 {
			o.kind = stacks.KindAnon
		}
		if o.kind == stacks.KindVDSO {
			c.area.off = 0 // Linux 3.2 says its address
		}
		if o.kind != stacks.KindAnon && m.BuildID == "" {
			o.maj, o.min, o.ino, o.gen = m.Maj, m.Min, m.Ino, m.InoGen
		}
	}
	c.area.obj = tl.object(o)
	tl.pending = append(tl.pending, c)
}

// mapHugeTLB is MAP_HUGETLB of mmap(2): memory, whatever the name.
const mapHugeTLB = 0x40000

// ksymbol adds or removes a piece of code in the kernel.
func (tl *timeline) ksymbol(k abi.Ksymbol, t uint64) {
	if k.Len == 0 {
		return
	}
	c := change{op: opKernel, area: newArea(k.Addr, uint64(k.Len), t)}
	c.area.pid, c.area.obj = -1, noObject
	if !k.Unregister {
		c.area.obj = tl.object(objectKey{object: object{file: k.Name, kind: stacks.KindBPF}})
	}
	tl.pending = append(tl.pending, c)
}

// apply makes the changes added so far count, in the order of their times. Where
// all changes of a recording come in one go nothing is ever inserted in the
// middle of what is there, however disordered the recording.
func (tl *timeline) apply() {
	p := tl.pending
	byTime := func(a, b change) int { return cmp.Compare(a.area.born, b.area.born) }
	if slices.IsSortedFunc(p, byTime) {
		for i := range p {
			tl.change(&p[i])
		}
	} else {
		for _, i := range inTime(p) {
			tl.change(&p[i])
		}
	}
	if cap(p) > maxPending {
		p = nil
	}
	tl.pending = p[:0]
}

// maxPending is how many changes' room is kept for the next.
const maxPending = 1 << 12

// inTime returns the indices of changes in the order of their times, ties in the
// order of arrival.
func inTime(p []change) []int32 {
	order := make([]int32, len(p))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(p[i].area.born, p[j].area.born), cmp.Compare(i, j))
	})
	return order
}

func (tl *timeline) change(c *change) {
	t := c.area.born
	switch c.op {
	case opMap:
		tl.mapped(c)
	case opKernel:
		tl.kernel.add(c.area)
	case opGuest:
		tl.guest.add(c.area)
	case opName, opExec:
		th := tl.threadOf(c.tid, c.pid)
		th.add(nameAt{born: t, name: c.name}, tl.settled)
		if c.op == opExec {
			tl.process(c.pid).add(spaceAt{t, &space{executed: true}}, tl.settled)
		}
	case opFork, opAppears:
		tl.forked(c)
	case opExit:
		tl.exits = append(tl.exits, exit{c.pid, c.tid, t})
	}
}

// mapped adds an area to the space that its process has at its time.
func (tl *timeline) mapped(c *change) {
	p := tl.process(c.area.pid)
	s := p.spaceFrom(c.area.born)
	s.add(c.area)
	if tl.forgets && len(s.areas) > max(int(s.crowded), tl.limits.areas) {
		tl.crowded = append(tl.crowded, p)
		s.crowded = 2 * int32(len(s.areas))
	}
}

func (tl *timeline) forked(c *change) {
	t := c.area.born
	parent := tl.thread(c.ptid)
	if parent.pid == 0 {
		tl.threadOf(c.ptid, c.ppid)
	}
	if th := tl.threadOf(c.tid, c.pid); th != parent {
		th.add(nameAt{born: t, name: noName, from: parent}, tl.settled)
		tl.forkedNames = append(tl.forkedNames, th)
	}
	if c.pid == c.ppid || c.pid != c.tid {
		return
	}
	s := &space{}
	if c.op == opFork {
		s.parent, s.forkedAt = tl.process(c.ppid), t
		tl.forkedSpaces = append(tl.forkedSpaces, s)
	}
	tl.process(c.pid).add(spaceAt{t, s}, tl.settled)
}

// threadOf returns the thread tid, which belongs to pid from now on.
func (tl *timeline) threadOf(tid, pid int32) *thread {
	th := tl.thread(tid)
	if th.pid != pid {
		if old := tl.processes[th.pid]; old != nil && th.pid != 0 {
			old.threads--
		}
		th.pid = pid
		tl.process(pid).threads++
	}
	return th
}

// add inserts a state in order of time and drops the ones that were over before
// settled, but for the last of them: see spaceBefore.
func (p *process) add(s spaceAt, settled uint64) {
	i := p.stateAt(s.born) + 1
	if i > 0 {
		// Maps of the new space may have arrived before it.
		s.space.areas = p.spaces[i-1].space.cutAfter(s.born)
	}
	p.spaces = slices.Insert(p.spaces, i, s)
	for len(p.spaces) > 2 && p.spaces[2].born < settled {
		p.spaces = slices.Delete(p.spaces, 0, 1)
	}
}

// add inserts a name in order of time and drops the ones that were over before
// settled.
func (th *thread) add(n nameAt, settled uint64) {
	th.names = slices.Insert(th.names, th.stateAt(n.born)+1, n)
	for len(th.names) > 1 && th.names[1].born < settled {
		th.names = slices.Delete(th.names, 0, 1)
	}
}

// spaceFrom is spaceAt for a change: it makes a space if there is none.
func (p *process) spaceFrom(t uint64) *space {
	if s := p.spaceAt(t); s != nil {
		return s
	}
	s := &space{}
	p.spaces = slices.Insert(p.spaces, 0, spaceAt{0, s})
	return s
}
