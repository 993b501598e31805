package convert

import (
	"slices"
	"strings"

	"kprof/convert/stacks"
)

// timeline is the state of all processes and of the kernel over the time of a
// recording. Changes may be added in any order; apply makes them count, and then
// the state may be asked for at any time up to which all changes are there:
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

	pending []change // not applied yet
	dumps   []JITDump
	settling
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
	spaces  []spaceAt
	threads int32 // known to belong to it
}

type spaceAt struct {
	born  uint64
	space *space
}

// thread is a tid with its names over time.
type thread struct {
	pid   int32 // of the process it belonged to last, 0 if unknown
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
		settling:  settling{limits: defaultLimits},
	}
}

func (tl *timeline) process(pid int32) *process {
	p := tl.processes[pid]
	if p == nil {
		p = &process{}
		tl.processes[pid] = p
	}
	return p
}

func (tl *timeline) thread(tid int32) *thread {
	t := tl.threads[tid]
	if t == nil {
		t = &thread{}
		tl.threads[tid] = t
	}
	return t
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

// stateAt returns the index of the space at time t, or -1 if none is known yet.
func (p *process) stateAt(t uint64) int {
	i := len(p.spaces) - 1
	if i < 0 || p.spaces[i].born <= t {
		return i
	}
	i, _ = slices.BinarySearchFunc(p.spaces, t, func(s spaceAt, t uint64) int { return after(s.born, t) })
	return i - 1
}

// after orders for a search of the first state born after t.
func after(born, t uint64) int {
	if born <= t {
		return -1
	}
	return 1
}

// spaceAt returns the address space at time t, or nil if none is known yet.
func (p *process) spaceAt(t uint64) *space {
	if i := p.stateAt(t); i >= 0 {
		return p.spaces[i].space
	}
	return nil
}

// spaceBefore returns the address space that the one at time t replaced by an
// exec, with a time at which it was still in use, or nil.
func (p *process) spaceBefore(t uint64) (*space, uint64) {
	i := p.stateAt(t)
	if i < 1 || !p.spaces[i].space.executed {
		return nil, 0
	}
	born := p.spaces[i].born
	if born > 0 {
		born--
	}
	return p.spaces[i-1].space, born
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
const maxForks = 200

// stateAt returns the index of the name at time t, or -1 if none is known yet.
func (th *thread) stateAt(t uint64) int {
	i := len(th.names) - 1
	if i < 0 || th.names[i].born <= t {
		return i
	}
	i, _ = slices.BinarySearchFunc(th.names, t, func(n nameAt, t uint64) int { return after(n.born, t) })
	return i - 1
}

// nameAt returns the thread's name at time t, or noName.
func (th *thread) nameAt(t uint64) nameID {
	for range maxForks {
		i := th.stateAt(t)
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

// indexed returns the index of a space, which it builds after a change.
func (tl *timeline) indexed(s *space) *index {
	if s.index == nil {
		tl.serial++
		s.index = &index{serial: tl.serial}
		s.index.build(s.areas)
	}
	return s.index
}

// area returns what holds addr in s at time t, or nil.
func (tl *timeline) area(s *space, addr, t uint64) *area {
	for range maxForks {
		if s == nil {
			return nil
		}
		if len(s.areas) > 0 {
			if a := tl.indexed(s).find(s.areas, addr, t); a != nil {
				if a.obj == noObject {
					return nil
				}
				return a
			}
		}
		s, t = s.inherited()
	}
	return nil
}

// inherited returns the space that s was forked from, or nil, and the time of it.
func (s *space) inherited() (*space, uint64) {
	if s.parent != nil {
		return s.parent.spaceAt(s.forkedAt), s.forkedAt
	}
	return s.base, s.forkedAt
}

// kernelObject names what a mapping of the kernel maps. perf appends the symbol
// it took the start from: "[kernel.kallsyms]_text".
func kernelObject(file string) (string, stacks.Kind) {
	switch {
	case strings.HasPrefix(file, "[kernel.kallsyms"): // "[kernel.kallsyms._text]" before Linux 2.6.34
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
