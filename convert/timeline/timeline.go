package timeline

import "kprof/convert/intern"

// Timeline is the state of all processes and of the kernel over the time of a
// recording. Use New. It is for one goroutine at a time.
type Timeline struct {
	tasks  map[int32]*task
	recent []recentTask // direct-mapped cache of tasks by tid
	kernel space
	guest  space

	objects intern.Keys[Object]
	strings intern.Keys[string]
	serial  uint32
	image   kernelImage
	effort  effort

	pending changes // not applied yet
	late    []interface{ merge() int }
	work    int // see Work
	dumps   []JITDump
	cgroups map[uint64]string // paths, by id
	settling
}

// Options say what a Timeline may forget. The zero value keeps everything.
type Options struct {
	// Forget says that Settle will be called now and then, and that what has not been
	// true for long may be forgotten.
	Forget bool

	// Exits is how many threads are remembered after their end, since samples of them
	// come for a while; 0 is 16384.
	Exits int
	// Areas is how many areas an address space has before it is worthwhile to look for
	// those that have been replaced; 0 is 256.
	Areas int
	// Ancestors is how many address spaces, each forked from the next, an address is
	// looked up in; 0 is 32.
	Ancestors int
}

// New returns a Timeline without any state.
func New(opts Options) *Timeline {
	tl := &Timeline{
		tasks:    map[int32]*task{},
		cgroups:  map[uint64]string{},
		recent:   make([]recentTask, 1<<10),
		settling: settling{forgets: opts.Forget, limits: defaultLimits},
	}
	for _, l := range []struct {
		limit *int
		want  int
	}{{&tl.limits.exits, opts.Exits}, {&tl.limits.areas, opts.Areas}, {&tl.limits.ancestors, opts.Ancestors}} {
		if l.want > 0 {
			*l.limit = l.want
		}
	}
	tl.strings.Of("") // is 0
	return tl
}

// AbandonedLookups is how many times Find did not go as far back as maps and forks
// do, because there are too many of them.
func (tl *Timeline) AbandonedLookups() uint64 { return tl.effort.abandoned }

// Work is what Apply, Settle and look-ups have done, since Apply was last called, for
// state that was there before: the number of areas and the like that were looked at.
// Where it is much, it is better to let more records come together before the next Apply.
func (tl *Timeline) Work() int { return tl.work }

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
	since  uint64
	name   NameID
	forked bool // taken over from the thread that forked this one
}

// NameID is the number of a thread's name in its Timeline: see Comm.
type NameID = int32

// NoName is the name of a thread that has none, as far as is known; noThread that of
// a number that is not known as a tid; NotIdle that of a thread whose number is that of the
// idle threads, which it is not.
const (
	NoName   NameID = -1
	noThread NameID = -2
	NotIdle  NameID = -3
)

// spaceAt is an address space since a time. It is a space of its own from its
// first map on; until then it is what another process had when it forked.
type spaceAt struct {
	since uint64
	space *space // nil: nothing is mapped
	asOf  uint64 // the time at which space is shared; of no meaning if own

	known, own       bool
	executed, forked bool // how it began
}

func (n nameAt) start() uint64  { return n.since }
func (s spaceAt) start() uint64 { return s.since }

func (tl *Timeline) task(n int32) *task {
	tk := tl.tasks[n]
	if tk == nil {
		tk = &task{name: nameAt{name: noThread}}
		tl.tasks[n] = tk
	}
	return tk
}

// nameAt returns the thread's name at time t, or NoName.
func (tk *task) nameAt(t uint64) NameID {
	n := &tk.name
	if n.since > t {
		if n = nil; tk.past != nil {
			n = tk.past.names.at(t)
		}
	}
	if n == nil || n.name == noThread {
		return NoName
	}
	return n.name
}

// stateAt returns the address space at time t, or nil if none is known yet.
func (tk *task) stateAt(t uint64) *spaceAt {
	switch {
	case tk.space.known && tk.space.since <= t:
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
	if s.since > t {
		i := startedBy(all, t) - 1
		if i < 1 {
			return nil, 0
		}
		s, all = &all[i], all[:i]
	}
	if !s.executed || len(all) == 0 {
		return nil, 0
	}
	if t = s.since; t > 0 {
		t--
	}
	return all[len(all)-1].at(t)
}
