package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"kprof/convert"
	"kprof/perfevent/abi"
	"kprof/symbolize"
)

// PeriodsOptions say how a session becomes profiles.
type PeriodsOptions struct {
	// Every is how long a period is.
	Every time.Duration
	// First is how long the first one is; 0 for Every.
	First time.Duration
	// New returns the Collector of one more period, whose Symbols.Files are to be those
	// given: what one period reads of programs the next need not.
	New func(*symbolize.FileCache) (*Collector, error)
	// Describe writes records of what runs by now, see capture.Capture.
	Describe func(write func(rec []byte) error) error
	// Profile makes the profile of a Collector.
	Profile func(context.Context, *Collector) (*convert.Profile, error)
	// Take gets the profile of each period, one after another, from a goroutine of its
	// own. While it takes longer than Every, periods are longer. An error ends the
	// recording.
	Take func(*convert.Profile) error
	// GoesOn says that the recording goes on after the last period: somebody else ends what is
	// kept of it.
	GoesOn bool
}

// Periods is the record.Sink of a session that becomes a profile a period. No sample is
// between two periods: before one ends, the next has a Collector that knows what runs by
// then, as a session does when it begins:
//
//	       prepare      end
//	──────────┬──────────┬─────────────  samples, and what tasks do
//	  current │          │
//	     next └──────────┴─────────────
//	          │ what tasks do, and what they are already
//
// Times that begin in one period and end in the next are in neither.
type Periods struct {
	o      PeriodsOptions
	lead   time.Duration // from prepare to end
	length time.Duration // of this period
	now    func() time.Time

	current *Collector
	next    *Collector
	joined  []byte
	only    []byte // records of what tasks do

	files *symbolize.FileCache

	asked atomic.Bool // see Switch

	mu        sync.Mutex // of next, while it is described
	described chan error

	ended chan *Collector
	done  chan error // of the goroutine that makes profiles
	err   error      // that it ended by
}

// NewPeriods begins the first period.
func NewPeriods(ctx context.Context, o PeriodsOptions) (*Periods, error) {
	p := &Periods{
		o: o, lead: min(o.Every/2, time.Second), length: cmp.Or(o.First, o.Every), now: time.Now,
		files: symbolize.NewFileCache(), ended: make(chan *Collector), done: make(chan error, 1),
	}
	var err error
	if p.current, err = p.begin(); err != nil {
		return nil, err
	}
	go func() { p.done <- p.take(ctx) }()
	return p, nil
}

func (p *Periods) begin() (*Collector, error) {
	c, err := p.o.New(p.files)
	if err == nil {
		c.going, c.opts.Part = true, true
	}
	return c, err
}

// take makes profiles of periods that have ended.
func (p *Periods) take(ctx context.Context) error {
	for c := range p.ended {
		ended := p.now()
		profile, err := p.o.Profile(ctx, c)
		if err != nil {
			return err
		}
		p.files.Turn()
		profile.Set.DurationNanos = int64(ended.Sub(c.begun))
		if err := p.o.Take(profile); err != nil {
			return err
		}
	}
	return nil
}

// Write takes whole records of one ring, in their order; b continues a.
func (p *Periods) Write(a, b []byte) error {
	if err := p.current.Write(a, b); err != nil || p.next == nil {
		return err
	}
	if len(b) > 0 { // a record may lie in both
		p.joined = append(append(p.joined[:0], a...), b...)
		a = p.joined
	}
	p.only = p.only[:0]
	for len(a) >= abi.HeaderSize {
		h := abi.DecodeHeader(a, abi.LittleEndian)
		size := int(h.Size)
		if size < abi.HeaderSize || size > len(a) {
			return fmt.Errorf("a record of %d bytes, of which there are %d", size, len(a))
		}
		if ofTasks(h.Type) {
			p.only = append(p.only, a[:size]...)
		}
		a = a[size:]
	}
	if len(p.only) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next.Write(p.only, nil)
}

// ofTasks reports whether records of a type say what tasks or the kernel do, and are
// neither samples nor counts of losses.
func ofTasks(t abi.RecordType) bool {
	switch t {
	case abi.RecordMmap, abi.RecordMmap2, abi.RecordComm, abi.RecordFork, abi.RecordExit, abi.RecordNamespaces,
		abi.RecordKsymbol, abi.RecordBPFEvent, abi.RecordCgroup, abi.RecordTextPoke:
		return true
	}
	return false
}

// Switch ends the period as soon as what runs by now has been described. It may be called by
// any goroutine.
func (p *Periods) Switch() { p.asked.Store(true) }

// FinishRound says that every ring has been drained once since the last call. It is where
// a period ends.
func (p *Periods) FinishRound() error {
	if err := p.current.FinishRound(); err != nil {
		return err
	}
	select {
	case p.err = <-p.done:
		return p.err
	default:
	}
	left := p.length - p.now().Sub(p.current.begun)
	if p.asked.Load() {
		left = 0
	}
	if p.next == nil {
		if left > p.lead {
			return nil
		}
		return p.prepare()
	}
	p.mu.Lock()
	err := p.next.FinishRound()
	p.mu.Unlock()
	if err != nil || left > 0 {
		return err
	}
	select {
	case err, unknown := <-p.described:
		if unknown && err != nil {
			return err
		}
	default:
		return nil // later
	}
	select {
	case p.ended <- p.current:
		p.asked.Store(false)
		p.next.begun = p.now()
		p.current, p.next, p.length = p.next, nil, p.o.Every
	default: // the one before is not made yet
	}
	return nil
}

// prepare begins the next period.
func (p *Periods) prepare() error {
	next, err := p.begin()
	if err != nil {
		return err
	}
	p.next, p.described = next, make(chan error, 1)
	go func() {
		defer close(p.described)
		const batch = 64 << 10
		var records []byte
		flush := func() error {
			p.mu.Lock()
			defer p.mu.Unlock()
			err := next.Write(records, nil)
			records = records[:0]
			return err
		}
		err := p.o.Describe(func(rec []byte) error {
			if records = append(records, rec...); len(records) < batch {
				return nil
			}
			return flush()
		})
		if err = errors.Join(err, flush()); err != nil {
			p.described <- err
		}
	}()
	return nil
}

// Close ends the last period, and waits until its profile is taken.
func (p *Periods) Close() error {
	if p.next != nil {
		for range p.described { // what it knows is known to the current one
		}
		if _, _, err := p.next.finish(); err != nil {
			return err
		}
		p.next = nil
	}
	if p.err != nil {
		return p.err
	}
	p.current.going = p.o.GoesOn
	select {
	case p.ended <- p.current:
		close(p.ended)
		return <-p.done
	case err := <-p.done:
		return err
	}
}
