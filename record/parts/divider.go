package parts

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"kprof/perfevent/abi"
)

// Part is what a part of a recording is written to, as a record.Sink is.
type Part interface {
	Write(a, b []byte) error
	FinishRound() error

	// Finish ends the part. It is called by another goroutine than the others, after them.
	Finish(About) error
}

// About is what there is to say of a part.
type About struct {
	Samples uint64
	Time    time.Duration // from its first to its last round
	Full    bool          // of a window: it is not all of the time asked for, since Bytes were reached
	Last    bool          // no other part follows
	LeftOut uint64        // names and maps of tasks that took too much memory to be kept, in the whole recording so far
}

// Options say where parts end.
type Options struct {
	Every time.Duration // a part ends after this time; 0 for no such end
	First time.Duration // the first one after this time; 0 for Every
	Size  int64         // a part ends when it has so many bytes of records; 0 likewise

	// Window keeps in memory what was recorded last, for as long, in at most so many
	// Bytes (0: 256 MiB), and makes a part of that where a part would end; what has
	// become older is given up. 0 makes parts of everything.
	Window time.Duration
	Bytes  int64

	// Triggers are the ids of counters of which each sample ends a part.
	Triggers []uint64

	// Open begins a part.
	Open func() (Part, error)

	// Failed, unless nil, is told why a part could not be begun or written to its end, once for
	// each, and may be called by two goroutines at a time. Where it returns nil the recording
	// goes on: what comes is lost until another part can be begun, which is tried when that is
	// asked for, and after Every, 10 s at most. What it returns otherwise ends the recording, as
	// the error itself does without it.
	Failed func(error) error

	// Turn, unless nil, is called now and then with records of the names and maps that there
	// are by now: what was reported before the last call, and is not among them, no part needs
	// any more that is not finished.
	Turn func(running []byte)
}

// AllTime is a Window that Bytes alone bound.
const AllTime = time.Duration(math.MaxInt64)

const (
	defaultBytes = 256 << 20
	maxFinishing = 4                // parts, beyond which the rings have to wait
	retryAfter   = 10 * time.Second // that no part could be begun
)

// Divider is a record.Sink that divides what it takes into parts. Its methods are for one
// goroutine, but Switch.
type Divider struct {
	o        Options
	triggers map[uint64]bool
	state    *State
	asked    atomic.Bool // by Switch

	part    *open     // nil in between, and with a window
	gap     time.Time // since when there is no part, as one has failed; zero where there is
	ending  *open     // has the names of one more round to come, see endPart
	first   bool      // part is the first one
	round   round     // that is being taken
	ended   time.Time // the round before
	window  []round
	bytes   int64     // in window
	full    bool      // something was given up for Bytes
	begun   int       // parts since Turn was called last, without a window
	turned  time.Time // when it was, with one
	free    []round   // whose buffers are to be filled again
	dumping bool      // the window is to be written after this round
	whole   []byte    // a record put together
	trigger bool      // was sampled in this round

	jobs   chan job
	busy   atomic.Int32 // jobs that are not done
	done   sync.WaitGroup
	mu     sync.Mutex
	failed error // of a job: nothing is taken any more
}

// open is a part that is being written.
type open struct {
	Part
	begun   time.Time
	samples uint64
	bytes   int64
}

// round is what one round brought.
type round struct {
	from, at time.Time // its beginning and end
	records  []byte
	samples  uint64
	sideband []byte // of it, in streams
}

// job is what is left to do for a part when it has ended.
type job struct {
	part    Part // nil of a window: it is to be opened
	told    bool // it has failed, and that has been told
	state   []byte
	records []round
	about   About
}

// NewDivider returns a Divider of a session with this side-band. It is to be closed.
func NewDivider(sideband *abi.Event, o Options) *Divider {
	d := &Divider{first: true, o: o, triggers: map[uint64]bool{}, state: NewState(sideband), jobs: make(chan job, maxFinishing), ended: time.Now()}
	for _, id := range o.Triggers {
		d.triggers[id] = true
	}
	if d.o.Bytes <= 0 {
		d.o.Bytes = defaultBytes
	}
	d.done.Go(d.finish)
	return d
}

