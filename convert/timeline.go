package convert

import (
	"slices"
	"strings"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
)

// timeline is the state of all processes and of the kernel over the time of a
// recording. Changes may be added in any order, and the state asked for at any
// time, once all changes up to that time have been added:
//
//   - A change holds for times at or after its own; time 0 is before everything;
//     changes of the same time count in their order of arrival.
//   - EXIT ends nothing: a process keeps its state until a FORK or an exec of the
//     same pid, because samples of a process are seen after its EXIT.
//   - Names belong to threads, address spaces to processes. A FORK takes over the
//     name of the forking thread and, across processes, the address space, both
//     as of its time. They are looked up when they are needed and not when the
//     FORK arrives, since what came before it in time may arrive after it.
//   - An exec COMM begins an empty address space.
type timeline struct {
	processes map[int32]*process
	threads   map[int32]*thread
	kernel    space
	guest     space

	objects []object
	ids     map[objectKey]int32
	names   []string // of threads
	nameIDs map[string]nameID
	serial  uint32

	// settled is a time up to which everything is known and before which no
	// more samples come. States that were over by then are dropped when others
	// are added; forks up to then have been looked up.
	settled      uint64
	forkedNames  []*thread // whose names may still refer to their parent
	forkedSpaces []*space
}

// objectKey tells objects apart: by build id where one is known, else by inode.
type objectKey struct {
	object
	maj, min uint32
	ino, gen uint64
}

type nameID int32

// process is a pid with its address spaces over time.
type process struct {
	pid    int32
	spaces []spaceAt
}

type spaceAt struct {
	born  uint64
	space *space
}

// thread is a tid with its names over time.
type thread struct {
	tid   int32
	names []nameAt
}

// nameAt is a name since a time: one of its own, or that of another thread then.
type nameAt struct {
	born uint64
	name nameID
	from *thread // or nil
}

const noName nameID = -1

func newTimeline() *timeline {
	return &timeline{
		processes: map[int32]*process{},
		threads:   map[int32]*thread{},
		ids:       map[objectKey]int32{},
		nameIDs:   map[string]nameID{},
	}
}

func (tl *timeline) process(pid int32) *process {
	p := tl.processes[pid]
	if p == nil {
		p = &process{pid: pid}
		tl.processes[pid] = p
	}
	return p
}

func (tl *timeline) thread(tid int32) *thread {
	t := tl.threads[tid]
	if t == nil {
		t = &thread{tid: tid}
		tl.threads[tid] = t
	}
	return t
}

// comm adds a change of name, and of address space if it is an exec.
func (tl *timeline) comm(c abi.Comm, t uint64) {
	tl.thread(c.TID).add(nameAt{born: t, name: tl.name(c.Comm)}, tl.settled)
	if c.Exec {
		tl.process(c.PID).add(spaceAt{t, &space{}}, tl.settled)
	}
}

// fork adds a new thread or process. synthesized says that it is not a fork that
// happened but perf telling who was there; its maps follow by themselves.
func (tl *timeline) fork(f abi.Task, t uint64, synthesized bool) {
	th := tl.thread(f.TID)
	th.add(nameAt{born: t, name: noName, from: tl.thread(f.PTID)}, tl.settled)
	tl.forkedNames = append(tl.forkedNames, th)
	if f.PID == f.PPID || f.PID != f.TID {
		return
	}
	s := &space{}
	if !synthesized {
		s.parent, s.forkedAt = tl.process(f.PPID), t
		tl.forkedSpaces = append(tl.forkedSpaces, s)
	}
	tl.process(f.PID).add(spaceAt{t, s}, tl.settled)
}

// mmap adds a mapping.
func (tl *timeline) mmap(m abi.Mmap, misc abi.Misc, t uint64) {
	if m.Len == 0 {
		return
	}
	end := m.Addr + m.Len
	if end < m.Addr {
		end = 1<<64 - 1
	}
	a := area{start: m.Addr, end: end, off: m.Off, born: t, pid: m.PID}
	o := objectKey{object: object{file: m.File, buildID: m.BuildID}}
	switch mode := misc.CPUMode(); {
	case mode == abi.MiscKernel || mode == abi.MiscGuestKernel || m.PID == -1 && mode != abi.MiscUser:
		o.file, o.kind = kernelObject(m.File)
		a.obj = tl.object(o)
		if mode == abi.MiscGuestKernel {
			tl.guest.add(a)
		} else {
			tl.kernel.add(a)
		}
		return
	}
	o.kind = userKind(m.File)
	if o.kind == stacks.KindAnon {
		o.pid = m.PID
	} else if m.BuildID == "" {
		o.maj, o.min, o.ino, o.gen = m.Maj, m.Min, m.Ino, m.InoGen
	}
	a.obj = tl.object(o)
	p := tl.process(m.PID)
	p.spaceFrom(t).add(a)
}

// ksymbol adds or removes a piece of code in the kernel.
func (tl *timeline) ksymbol(k abi.Ksymbol, t uint64) {
	if k.Len == 0 {
		return
	}
	a := area{start: k.Addr, end: k.Addr + uint64(k.Len), born: t, pid: -1, obj: noObject}
	if !k.Unregister {
		a.obj = tl.object(objectKey{object: object{file: k.Name, kind: stacks.KindBPF}})
	}
	tl.kernel.add(a)
}

func (tl *timeline) object(k objectKey) int32 {
	id, ok := tl.ids[k]
	if !ok {
		id = int32(len(tl.objects))
		tl.ids[k] = id
		tl.objects = append(tl.objects, k.object)
	}
	return id
}

