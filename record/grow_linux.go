package record

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"kprof/perfevent"
	"kprof/perfevent/event"
)

// A ring that is found more than half full gets a larger one in its place, before it is
// full. Whatever takes time is done by the thread of the rings' owners, while the rings go
// on being drained:
//
//  1. map a larger ring, of an owner of its own;
//  2. direct all counters of the CPU into it: those that children have inherited follow
//     theirs;
//  3. drain the old ring, and have a record written into it, so that the kernel says what
//     was lost there;
//  4. drain the old ring for the last time and unmap it. Its owner, whose id is known to
//     who takes the records, writes into the new ring from then on.

const (
	growBy    = 4
	grownRing = 32 << 20 // up to which a ring grows

	leastSpare = 128 << 20 // of all rings together

	maxGrowing = 64 // rings that are enlarged at a time
)

// grower enlarges rings.
type grower struct {
	s     *Session
	w     *waiter
	spare int // bytes that rings may still grow by, all together
	jobs  sync.WaitGroup
	done  chan growth

	growing  int
	enlarged map[int]bool // CPUs
	failed   error        // the first: no ring grows any more
}

// growth is a step of the enlargement of a ring that has been taken.
type growth struct {
	ring   *cpuRing
	larger *perfevent.Ring // nil of a last record
	owner  *perfevent.Counter
	size   int
	err    error
}

func newGrower(s *Session, w *waiter) *grower {
	return &grower{s: s, w: w, spare: s.spareForRings(), done: make(chan growth, maxGrowing), enlarged: map[int]bool{}}
}

// spareForRings is by how many bytes rings may grow, all together. Of hundreds of CPUs, whose
// rings take more than allRings as they are, a few are busy at a time.
func (s *Session) spareForRings() int {
	if s.opts.RingSize != 0 {
		return 0 // it is what was asked for
	}
	spare := allRings
	for _, r := range s.rings {
		spare -= r.size
	}
	return max(spare, leastSpare)
}

// found is told how many bytes were found in a ring.
func (g *grower) found(r *cpuRing, n int) {
	size := min(growBy*r.size, grownRing)
	if n <= r.size/2 || r.growing || size <= r.size || size-r.size > g.spare || g.growing == maxGrowing || g.failed != nil {
		return
	}
	r.growing = true
	g.growing++
	g.spare -= size - r.size
	g.start(func() growth {
		x := growth{ring: r, size: size}
		x.err = g.s.owners.run(func() (err error) { // which may lock memory when nobody else may
			owner := event.Event{Event: perfevent.RingOwner(g.s.features, uint32(size/4))}
			if x.owner, err = g.s.openOne(&owner, perfevent.Where{CPU: r.cpu}); err != nil {
				return err
			}
			if x.larger, err = perfevent.MapRing(x.owner, size); err != nil {
				err = errors.Join(err, x.owner.Close())
			}
			return err
		})
		return x
	})
}

func (g *grower) start(f func() growth) {
	g.jobs.Go(func() { g.done <- f() })
}

// step goes on with what is ready.
func (g *grower) step() {
	for {
		select {
		case x := <-g.done:
			g.take(x)
		default:
			return
		}
	}
}

func (g *grower) take(x growth) {
	r := x.ring
	if x.err != nil {
		if g.failed == nil {
			g.failed = x.err
		}
		return
	}
	if x.larger == nil {
		r.retired = true // once it has been drained
		return
	}
	r.old, r.ring, r.memory, r.size = r.ring, x.larger, x.owner, x.size
	g.enlarged[r.cpu] = true
	for _, e := range g.s.all() {
		for _, c := range e.counters {
			if c.Where().CPU == r.cpu {
				x.err = errors.Join(x.err, c.SetOutput(r.memory))
			}
		}
	}
	if err := errors.Join(x.err, g.w.add(r.memory.FD(), tagRing)); err != nil {
		g.failed = err // what still goes into the old ring is found there
		return
	}
	r.leaving = true
}

// drained is told that an old ring has just been drained: there is room for its last
// record, or, after that one, no need of the ring any more.
func (g *grower) drained(r *cpuRing) error {
	if r.leaving {
		r.leaving = false
		g.start(func() growth {
			return growth{ring: r, err: g.s.owners.run(func() error {
				_, err := g.s.forceRecord(r)
				return err
			})}
		})
	}
	if !r.retired {
		return nil
	}
	g.growing--
	err := r.old.Close()
	r.old, r.retired, r.growing = nil, false, false
	if r.before != nil { // its ring was enlarged twice
		err = errors.Join(err, r.before.Close())
	}
	r.before = r.memory
	return errors.Join(err, r.owner.SetOutput(r.memory))
}

// underway reports whether there are old rings that are still to be let go.
func (g *grower) underway() bool {
	return g.failed == nil && slices.ContainsFunc(g.s.rings, func(r *cpuRing) bool { return r.old != nil })
}

// wait waits until nothing is under way any more.
func (g *grower) wait() {
	g.jobs.Wait()
	g.step()
}

// notes say what was done, and what was not if records were lost.
func (g *grower) notes(lost uint64) (notes []string) {
	if n := len(g.enlarged); n > 0 {
		largest := 0
		for _, r := range g.s.rings {
			if g.enlarged[r.cpu] {
				largest = max(largest, r.size)
			}
		}
		cpus := "1 CPU"
		if n > 1 {
			cpus = fmt.Sprintf("%d CPUs", n)
		}
		notes = append(notes, fmt.Sprintf("the rings of %s were enlarged while they filled, to %d KiB", cpus, largest>>10))
	}
	if g.failed != nil && lost > 0 {
		notes = append(notes, fmt.Sprintf("rings that filled were not enlarged any more: %v", g.failed))
	}
	return notes
}