// Switch ends the part at the end of this round. It may be called by any goroutine.
func (d *Divider) Switch() { d.asked.Store(true) }

// Begin begins the first part, where there is no window.
func (d *Divider) Begin() error {
	if d.o.Window > 0 || d.part != nil || !d.gap.IsZero() {
		return nil
	}
	p, err := d.o.Open()
	if err != nil {
		return err
	}
	d.part = &open{Part: p, begun: time.Now()}
	return nil
}

// tell says why a part has failed, and returns the error with which the recording is to end.
func (d *Divider) tell(err error) error {
	if err == nil || d.o.Failed == nil {
		return err
	}
	return d.o.Failed(err)
}

// giveUp ends the part, which has failed, unless that is to end the recording.
func (d *Divider) giveUp(err error) error {
	if err == nil {
		return nil
	}
	if err := d.tell(err); err != nil {
		return err
	}
	p := d.part
	d.part, d.gap = nil, time.Now()
	d.hand(job{part: p.Part, told: true, about: d.about(p.samples, time.Since(p.begun), false)})
	return nil
}

// again reports whether another part is to be tried where the last one has failed.
func (d *Divider) again(now time.Time, asked bool) bool {
	after := retryAfter
	if d.o.Every > 0 {
		after = min(after, d.o.Every)
	}
	return !d.gap.IsZero() && (asked || now.Sub(d.gap) >= after)
}

// Write takes whole records of one ring, in their order; b continues a.
func (d *Divider) Write(a, b []byte) error {
	if err := d.failure(); err != nil {
		return err
	}
	if d.o.Window > 0 {
		d.round.records = append(append(d.round.records, a...), b...)
		d.scan(a, b)
		return nil
	}
	d.scan(a, b)
	if err := d.Begin(); err != nil || d.part == nil {
		return err
	}
	d.part.bytes += int64(len(a) + len(b))
	return d.giveUp(d.part.Write(a, b))
}

// scan looks at records as they come.
func (d *Divider) scan(a, b []byte) {
	a = each(a, d.look)
	if len(a) > 0 {
		d.whole = append(d.whole[:0], a...)
		d.whole = append(d.whole, b[:min(len(b), max(0, abi.HeaderSize-len(a)))]...)
		if size := recordSize(d.whole); size >= len(d.whole) && size-len(a) <= len(b) {
			d.whole = append(d.whole[:len(a)], b[:size-len(a)]...)
			b = b[size-len(a):]
		}
		each(d.whole, d.look)
	}
	each(b, d.look)
}

func (d *Divider) look(t abi.RecordType, rec []byte) {
	switch {
	case t == abi.RecordSample:
		d.round.samples++
		if len(d.triggers) > 0 && len(rec) >= 16 && d.triggers[abi.LittleEndian.Uint64(rec[8:])] { // IDENTIFIER
			d.trigger = true
		}
	case Kept(t):
		d.round.sideband = append(d.round.sideband, rec...)
	}
}

// each calls f for the whole records of b, and returns the rest.
func each(b []byte, f func(abi.RecordType, []byte)) (rest []byte) {
	for len(b) >= abi.HeaderSize {
		size := recordSize(b)
		if size < abi.HeaderSize || size > len(b) {
			return b
		}
		f(abi.RecordType(abi.LittleEndian.Uint32(b)), b[:size])
		b = b[size:]
	}
	return b
}

// recordSize is the size that a record says it has, 0 without a header.
func recordSize(b []byte) int {
	if len(b) < abi.HeaderSize {
		return 0
	}
	return int(abi.LittleEndian.Uint16(b[6:]))
}

