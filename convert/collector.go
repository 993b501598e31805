package convert

import (
	"context"
	"errors"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// Collector converts records that arrive only once: live, or through a pipe.
//
// A record that tells of a process may arrive after a sample that it concerns,
// from the ring of another CPU, but not after the end of the next round: by then
// every ring has been drained once more. So samples are held back until the end
// of the round after their own.
type Collector struct {
	opts     Options
	events   *perfdata.EventSet
	sideband *sideband
	worker   *worker

	held    []byte // records of the round before this one
	round   []byte // records of this round
	place   uint64 // ordinal number of the first record in held
	arrived uint64 // ordinal number of the first record in round

	earliest [3]uint64 // times in the rounds released last, in held and in round; 0 if there are none
}

// NewCollector returns a Collector of a recording with the given events, all of
// which have the byte order o. It meets record.Sink.
func NewCollector(o abi.Order, events []abi.Event, opts Options) *Collector {
	return newCollector(perfdata.NewEventSet(o, events), opts)
}

func newCollector(events *perfdata.EventSet, opts Options) *Collector {
	c := &Collector{opts: opts, events: events}
	tl := newTimeline()
	tl.forgets = true
	c.sideband = &sideband{tl: tl, events: events}
	w := newWorker(tl, events, &c.opts)
	w.emit = w.addNow
	c.worker = w
	c.setClock()
	return c
}

func (c *Collector) setClock() {
	c.sideband.clock = clockOf(c.events)
	c.worker.clock = c.sideband.clock
}

// Write takes whole records of one ring, in their order; b continues a, and a
// record may begin in one and end in the other.
func (c *Collector) Write(a, b []byte) error {
	c.round = append(c.round, a...)
	c.round = append(c.round, b...)
	return nil
}

// FinishRound says that every ring has been drained once since the last call.
//
// Rounds may be put together. A short one is not worth what it costs to bring the
// state of all processes up to date, which depends on the state.
func (c *Collector) FinishRound() error {
	if work := c.sideband.tl.work; work > freeWork && len(c.round) < min(maxHeld, workWorth*work) {
		return nil
	}
	c.endRound()
	return nil
}

// workWorth is how many bytes of records a unit of timeline.work is worth, but for
// the first units.
const (
	workWorth = 16
	freeWork  = 64
)

func (c *Collector) endRound() {
	c.sideband.tl.work = 0
	n := c.takeSideband()
	settled := c.release()
	c.held, c.round = c.round, c.held[:0]
	c.place = c.arrived
	c.arrived += n
	c.sideband.tl.settle(settled)
}

// Finish releases everything and returns the Set, without names: see Name.
func (c *Collector) Finish() (*stacks.Set, Stats, error) {
	for range 2 {
		c.endRound()
	}
	c.worker.releaseAll()
	c.worker.order(c.worker.stats.samples)
	c.worker.reorder()
	st := stats(c.sideband, c.worker)
	finish(c.worker, st)
	return c.worker.set, st, nil
}

// takeSideband counts the records of this round and applies those that are not
// samples. It returns their number.
func (c *Collector) takeSideband() uint64 {
	place := c.arrived
	c.each(c.round, func(h abi.Header, payload []byte) {
		if h.Type == abi.RecordSample {
			c.sideband.counts[abi.RecordSample]++
		} else {
			if t := c.sideband.take(h, payload, place); t != 0 {
				c.earliest[2] = earlier(c.earliest[2], t)
			}
		}
		place++
	})
	c.sideband.tl.apply()
	return place - c.arrived
}

// release takes in the samples held back, those of round n, and returns a time
// before all that are still to come. Those are of round n+1 or later, so they
// were written after a drain in round n, and that was after all of round n-1: the
// earliest of that round is safe, whatever small disorder there is.
func (c *Collector) release() (settled uint64) {
	place := c.place
	c.each(c.held, func(h abi.Header, payload []byte) {
		c.worker.take(h, payload, place)
		if h.Type == abi.RecordSample {
			c.earliest[1] = earlier(c.earliest[1], c.worker.sample.Time)
		}
		place++
	})
	settled = c.earliest[0]
	if c.earliest[1] == 0 { // nothing new to hold on to
		c.earliest[1] = c.earliest[0]
	}
	c.earliest = [3]uint64{c.earliest[1], c.earliest[2], 0}
	if c.worker.clock.byPlace {
		return c.place
	}
	return settled
}

// earlier is the lesser of two times, of which 0 is none.
func earlier(a, b uint64) uint64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (c *Collector) each(b []byte, f func(abi.Header, []byte)) {
	for len(b) >= abi.HeaderSize {
		h := abi.DecodeHeader(b, c.events.Order)
		n := int(h.Size)
		if n < abi.HeaderSize || n > len(b) {
			c.sideband.bad++ // not from a kernel
			return
		}
		f(h, b[abi.HeaderSize:n:n])
		b = b[n:]
	}
}

// pipe converts a recording that can be read only once.
func pipe(ctx context.Context, r *perfdata.Reader, opts Options) (*stacks.Set, Stats, error) {
	c := newCollector(r.Events, opts)
	var truncated error
	known, n, limit := 0, 0, maxRoundless
	for rec, err := range r.Records() {
		if err != nil {
			var t *perfdata.TruncatedError
			if !errors.As(err, &t) {
				return nil, Stats{}, err
			}
			truncated = err
			break
		}
		if n++; n%cancelEvery == 0 && ctx.Err() != nil {
			return nil, Stats{}, ctx.Err()
		}
		if len(r.Events.Events) != known {
			known = len(r.Events.Events)
			c.setClock()
		}
		if rec.Type >= abi.RecordHeaderAttr {
			c.sideband.count(rec.Type)
		} else {
			c.round = rec.Header.AppendTo(c.round, r.Order())
			c.round = append(c.round, rec.Payload...)
		}
		if rec.Type == abi.RecordFinishedRound {
			limit = maxHeld
		}
		if rec.Type == abi.RecordFinishedRound || len(c.round) > limit {
			if err := c.FinishRound(); err != nil {
				return nil, Stats{}, err
			}
		}
	}
	set, st, err := c.Finish()
	if err != nil {
		return nil, st, err
	}
	st.Truncated = truncated
	SetBuildIDs(set, r.Features.BuildIDs)
	return set, st, nil
}
