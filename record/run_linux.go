package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
)

// run is what lives while a session runs.
type run struct {
	s        *Session
	sink     Sink
	tally    *tally
	cpus     *hotplug
	cgroups  cgroups
	grow     *grower  // nil until everything records
	copies   *copying // nil where all stacks are copied or none
	start    time.Time
	rounds   uint64
	started  bool   // events have been enabled by us
	pulled   uint64 // when the last trigger was sampled that has been answered, see pull
	noted    int    // notes that Session.Notes had before
	renamed  []byte // what one ring held, with other ids
	shared   *sharedSamples
	woken    *woken // nil where nothing is left out
	restored []byte // likewise, with the ids of its own events
	repaired []byte // what one ring held, where that is not passed on as it is
}

// Run records until the context is done or no target is left. It may be called
// once. The stats are good as far as they go when there is an error too; a
// failing sink ends the session, and what it took before is whole.
func (s *Session) Run(ctx context.Context, sink Sink) (Stats, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if !s.begin(stop) {
		return Stats{}, fmt.Errorf("run session: it ran or is closed: %w", os.ErrInvalid)
	}
	defer close(s.over)
	var ids [][]uint64
	events := s.Events()
	for _, e := range events {
		ids = append(ids, e.IDs)
	}
	table := newIDTable(ids)
	sideband := s.opts.Sideband
	copies := s.watchPrograms()
	if copies != nil {
		defer close(copies.end)
		sideband = func(rec []byte) {
			copies.take(rec)
			if s.opts.Sideband != nil {
				s.opts.Sideband(rec)
			}
		}
	}
	r := &run{s: s, sink: sink, copies: copies, tally: newTally(table, len(ids), sideband), shared: newSharedSamples(table, events), start: time.Now(), noted: len(s.notes)}
	r.tally.layout = abi.NewLayout(&s.sideband.Attr, abi.LittleEndian)
	if s.opts.Target.OfTasks() {
		r.tally.dropped = &dropped{layout: r.tally.layout, tasks: map[uint32]*execed{}}
	}
	r.woken = s.keepWoken(table, len(ids))
	r.tally.self = uint32(os.Getpid())
	r.tally.roots = s.firstProcesses()
	for i, e := range s.events {
		r.tally.leaveOut[i] = e.leaveOut
		r.tally.timed[i] = e.Source.Trigger.Switches()
		r.tally.short.at[i] = placeOfUserChain(&e.Attr)
		if r.tally.chains[i] = placeOfChain(&e.Attr); r.tally.chains[i].at != 0 && r.tally.trampolines == nil {
			r.tally.trampolines = s.resolver.ReturnTrampolines()
		}
	}
	restore := func() {}
	if !s.unhurried() {
		restore = raisePriority()
	}
	err := r.record(ctx)
	restore()
	stats, serr := r.stats()
	return stats, errors.Join(err, serr)
}

// begin reports whether Run may begin, which stop ends.
func (s *Session) begin(stop context.CancelFunc) bool {
	s.running.Lock()
	defer s.running.Unlock()
	if s.ran || len(s.rings) == 0 {
		return false
	}
	s.ran, s.stop = true, stop
	return true
}