// FinishRound says that every ring has been drained once since the last call.
func (d *Divider) FinishRound() error {
	if err := d.failure(); err != nil {
		return err
	}
	now := time.Now()
	if err := d.endPart(); err != nil {
		return err
	}
	asked := d.asked.Swap(false) || d.trigger
	d.trigger = false
	if d.o.Window > 0 {
		return d.finishWindow(now, asked)
	}
	d.fold(d.round.sideband)
	if d.part != nil {
		d.part.samples += d.round.samples
		if err := d.giveUp(d.part.FinishRound()); err != nil {
			return err
		}
	}
	d.round = round{sideband: d.round.sideband[:0]}
	p := d.part
	if p == nil && d.again(now, asked) {
		return d.next(now)
	}
	if p == nil || !asked && (d.o.Every <= 0 || now.Sub(p.begun) < d.every()) && (d.o.Size <= 0 || p.bytes < d.o.Size) {
		return nil
	}
	return d.next(now)
}

// every is how long the part takes.
func (d *Divider) every() time.Duration {
	if d.first && d.o.First > 0 {
		return d.o.First
	}
	return d.o.Every
}

// fold takes a round's side-band into the state.
func (d *Divider) fold(sideband []byte) {
	each(sideband, func(_ abi.RecordType, rec []byte) { d.state.Take(rec) })
	d.state.FinishRound()
}

// next begins a new part, and has the one so far end a round later: names and maps that
// other CPUs were slower to write belong to its samples.
func (d *Divider) next(now time.Time) error {
	d.ending, d.part, d.first, d.gap = d.part, nil, false, time.Time{}
	if err := d.Begin(); err != nil {
		d.gap = now
		return d.tell(err)
	}
	d.part.begun = now
	state := d.state.AppendTo(nil)
	// Of the parts since the last call, the one that ends here and those before it may not be finished.
	if d.begun++; d.o.Turn != nil && d.begun > int(d.busy.Load()) {
		d.begun = 0
		d.o.Turn(state)
	}
	if len(state) > 0 {
		err := d.part.Write(state, nil)
		if err == nil {
			err = d.part.FinishRound()
		}
		return d.giveUp(err)
	}
	return nil
}

// endPart ends the part that a round ago was to end.
func (d *Divider) endPart() error {
	p := d.ending
	if p == nil {
		return nil
	}
	d.ending = nil
	told := false
	if len(d.round.sideband) > 0 {
		err := p.Write(d.round.sideband, nil)
		if err == nil {
			err = p.FinishRound()
		}
		if told = err != nil; told {
			if err := d.tell(err); err != nil {
				return err
			}
		}
	}
	d.hand(job{part: p.Part, told: told, about: d.about(p.samples, time.Since(p.begun), false)})
	return nil
}

func (d *Divider) hand(j job) {
	d.busy.Add(1)
	d.jobs <- j
}

func (d *Divider) about(samples uint64, t time.Duration, last bool) About {
	return About{Samples: samples, Time: t, Last: last, LeftOut: d.state.LeftOut()}
}

// finish does what takes time: it is a goroutine of its own.
func (d *Divider) finish() {
	for j := range d.jobs {
		err := j.run(d.o.Open)
		if j.told {
			err = nil
		}
		if err := d.tell(err); err != nil {
			d.mu.Lock()
			d.failed = errors.Join(d.failed, err)
			d.mu.Unlock()
		}
		d.busy.Add(-1)
	}
}

func (j *job) run(begin func() (Part, error)) (err error) {
	p := j.part
	if p == nil {
		if p, err = begin(); err != nil {
			return err
		}
		if err = p.Write(j.state, nil); err == nil {
			err = p.FinishRound()
		}
		for _, r := range j.records {
			if err == nil {
				if err = p.Write(r.records, nil); err == nil {
					err = p.FinishRound()
				}
			}
		}
	}
	return errors.Join(err, p.Finish(j.about))
}

func (d *Divider) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// Close ends the last part, and waits until all are finished. What is in the window is
// made a part of, if there is a sample in it.
func (d *Divider) Close() error {
	err := d.endPart()
	switch {
	case d.o.Window > 0:
		err = errors.Join(err, d.closeWindow())
	case d.part != nil:
		d.hand(job{part: d.part.Part, about: d.about(d.part.samples+d.round.samples, time.Since(d.part.begun), true)})
		d.part = nil
	}
	close(d.jobs)
	d.done.Wait()
	return errors.Join(err, d.failure())
}
