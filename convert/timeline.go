package convert

import (
	"strings"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
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
//     as of its time. Until all that came before it in time has arrived, they
//     are looked up anew after each round.
//   - An exec COMM begins an empty address space.
type timeline struct {
	tasks  map[int32]*task
	kernel space
	guest  space

	objects numbering[object]
	strings numbering[string]
	serial  uint32
	image   kernelImage
	effort  effort

	pending changes // not applied yet
	late    []interface{ merge() int }
	work    int // done in this round for what is there already, in areas and the like
	dumps   []JITDump
	settling
}

// nameID is the number of a thread's name among the strings.
type nameID = int32

// task is a number with what has it, over time: as a tid a thread with its names,
// as a pid a process with its address spaces.
type task struct {
	pid     int32 // of the process that the thread belonged to last, 0 if unknown
	threads int32 // known to belong to the process

	// What came last, and in past what came before it. Most have no past.
	name  nameAt
	space spaceAt
	past  *past
}

type past struct {
	names  history[nameAt]
	spaces history[spaceAt]
}

// nameAt is a name since a time.
type nameAt struct {
	born   uint64
	name   nameID
	forked bool // taken over from the thread that forked this one
}

// noName is the name of a thread that has none, as far as is known; unborn that of
// a number that is not known as a tid.
const (
	noName nameID = -1
	unborn nameID = -2
)

// spaceAt is an address space since a time. It is a space of its own from its
// first map on; until then it is what another process had when it forked.
type spaceAt struct {
	born  uint64
	space *space // nil: nothing is mapped
	asOf  uint64 // the time at which space is shared; of no meaning if own

	known, own       bool
	executed, forked bool // how it began
}

func (n nameAt) since() uint64  { return n.born }
func (s spaceAt) since() uint64 { return s.born }
func (a area) since() uint64    { return a.born }

func newTimeline() *timeline {
	tl := &timeline{tasks: map[int32]*task{}, settling: settling{limits: defaultLimits}}
	tl.strings.of("") // is 0
	return tl
}

func (tl *timeline) task(n int32) *task {
	tk := tl.tasks[n]
	if tk == nil {
		tk = &task{name: nameAt{name: unborn}}
		tl.tasks[n] = tk
	}
	return tk
}

// nameAt returns the thread's name at time t, or noName.
func (tk *task) nameAt(t uint64) nameID {
	n := &tk.name
	if n.born > t {
		if n = nil; tk.past != nil {
			n = tk.past.names.at(t)
		}
	}
	if n == nil || n.name == unborn {
		return noName
	}
	return n.name
}

// stateAt returns the address space at time t, or nil if none is known yet.
func (tk *task) stateAt(t uint64) *spaceAt {
	switch {
	case tk.space.known && tk.space.born <= t:
		return &tk.space
	case tk.past != nil:
		return tk.past.spaces.at(t)
	}
	return nil
}

// spaceAt returns the address space at time t, and the time to look at it.
func (tk *task) spaceAt(t uint64) (*space, uint64) { return tk.stateAt(t).at(t) }

func (s *spaceAt) at(t uint64) (*space, uint64) {
	switch {
	case s == nil:
		return nil, t
	case s.own:
		return s.space, t
	}
	return s.space, min(t, s.asOf)
}

// spaceBefore returns the address space that the one at time t replaced by an
// exec, with a time at which it was still in use, or nil.
func (tk *task) spaceBefore(t uint64) (*space, uint64) {
	if tk.past == nil {
		return nil, 0
	}
	all := tk.past.spaces.all
	s := &tk.space
	if s.born > t {
		i := bornBy(all, t) - 1
		if i < 1 {
			return nil, 0
		}
		s, all = &all[i], all[:i]
	}
	if !s.executed || len(all) == 0 {
		return nil, 0
	}
	if t = s.born; t > 0 {
		t--
	}
	return all[len(all)-1].at(t)
}

// kernelImage is what maps the kernel itself.
type kernelImage struct {
	area   *area  // or nil
	serial uint32 // of the index of the kernel's areas among which it was looked for
}

// kernelImage returns what maps the kernel itself, or nil.
func (tl *timeline) kernelImage() *area {
	serial := tl.indexed(&tl.kernel).serial
	if tl.image.serial == serial {
		return tl.image.area
	}
	tl.image = kernelImage{serial: serial}
	for i := range tl.kernel.areas.all {
		a := &tl.kernel.areas.all[i]
		if a.obj >= 0 && tl.objects.at(a.obj).kind == stacks.KindKernel {
			tl.image.area = a
			break
		}
	}
	return tl.image.area
}

// assumeKernel maps the kernel where no record does, as one that is where its symbols
// say.
func (tl *timeline) assumeKernel() {
	if tl.kernelImage() != nil {
		return
	}
	const upperHalf = 1 << 63
	tl.mmap(abi.Mmap{PID: -1, Addr: upperHalf, Len: upperHalf - 1, File: "[kernel.kallsyms]"}, abi.MiscKernel, 0)
	tl.freeze()
}

// indexed returns the index of a space, which it builds after a change.
func (tl *timeline) indexed(s *space) *index {
	if s.index == nil {
		tl.serial++
		s.index = &index{serial: tl.serial}
		s.index.build(s.areas.all)
		tl.work += len(s.areas.all)
	}
	return s.index
}

// area returns what holds addr in s at time t, or nil.
func (tl *timeline) area(s *space, addr, t uint64) *area {
	tl.effort.asked++
	for forks := 0; s != nil; forks++ {
		if forks > freeForks && !tl.effort.search() {
			return nil
		}
		if len(s.areas.all) > 0 {
			if a := tl.indexed(s).find(s.areas.all, addr, t, &tl.effort); a != nil {
				if a.obj == noObject {
					return nil
				}
				return a
			}
		}
		s, t = s.base, s.forkedAt
	}
	return nil
}

// text returns the string with a number.
func (tl *timeline) text(n int32) string { return *tl.strings.at(n) }

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
