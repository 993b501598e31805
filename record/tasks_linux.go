package record

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/procfs"
)

// taskOpener opens counters on tasks that go on starting others meanwhile. A new
// task inherits the counters that its parent has at that moment, so it must be
// known which these were: none, some or all. For each task,
//
//  1. open the side-band, enabled, CPU by CPU: from here on a FORK record tells of
//     each new task. One that comes until this is done tells of a task that may have
//     a part of it: it gets all of it as well, since what is told twice is better
//     than what is not told;
//  2. open the sampling counters;
//  3. a FORK record that comes while 2 is under way, or within settle of it,
//     tells of a task that may have inherited anything: inheriting comes first
//     in clone(2), the record last. Close the task's sampling counters, with
//     which inherited ones go, and open both tasks again;
//  4. a FORK record that comes later tells of a task that inherited all.
//
// This goes on until a pass over all tasks finds them complete and settled.
type taskOpener struct {
	s       *Session
	tasks   map[int]*task // by thread id
	scanned []int         // bytes of each ring whose FORK records are known
}

// task is what is known of a thread.
type task struct {
	sideband bool // has the side-band, its own or inherited
	complete bool // has all sampling counters, its own or inherited
	gone     bool
	forked   uint64 // the time of its FORK record, 0 without one
	from     *task  // whose sampling counters it inherited
	counters []ownCounter
	opened   time.Time // when its own sampling counters were complete
	settled  bool      // a scan later than opened + settle has been made
}

type ownCounter struct {
	event *recordedEvent
	c     *perfevent.Counter
}

const (
	// settle is how long a clone may take, from inheriting to its record, when
	// the CPUs are busy and it is preempted in between.
	settle = 25 * time.Millisecond

	// maxPasses bounds how often tasks that start others all the time are
	// opened again.
	maxPasses = 100
)

// openAll opens everything on the threads that list returns, and on those that
// these start meanwhile.
func (o *taskOpener) openAll(ctx context.Context, list func() ([]int, error)) error {
	for pass := 1; ; pass++ {
		tids, err := list()
		if err != nil {
			return err
		}
		o.scan()
		for tid, t := range o.tasks {
			if !t.complete && !slices.Contains(tids, tid) {
				tids = append(tids, tid)
			}
		}
		slices.Sort(tids)
		settled := true
		for _, tid := range tids {
			t := o.tasks[tid]
			if t == nil {
				t = &task{}
				o.tasks[tid] = t
			}
			if t.complete || t.gone {
				continue
			}
			settled = false
			if err := o.open(tid, t); errors.Is(err, unix.ESRCH) {
				t.gone = true
			} else if err != nil {
				return err
			}
		}
		if settled || o.s.opts.Target.EnableOnExec {
			// What waits for its exec starts nothing that outlives that.
			return nil
		}
		if pass == maxPasses {
			o.s.note("the target starts threads too fast: some of them may be missed")
			return nil
		}
		if err := sleep(ctx, settle); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// open opens what a thread does not have.
func (o *taskOpener) open(tid int, t *task) error {
	s := o.s
	if !t.sideband {
		if err := s.resolver.KeepHits(tid); err != nil {
			return err
		}
		var last *perfevent.Counter
		for _, r := range s.rings {
			c, err := s.open(s.sideband, perfevent.Where{PID: tid, CPU: r.cpu}, r)
			if err != nil {
				return err
			}
			if err := c.Enable(); err != nil {
				return err
			}
			last = c
		}
		// All counters of a task hang up together, when those who inherited
		// them are gone too.
		s.hangups = append(s.hangups, last)
	}
	if err := o.closeOwn(t); err != nil {
		return err
	}
	o.scan()
	t.sideband = true
	for _, r := range s.rings {
		for _, e := range s.events {
			if !e.IsOn(r.cpu) || e.onCPUs {
				continue
			}
			c, err := s.open(e, perfevent.Where{PID: tid, CPU: r.cpu}, r)
			if err != nil {
				return err
			}
			t.counters = append(t.counters, ownCounter{e, c})
		}
	}
	t.opened, t.settled = time.Now(), false
	t.complete = true
	o.scan()
	return nil
}

// closeOwn closes the sampling counters of t; those who inherited them have
// none then.
func (o *taskOpener) closeOwn(t *task) error {
	for _, own := range t.counters {
		own.event.counters = slices.DeleteFunc(own.event.counters, func(c *perfevent.Counter) bool { return c == own.c })
		if err := own.c.Close(); err != nil {
			return err
		}
	}
	t.counters = nil
	for _, other := range o.tasks {
		if other.from == t {
			other.from, other.complete = nil, false
		}
	}
	return nil
}

// scan takes in the FORK records that came since the last scan, in the order of
// time. A thread id that is used again is a new task.
func (o *taskOpener) scan() {
	type fork struct {
		tid, parent int
		time        uint64
	}
	var forks []fork
	start := time.Now()
	for i, r := range o.s.rings {
		a, b := r.ring.Peek()
		skip, size := o.scanned[i], len(a)+len(b)
		if skip <= len(a) {
			a = a[skip:]
		} else {
			a, b = nil, b[skip-len(a):]
		}
		o.scanned[i] = size
		var whole []byte
		eachRecord(a, b, &whole, func(rec []byte, _ int) {
			const le = abi.LittleEndian
			// pid, ppid, tid, ptid, time
			if abi.RecordType(le.Uint32(rec)) == abi.RecordFork && len(rec) >= 32 {
				forks = append(forks, fork{int(le.Uint32(rec[16:])), int(le.Uint32(rec[20:])), le.Uint64(rec[24:])})
			}
		})
	}
	slices.SortStableFunc(forks, func(a, b fork) int { return cmp.Compare(a.time, b.time) })
	for _, f := range forks {
		parent := o.tasks[f.parent]
		if parent == nil {
			continue
		}
		if known := o.tasks[f.tid]; known != nil && known.forked != 0 && f.time-known.forked < uint64(settle) {
			continue // its parent has a part of the side-band twice
		}
		child := &task{sideband: parent.sideband, forked: f.time}
		o.tasks[f.tid] = child
		if !parent.complete || len(parent.counters) > 0 && !parent.settled {
			parent.complete = false
			continue
		}
		child.complete, child.from = true, parent
		if parent.from != nil {
			child.from = parent.from
		}
	}
	for _, t := range o.tasks {
		if start.Sub(t.opened) >= settle {
			t.settled = true
		}
	}
}

// firstProcesses are those that were asked for, where it matters which others they started, and
// which these did: see event.Resolver.KeepHits. Elsewhere there are none.
func (s *Session) firstProcesses() map[uint32]bool {
	if len(s.resolver.Inherited()) == 0 {
		return nil
	}
	first := map[uint32]bool{}
	for _, pid := range s.opts.Target.PIDs {
		first[uint32(pid)] = true
	}
	for _, tid := range s.opts.Target.TIDs {
		if pid, err := procfs.ProcessOf(os.DirFS("/proc"), tid); err == nil {
			first[uint32(pid)] = true
		}
	}
	return first
}

// noteLeft notes which targets run on though they have no counters any more, see otherRights.
func (s *Session) noteLeft() {
	proc := os.DirFS("/proc")
	for _, id := range slices.Concat(s.opts.Target.PIDs, s.opts.Target.TIDs) {
		if !procfs.Runs(proc, id) {
			continue
		}
		name, err := procfs.Comm(proc, id)
		if err != nil {
			continue
		}
		s.left = append(s.left, id)
		s.note("process %d (%s) goes on and is not recorded any more: %s", id, name, otherRights)
	}
}
