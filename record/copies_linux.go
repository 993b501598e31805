package record

import (
	"math"
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
	needed  map[uint32]bool // processes that run programs whose stacks are to be copied
	met     bool            // there was one
	copies  bool
	changes int
	began   time.Time // of the last program

	asked   chan uint32
	answers chan answer
	end     chan struct{}
}

type answer struct {
	pid    uint32
	copies bool
}

// maxAsked bounds the processes of which it is not known yet what they run.
const maxAsked = 1 << 10

// watchPrograms begins to watch; nil where no event has a twin.
func (s *Session) watchPrograms() *copying {
	c := &copying{s: s, needed: map[uint32]bool{}, asked: make(chan uint32, maxAsked), answers: make(chan answer, maxAsked), end: make(chan struct{})}
	if s.opts.CopiesIf == nil || !c.hasTwins() {
		return nil
	}
	// It is left behind where a file system does not answer.
	go func() {
		for {
			select {
			case pid := <-c.asked:
				a := answer{pid, s.opts.CopiesIf(int(pid))}
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
		if abi.Misc(o.Uint16(rec[4:]))&abi.MiscCommExec != 0 {
			c.began = time.Now()
			select {
			case c.asked <- pid:
			default: // it stays what it was
			}
		}
	case abi.RecordFork: // pid, ppid, tid, ptid
		if parent := o.Uint32(rec[12:]); parent != pid && c.needed[parent] {
			c.needed[pid] = true
		}
	case abi.RecordExit:
		if tid := o.Uint32(rec[16:]); tid == pid {
			delete(c.needed, pid)
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

// step does what has come out meanwhile.
func (c *copying) step() error {
	for {
		select {
		case a := <-c.answers:
			if delete(c.needed, a.pid); a.copies {
				c.needed[a.pid], c.met = true, true
			}
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