func (tl *timeline) name(s string) nameID {
	id, ok := tl.nameIDs[s]
	if !ok {
		id = nameID(len(tl.names))
		tl.nameIDs[s] = id
		tl.names = append(tl.names, s)
	}
	return id
}

// add inserts a state in order of time and drops the ones that were over before
// settled.
func (p *process) add(s spaceAt, settled uint64) {
	i := len(p.spaces)
	for i > 0 && p.spaces[i-1].born > s.born {
		i--
	}
	if i > 0 {
		// Maps of the new space may have arrived before it.
		s.space.areas = append(s.space.areas, p.spaces[i-1].space.cutAfter(s.born)...)
	}
	p.spaces = slices.Insert(p.spaces, i, s)
	for len(p.spaces) > 1 && p.spaces[1].born < settled {
		p.spaces = slices.Delete(p.spaces, 0, 1)
	}
}

func (th *thread) add(n nameAt, settled uint64) {
	i := len(th.names)
	for i > 0 && th.names[i-1].born > n.born {
		i--
	}
	th.names = slices.Insert(th.names, i, n)
	for len(th.names) > 1 && th.names[1].born < settled {
		th.names = slices.Delete(th.names, 0, 1)
	}
}

// spaceAt returns the address space at time t, or nil if none is known yet.
func (p *process) spaceAt(t uint64) *space {
	for i := len(p.spaces) - 1; i >= 0; i-- {
		if p.spaces[i].born <= t {
			return p.spaces[i].space
		}
	}
	return nil
}

// spaceBefore returns the address space that the one at time t replaced, with a
// time at which it was still in use, or nil.
func (p *process) spaceBefore(t uint64) (*space, uint64) {
	for i := len(p.spaces) - 1; i > 0; i-- {
		if born := p.spaces[i].born; born <= t {
			if born > 0 {
				born--
			}
			return p.spaces[i-1].space, born
		}
	}
	return nil, 0
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

// kernelImage returns what maps the kernel itself, or nil.
func (tl *timeline) kernelImage() *area {
	for i := range tl.kernel.areas {
		if a := &tl.kernel.areas[i]; a.obj >= 0 && tl.objects[a.obj].kind == stacks.KindKernel {
			return a
		}
	}
	return nil
}

// maxForks bounds how far a name or an address is followed through forks
// without an exec.
const maxForks = 1000

// nameAt returns the thread's name at time t, or noName.
func (th *thread) nameAt(t uint64) nameID {
	for range maxForks {
		i := len(th.names) - 1
		for i >= 0 && th.names[i].born > t {
			i--
		}
		if i < 0 {
			return noName
		}
		n := &th.names[i]
		if n.from == nil {
			return n.name
		}
		th, t = n.from, n.born
	}
	return noName
}

// settle says that all changes up to time t have been added and that no sample
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
	tl.forkedSpaces = slices.DeleteFunc(tl.forkedSpaces, func(s *space) bool {
		if s.forkedAt > t {
			return false
		}
		s.base, s.parent = s.parent.spaceAt(s.forkedAt), nil
		return true
	})
}

// freeze settles everything and makes look-ups free of writes, so that several
// goroutines may do them.
func (tl *timeline) freeze() {
	tl.settle(1<<64 - 1)
	for _, p := range tl.processes {
		for _, s := range p.spaces {
			tl.indexed(s.space)
		}
	}
	tl.indexed(&tl.kernel)
	tl.indexed(&tl.guest)
}

func (tl *timeline) indexed(s *space) *space {
	if !s.indexed {
		tl.serial++
		s.index(tl.serial)
	}
	return s
}

// area returns what holds addr in s at time t, or nil.
func (tl *timeline) area(s *space, addr, t uint64) *area {
	for range maxForks {
		if s == nil {
			return nil
		}
		if a := tl.indexed(s).own(addr, t); a != nil {
			if a.obj == noObject {
				return nil
			}
			return a
		}
		t = s.forkedAt
		if s.parent != nil {
			s = s.parent.spaceAt(t)
		} else {
			s = s.base
		}
	}
	return nil
}

// kernelObject names what a mapping of the kernel maps. perf appends the symbol
// it took the start from: "[kernel.kallsyms]_text".
func kernelObject(file string) (string, stacks.Kind) {
	switch {
	case strings.HasPrefix(file, "[kernel.kallsyms]"):
		return "[kernel.kallsyms]", stacks.KindKernel
	case strings.HasPrefix(file, "[guest.kernel.kallsyms"):
		return "[guest.kernel.kallsyms]", stacks.KindGuest
	case strings.HasPrefix(file, "bpf_prog_") || strings.HasPrefix(file, "bpf_trampoline_"):
		return file, stacks.KindBPF
	}
	return file, stacks.KindModule
}

// userKind tells a file from memory without one, as perf's is_anon_memory and
// is_no_dso_memory do.
func userKind(file string) stacks.Kind {
	switch {
	case file == "[vdso]" || file == "[vdso32]" || file == "[vdsox32]":
		return stacks.KindVDSO
	case file == "//anon" || strings.HasPrefix(file, "/dev/zero") || strings.HasPrefix(file, "/anon_hugepage"),
		strings.HasPrefix(file, "["), strings.HasPrefix(file, "/SYSV"), strings.HasPrefix(file, "//toolong"),
		strings.HasPrefix(file, "anon_inode:"), strings.HasPrefix(file, "/memfd:"), file == "":
		return stacks.KindAnon
	}
	return stacks.KindUser
}