func (r *run) record(ctx context.Context) (err error) {
	s := r.s
	if r.cpus, err = watchCPUs(s.cpus, &s.opts.Target); err != nil {
		return err
	}
	r.cpus.again = s.wakeups != nil
	defer func() { err = errors.Join(err, r.cpus.close()) }()
	w, err := newWaiter(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	r.grow = newGrower(s, w)
	defer r.grow.wait()

	if err := enable(s.sideband.counters); err != nil {
		return err
	}
	if err := r.synthesize(s.opts.Synthesize); err != nil {
		return err
	}
	if !s.opts.Target.EnableOnExec && !s.opts.Disabled {
		r.started = true
		s.ledger.start()
		for _, e := range s.events {
			if e.asleep {
				continue
			}
			if err := enable(e.counters); err != nil {
				return err
			}
		}
	} else if s.opts.Disabled {
		if err := r.enableTriggers(); err != nil {
			return err
		}
	} else if err := s.enableOnCPUs(); err != nil { // others are by an exec
		return err
	}
	r.start = time.Now()
	if s.opts.Start != nil {
		if err := s.opts.Start(); err != nil {
			return err
		}
	}
	err = r.drainUntil(w)
	return errors.Join(err, r.finish(err == nil))
}

func enable(counters []*perfevent.Counter) error {
	for _, c := range counters {
		if err := c.Enable(); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) drainUntil(w *waiter) error {
	interval := r.s.opts.DrainInterval
	if interval <= 0 {
		interval = defaultInterval
	}
	var looked time.Time
	for {
		over, err := w.wait(min(interval, r.copies.interval()))
		if err != nil {
			return err
		}
		if over && w.left == 0 {
			r.s.noteLeft()
		}
		r.answer()
		if err := r.round(); err != nil {
			return err
		}
		if err := r.pull(); err != nil {
			return err
		}
		if r.copies != nil {
			if err := r.copies.step(); err != nil {
				return err
			}
		}
		if over {
			return nil
		}
		if now := time.Now(); now.Sub(looked) >= hotplugInterval {
			looked = now
			if r.cgroups.look(r.s, now) {
				return nil
			}
			if err := r.hotplug(w); err != nil {
				return err
			}
			if err := r.watchNumbers(); err != nil {
				return err
			}
		}
		if r.s.opts.Progress != nil {
			r.s.opts.Progress(Progress{
				Elapsed: time.Since(r.start),
				Samples: r.tally.allSamples(),
				Lost:    r.tally.lost,
				Bytes:   r.tally.bytes,
			})
		}
	}
}

// round drains every ring once. It does not go on until they are empty: who
// writes faster than we read would keep us at one ring for ever.
func (r *run) round() error {
	if r.woken != nil {
		r.woken.lookAhead(r.s.rings)
	}
	for _, cr := range r.s.rings {
		if cr.old != nil {
			if _, err := r.drain(cr, cr.old, cr.oldLimit); err != nil {
				return err
			}
			if err := r.grow.drained(cr); err != nil {
				return err
			}
		}
		n, err := r.drain(cr, cr.ring, cr.limit)
		if err != nil {
			return err
		}
		if r.grow != nil {
			r.grow.found(cr, n)
		}
	}
	if r.grow != nil {
		r.grow.step()
	}
	r.rounds++
	// Empty rings end a round too: a sink may hold back what came before.
	return r.sink.FinishRound()
}

// drain passes on what is in a ring of a CPU, where something is left out up to a limit, and
// returns how many bytes that was.
func (r *run) drain(cr *cpuRing, ring *perfevent.Ring, limit int) (n int, err error) {
	a, b := ring.Peek()
	if r.woken != nil {
		a, b = cut(a, b, limit)
	}
	if n = len(a) + len(b); n == 0 {
		return 0, nil
	}
	cr.used = true
	if cr.renamed != nil {
		r.renamed = rename(r.renamed, a, b, cr.renamed, &r.tally.layout)
		a, b = r.renamed, nil
	}
	if r.shared != nil && r.shared.find(a, b) {
		r.restored = r.shared.restore(r.restored, a, b)
		a, b = r.restored, nil
	}
	if r.woken != nil {
		a, b = r.woken.keep(a, b)
		if err := r.nameStrangers(); err != nil {
			return n, err
		}
	}
	r.tally.add(a, b)
	if r.tally.needsRepair() {
		// The kernel lets nobody write into a ring.
		r.repaired = r.tally.repair(r.repaired, a, b)
		a, b = r.repaired, nil
	}
	if err := r.sink.Write(a, b); err != nil {
		return n, err
	}
	ring.Consume(n)
	return n, nil
}

// finish stops the counters and gets the rest out of the rings:
//
//  1. disable the sampling events, then the side-band;
//  2. drain;
//  3. if records may have been lost since the last LOST record, have one
//     record written into each ring: the kernel says what was lost only
//     before the next record that finds room;
//  4. drain again.
//
// Without write, what is in the rings is left there: the sink has failed.
func (r *run) finish(write bool) error {
	var errs []error
	for _, e := range r.s.all() {
		for _, c := range e.counters {
			errs = append(errs, c.Disable())
		}
	}
	r.s.ledger.end()
	r.grow.wait()
	if !write {
		return errors.Join(errs...)
	}
	r.grow.spare = 0
	err := r.round()
	for err == nil && r.grow.underway() {
		r.grow.wait()
		err = r.round()
	}
	if err == nil && r.owesLost() {
		if err = r.s.forceRecords(); err == nil {
			err = r.round()
		}
	}
	return errors.Join(append(errs, err)...)
}

// owesLost reports whether the kernel may have counted lost records that it has
// not reported. Without PERF_FORMAT_LOST nobody knows.
func (r *run) owesLost() bool {
	if !r.s.features.ReadLost {
		return true
	}
	var lost uint64
	for _, e := range r.s.all() {
		lost += e.past.Lost
		for _, c := range e.counters {
			count, err := c.Read()
			if err != nil {
				return true
			}
			lost += count.Lost
		}
	}
	return lost != r.tally.lost
}

// forceRecords has the kernel write a record into each ring: the thread of the
// rings' owners goes to each CPU and takes the name that it has. A CPU that is gone, or
// where this process may not run, is left out; so its ring is as it was. The counters know what was
// lost there, if the kernel lets them tell (Linux 6.1).
func (s *Session) forceRecords() error {
	return s.owners.run(func() error {
		for _, r := range s.rings {
			if reached, err := s.forceRecord(r); err != nil {
				return err
			} else if !reached && r.used && !s.features.ReadLost { // unused, it never came
				s.note("what was lost on cpu %d at the end is not known: it is offline, or not one of ours", r.cpu)
			}
		}
		return nil
	})
}

// forceRecord does so for one ring, on that thread, if the CPU can be reached.
func (s *Session) forceRecord(r *cpuRing) (reached bool, err error) {
	var here unix.CPUSet
	here.Set(r.cpu)
	if unix.SchedSetaffinity(0, &here) != nil {
		return false, nil
	}
	if err := r.owner.Enable(); err != nil {
		return true, err
	}
	if err := perfevent.RenameThread(); err != nil {
		return true, fmt.Errorf("force a record: %w", err)
	}
	return true, r.owner.Disable()
}

func (r *run) stats() (Stats, error) {
	t := r.tally
	st := Stats{
		Samples:     t.allSamples(),
		Lost:        t.lost,
		Records:     t.records,
		Switches:    t.switches,
		Bytes:       t.bytes,
		Rounds:      r.rounds,
		ShortStacks: UserStacks{Seen: t.short.users, Short: t.short.less},
	}
	var errs []error
	var lost uint64 // in the end, in rings into which no more records could be had written
	r.s.ledger.end()
	for i, e := range r.s.all() {
		es := EventStats{Name: e.Name, Samples: t.samples[i], Throttled: t.throttl[i], LostKnown: r.s.features.ReadLost}
		sum := e.past
		for _, c := range e.counters {
			count, err := c.Read()
			if err != nil {
				errs = append(errs, err)
				continue
			}
			sum.Add(count)
		}
		es.Hits, es.Lost, es.Enabled, es.Running = sum.Value, sum.Lost, sum.Enabled, sum.Running
		if r.woken != nil {
			es.Others = r.woken.others[i]
			es.Hits -= min(es.Hits, es.Others)
		}
		lost += sum.Lost
		es.Probe = e.Source.Kind == event.KindProbe
		if err := r.s.ledger.fill(&e.Event, &es); err != nil {
			errs = append(errs, err)
		}
		if n := t.ours[i]; n > 0 {
			st.Notes = append(st.Notes, fmt.Sprintf("%s: %d samples of the recorder itself are left out", e.Name, n))
		}
		if r.s.opts.Target.OfTasks() && !e.onCPUs {
			if n := unsampled(e.Tracepoint, &e.Attr, &es, len(e.counters)); n != "" {
				st.Notes = append(st.Notes, n)
			}
		}
		if n := unwritten(&e.Attr, &es, t.unknown); n != "" {
			st.Notes = append(st.Notes, n)
		}
		st.Throttled += es.Throttled
		st.Events = append(st.Events, es)
	}
	st.Lost = max(st.Lost, lost)
	st.Notes = append(st.Notes, r.s.notes[r.noted:]...)
	if r.grow != nil {
		st.Notes = append(st.Notes, r.grow.notes(t.lost)...)
	}
	if r.copies != nil && r.copies.changes > 0 {
		st.Notes = append(st.Notes, "stacks were copied while programs without frame pointers ran")
	}
	if t.dropped != nil && st.Lost == 0 { // maps may be lost
		if n := t.dropped.note(r.s.left); n != "" {
			st.Notes = append(st.Notes, n)
		}
	}
	if t.further {
		st.Notes = append(st.Notes, fmt.Sprintf("%s: processes that were started while it was recorded have started others: when one of these ends, Linux (6.18 at least) takes the probe out of others, whose hits are not counted from then on; all are where the whole machine is recorded",
			strings.Join(r.s.resolver.Inherited(), ", ")))
	}
	if r.cpus != nil {
		st.Notes = append(st.Notes, r.cpus.reports()...)
	}
	st.Notes = append(st.Notes, r.cgroups.reports()...)
	if t.broken {
		st.Notes = append(st.Notes, "a record of impossible size was met: the counts are too low")
	}
	return st, errors.Join(errs...)
}
