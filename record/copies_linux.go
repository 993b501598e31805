package record

import (
	"maps"
	"math"
	"slices"
	"time"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
)

// Where stacks are copied only of some programs (Options.CopiesIf), each event that is
// sampled at a frequency has a twin, which copies stacks. One of both is enabled at a time,
// for all tasks that are recorded: the twin from when a program begins whose stacks are to
// be copied until no task runs such a program any more. The kernel hands both on to the
// tasks that others start, and lets nobody enable an inherited counter of one task alone.

// copyStacks has stacks copied of the event that was added last, which is sampling of e, or
// adds the twin that does. What is sampled at each of its occurrences has none: one would be
// counted twice or not at all when they change places. Nor has what enables others: it is never
// disabled.
func (s *Session) copyStacks(e event.Event, sampling perfevent.Sampling) {
	own := s.events[len(s.events)-1]
	if own.Attr.Flags&abi.FlagFreq == 0 || s.opts.NoCallchain {
		return
	}
	sampling.UserCallers = s.opts.UserCallers
	if s.opts.CopiesAlways {
		e.Configure(sampling)
		own.Event = e
		return
	}
	if e.Source.Trigger.Switches() {
		return
	}
	sampling.EnableOnExec = false
	if s.opts.DefaultFrequency == 0 {
		sampling.DefaultFrequency = min(copyFrequency, sampling.DefaultFrequency)
	}
	e.Configure(sampling)
	if e.Attr.SampleStackUser == 0 {
		return
	}
	e.Name += abi.CopiesSuffix
	own.twin = &recordedEvent{Event: e, disabled: s.opts.Disabled, asleep: true}
	s.events = append(s.events, own.twin)
}

// copying watches which programs run, and has stacks copied or not. All but its own
// goroutine is the draining one's.
type copying struct {
	s       *Session
	layout  abi.Layout           // of side-band records
	needed  map[uint32]bool      // processes that run programs whose stacks are to be copied
	waiting map[uint32]*question // processes of which it is not known yet
	met     bool                 // there was one that needs copies
	copies  bool
	changes int
	began   time.Time // of the last program

	// Times of what was last taken of a process, in this round and in the one before.
	latest, before map[uint32]uint64

	asked   chan *question
	answers chan answer
	end     chan struct{}
}

// question is what a process runs. Those that it starts before the answer wait for that too.
type question struct{ pid uint32 }

type answer struct {
	*question
	copies bool
}

// maxAsked bounds the processes of which it is not known yet what they run.
const maxAsked = 1 << 10

// watchPrograms begins to watch; nil where no event has a twin.
func (s *Session) watchPrograms() *copying {
	c := &copying{
		s: s, needed: map[uint32]bool{}, waiting: map[uint32]*question{}, latest: map[uint32]uint64{}, before: map[uint32]uint64{},
		asked: make(chan *question, maxAsked), answers: make(chan answer, maxAsked), end: make(chan struct{}),
	}
	if s.opts.CopiesIf == nil || !c.hasTwins() {
		return nil
	}
	c.layout = abi.NewLayout(&s.sideband.Attr, abi.LittleEndian)
	// It is left behind where a file system does not answer.
	go func() {
		for {
			select {
			case q := <-c.asked:
				a := answer{q, s.opts.CopiesIf(int(q.pid))}
				select {
				case c.answers <- a:
				case <-c.end:
					return
				}
			case <-c.end:
				return
			}
		}
	}()
	if !s.opts.Target.EnableOnExec {
		for _, id := range append(append([]int{}, s.opts.Target.PIDs...), s.opts.Target.TIDs...) {
			if s.opts.CopiesIf(id) {
				c.needed[uint32(id)], c.met = true, true
			}
		}
	}
	return c
}

func (c *copying) hasTwins() bool {
	for _, e := range c.s.events {
		if e.twin != nil {
			return true
		}
	}
	return false
}

// take looks at a record that is not a sample.
func (c *copying) take(rec []byte) {
	const o = abi.LittleEndian
	if len(rec) < 24 {
		return
	}
	pid := o.Uint32(rec[8:])
	switch abi.RecordType(o.Uint32(rec)) {
	case abi.RecordComm: // pid, tid
		if abi.Misc(o.Uint16(rec[4:]))&abi.MiscCommExec == 0 {
			return
		}
		c.began = time.Now()
		if c.isLatest(pid, rec) {
			c.ask(pid)
		}
	case abi.RecordFork: // pid, ppid, tid, ptid
		parent := o.Uint32(rec[12:])
		if parent == pid || !c.isLatest(pid, rec) {
			return
		}
		if c.needed[parent] {
			c.needed[pid] = true
		}
		if q := c.waiting[parent]; q != nil {
			c.waiting[pid] = q
		}
	case abi.RecordExit:
		if tid := o.Uint32(rec[16:]); tid == pid && c.isLatest(pid, rec) {
			delete(c.needed, pid)
			delete(c.waiting, pid)
		}
	}
}

// isLatest reports whether nothing later was taken of a process: rings are drained one after
// the other, and one that was begun on a CPU may have ended on another.
func (c *copying) isLatest(pid uint32, rec []byte) bool {
	f, _ := c.layout.DecodeTrailer(rec[abi.HeaderSize:])
	if f.Time < max(c.latest[pid], c.before[pid]) {
		return false
	}
	c.latest[pid] = f.Time
	return true
}

// ask has it found out what a process runs, unless too much is asked already: then it stays
// what it was.
func (c *copying) ask(pid uint32) (asked bool) {
	q := &question{pid}
	select {
	case c.asked <- q:
		c.waiting[pid] = q
		return true
	default:
		return false
	}
}

// answered takes an answer. Where the process has ended meanwhile, or runs another program, it
// may be of that, or of none: then it is asked of one of those that it has started, which run
// the same.
func (c *copying) answered(a answer) {
	c.met = c.met || a.copies
	same := slices.DeleteFunc(slices.Sorted(maps.Keys(c.waiting)), func(pid uint32) bool { return c.waiting[pid] != a.question })
	if len(same) > 0 && c.waiting[a.pid] != a.question && c.ask(same[0]) {
		for _, pid := range same {
			c.waiting[pid] = c.waiting[same[0]]
		}
		return
	}
	for _, pid := range same {
		delete(c.waiting, pid)
		if delete(c.needed, pid); a.copies {
			c.needed[pid] = true
		}
	}
}

// Programs that begin are looked at at once where others began a moment ago: by the time that a
// short one is known, it has ended. Each look costs as much as dozens of samples: as long as no
// program was met whose stacks are to be copied, the rings are looked into as always.
const (
	programInterval = 2 * time.Millisecond
	quietInterval   = 10 * time.Millisecond
	moment          = 200 * time.Millisecond
)

// interval is how long rings may go without being looked into, as nothing but their contents
// says that a program has begun.
func (c *copying) interval() time.Duration {
	switch {
	case c == nil, !c.met:
		return math.MaxInt64
	case time.Since(c.began) < moment:
		return programInterval
	}
	return quietInterval
}

// step does what has come out by the end of a round.
func (c *copying) step() error {
	c.before, c.latest = c.latest, c.before
	clear(c.latest)
	for {
		select {
		case a := <-c.answers:
			c.answered(a)
			continue
		default:
		}
		break
	}
	if copies := len(c.needed) > 0; copies != c.copies {
		return c.change(copies)
	}
	return nil
}

// change has twins take the place of their events, or gives it back.
func (c *copying) change(copies bool) error {
	c.copies = copies
	c.changes++
	for _, e := range c.s.events {
		if e.twin == nil {
			continue
		}
		on, off := e, e.twin
		if copies {
			on, off = e.twin, e
		}
		on.asleep, off.asleep = false, true
		if on.disabled {
			continue
		}
		if err := enable(on.counters); err != nil {
			return err
		}
		for _, counter := range off.counters {
			if err := counter.Disable(); err != nil {
				return err
			}
		}
	}
	return nil
}
