package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"kprof/convert/stacks"
)

// pushProcedure is the call that takes profiles (push/v1/push.proto).
const pushProcedure = "push.v1.PusherService/Push"

// SenderOptions say how a Sender sends.
type SenderOptions struct {
	Pieces PieceOptions
	// Spool keeps what could not be sent yet; nil for memory, which ends with the process.
	Spool *Spool
	// MaxMemory bounds what is kept without a Spool, in bytes: the oldest are lost, and
	// counted as evicted. 0 is no bound.
	MaxMemory int
	// MaxAge is how old a profile may be that is sent. Default: that of the Spool, or 1 h.
	MaxAge time.Duration
	// TryFor is how long one Drain goes on while the store does not take anything.
	// Default: 2 min.
	TryFor time.Duration
	// MaxWait is the ceiling of the waits between two tries, which are random: from
	// nothing to twice as long each time as the time before. Default: 30 s.
	MaxWait time.Duration
	// Retrying is called before each wait.
	Retrying func(err error, wait time.Duration)
}

// Counts are what became of pieces.
type Counts struct {
	Sent    uint64 // pieces that the store has taken
	Samples int64  // in these
	Bytes   int64  // that these requests had
	Lost    Losses
	// Behind is how many pieces were put behind the others, since the store failed at each
	// of them again and again, and took others. They are still waiting, unless they were
	// sent or lost since.
	Behind uint64
	// LastFailure is what the store answered to the last of these.
	LastFailure error
	// LastRejection is why the store refused the last of Lost[Rejected], or a part of it.
	LastRejection error
	// LastRemark is what the store had to say of the last that it took with a remark.
	LastRemark error
}

// Sender sends profiles to a store. It is for one goroutine.
type Sender struct {
	client *Client
	o      SenderOptions
	memory []*request
	held   int      // bytes in memory
	queue  []string // of the spool, oldest first
	behind []*later // oldest first

	failing  *request // that was tried last, also by a Drain that ended
	failures int      // of the store, at this one
	counts   Counts
	free     time.Time // when the rate allows the next request
	now      func() time.Time
	sleep    func(context.Context, time.Duration) error
}

// request is a piece on its way.
type request struct {
	protocol Protocol
	time     time.Time
	size     int // of the profile, when it is not compressed
	samples  int64
	message  []byte
	name     string // in the spool
}

// NewSender returns a Sender to the client's store.
func NewSender(c *Client, o SenderOptions) *Sender {
	o.Pieces.Limits = o.Pieces.Limits.withDefaults()
	if c != nil {
		o.Pieces.Protocol = c.o.Protocol
	}
	if o.MaxAge == 0 {
		o.MaxAge = time.Hour
		if o.Spool != nil {
			o.MaxAge = o.Spool.o.MaxAge
		}
	}
	if o.TryFor == 0 {
		o.TryFor = 2 * time.Minute
	}
	if o.MaxWait == 0 {
		o.MaxWait = 30 * time.Second
	}
	return &Sender{client: c, o: o, now: time.Now, sleep: sleep}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TooOldError says that a profile is older than a store takes.
type TooOldError struct{ Age, Max time.Duration }

func (e *TooOldError) Error() string {
	return fmt.Sprintf("it was recorded %v ago, and the store takes nothing older than %v", e.Age.Round(time.Second), e.Max)
}

// Enqueue takes a profile to be sent by the next Drain: with a Spool it is on the disk when
// Enqueue returns. The error may be a *TooLargeError, all else of the profile being taken,
// or a *TooOldError.
func (s *Sender) Enqueue(set *stacks.Set, labels ...Label) error {
	if set.TimeNanos != 0 {
		if age := s.now().Sub(time.Unix(0, set.TimeNanos)); age > s.o.MaxAge {
			return &TooOldError{age, s.o.MaxAge}
		}
	}
	o := s.o.Pieces
	o.Labels = slices.Concat(o.Labels, labels)
	return Pieces(set, o, func(p Piece) error {
		r := &request{protocol: o.Protocol, time: p.Time, size: p.Size, samples: p.Samples, message: p.Profile}
		if o.Protocol != OTLP {
			r.message = pushRequest(p.Labels, p.Profile, p.ID)
		}
		if s.o.Spool != nil {
			return s.o.Spool.add(r)
		}
		s.memory = append(s.memory, r)
		s.held += len(r.message)
		for s.o.MaxMemory > 0 && s.held > s.o.MaxMemory && len(s.memory) > 0 {
			if err := s.lose(s.memory[0], Evicted); err != nil {
				return err
			}
		}
		return nil
	})
}

// Counts are of what Drain has done so far, and of losses of the spool since it was made.
func (s *Sender) Counts() Counts {
	c := s.counts
	if s.o.Spool != nil {
		c.Lost = s.o.Spool.Losses()
	}
	return c
}

// Waiting is how many pieces are still to be sent.
func (s *Sender) Waiting() (int, error) {
	if s.o.Spool != nil {
		return s.o.Spool.Len()
	}
	return len(s.memory), nil
}

// ProtocolError says that the oldest profile of a Spool is for a store with another protocol.
type ProtocolError struct{ Protocol Protocol }

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("the spool has profiles for a store that speaks %v", e.Protocol)
}

// Drain sends what is waiting, oldest first, until nothing is, the context ends, or the
// store has taken nothing for SenderOptions.TryFor; a request that is under way then goes on
// for some seconds. What the store refuses for good is lost, counted, and does not hold up the
// rest. Nor does one at which it fails again and again (a server error): that one waits behind
// the others, and is counted, if the store takes any of these. What it did not take is
// still waiting, and the error says why. Where another process is sending from the Spool, it
// returns ErrSending.
func (s *Sender) Drain(ctx context.Context) error {
	if s.o.Spool != nil {
		unlock, err := s.o.Spool.lock(sendLock, false)
		if err != nil {
			return err
		}
		defer unlock()
	}
	defer s.forgive()
	try := s.newTry()
	for {
		r, err := s.next()
		if r == nil || err != nil {
			return err
		}
		if s.now().Sub(r.time) > s.o.MaxAge {
			if err := s.lose(r, Expired); err != nil {
				return err
			}
			continue
		}
		if r.protocol != s.o.Pieces.Protocol {
			return &ProtocolError{r.protocol}
		}
		err = s.push(ctx, r, try)
		var answer *Error
		var partial *PartialError
		var failing *failingError
		if errors.As(err, &partial) && partial.Rejected == 0 {
			s.counts.LastRemark, err = err, nil
		}
		switch {
		case err == nil:
			s.counts.Sent++
			s.counts.Samples += r.samples
			s.counts.Bytes += int64(len(r.message))
			s.blame()
			try = s.newTry()
			if err := s.done(r); err != nil {
				return err
			}
		case errors.As(err, &failing):
			s.putBehind(r, failing.err)
		case partial != nil, errors.As(err, &answer) && refused(answer):
			s.counts.LastRejection = err
			try = s.newTry()
			if err := s.lose(r, Rejected); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// refused reports whether it is the profile that a store does not take. Where it is we who
// may not send, or the wrong store, the profile is kept.
func refused(e *Error) bool {
	switch {
	case e.Temporary():
		return false
	case e.Code != "":
		return slices.Contains([]string{"invalid_argument", "out_of_range", "failed_precondition", "already_exists", "data_loss"}, e.Code)
	}
	return e.Status == 400 || e.Status == 413 || e.Status == 422
}

// next returns the oldest request, or if only those are left that wait behind, the first of
// these; nil for none.
func (s *Sender) next() (*request, error) {
	if s.o.Spool == nil {
		for _, r := range s.memory {
			if s.indexBehind(r) < 0 {
				return r, nil
			}
		}
		if len(s.behind) > 0 {
			return s.behind[0].request, nil
		}
		return nil, nil
	}
	for looked := false; ; {
		var name string
		switch {
		case len(s.queue) > 0:
			name = s.queue[0]
		case !looked:
			looked = true
			names, err := s.o.Spool.names()
			if err != nil {
				return nil, err
			}
			s.queue = slices.DeleteFunc(names, func(name string) bool { return s.indexBehind(&request{name: name}) >= 0 })
			continue
		case len(s.behind) > 0:
			name = s.behind[0].request.name
		default:
			return nil, nil
		}
		r, err := s.o.Spool.read(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // evicted, or another process sent it
		case errors.Is(err, errDamaged):
			if err := s.o.Spool.drop(name, Unreadable); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		default:
			r.name = name
			return r, nil
		}
		s.forget(&request{name: name})
	}
}

// forget removes a request from those that are to be sent.
func (s *Sender) forget(r *request) {
	if i := s.indexBehind(r); i >= 0 {
		s.behind = slices.Delete(s.behind, i, i+1)
	} else if s.o.Spool != nil {
		s.queue = s.queue[1:]
	}
	if i := slices.Index(s.memory, r); i >= 0 {
		s.memory = slices.Delete(s.memory, i, i+1)
		s.held -= len(r.message)
	}
}

// done forgets a request.
func (s *Sender) done(r *request) error {
	s.forget(r)
	if s.o.Spool != nil {
		return s.o.Spool.remove(r.name)
	}
	return nil
}

func (s *Sender) lose(r *request, why Reason) error {
	s.forget(r)
	if s.o.Spool != nil {
		return s.o.Spool.drop(r.name, why)
	}
	s.counts.Lost[why]++
	return nil
}

// try is how long the store has taken nothing, over all requests.
type try struct {
	since time.Time
	wait  *waits
}

func (s *Sender) newTry() *try {
	b := &backoff.ExponentialBackOff{
		// Full jitter: from nothing to twice the interval.
		InitialInterval: min(250*time.Millisecond, s.o.MaxWait/2, s.o.TryFor/16), RandomizationFactor: 1,
		Multiplier: 2, MaxInterval: s.o.MaxWait / 2,
	}
	b.Reset()
	return &try{s.now(), &waits{BackOff: b}}
}

// left is how long it may still take nothing, more than 0.
func (s *Sender) left(t *try) time.Duration {
	return max(time.Nanosecond, s.o.TryFor-s.now().Sub(t.since))
}

// push sends a request, again and again while the error may pass, or until it is a
// *failingError.
func (s *Sender) push(ctx context.Context, r *request, try *try) error {
	if ctx.Err() != nil { // which backoff.Retry does not ask for before the first time
		return context.Cause(ctx)
	}
	if wait := s.free.Sub(s.now()); wait > 0 {
		if err := s.sleep(ctx, wait); err != nil {
			return err
		}
		try.since = try.since.Add(wait)
	}
	if s.failing == nil || !s.same(s.failing, r) {
		s.failing, s.failures = &request{name: r.name}, 0
		if s.o.Spool == nil {
			s.failing = r
		}
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		request, end := withGrace(ctx)
		defer end()
		err := s.client.push(request, r.message)
		switch {
		case err != nil && ctx.Err() != nil:
			err = backoff.Permanent(context.Cause(ctx))
		case failedForGood(err) && s.indexBehind(r) < 0 && s.others(r):
			err = backoff.Permanent(&failingError{err})
		case err != nil && !temporary(err):
			err = backoff.Permanent(err)
		case err != nil && mayBeTheRequest(err):
			if s.failures++; s.failures >= triesOfOne && s.others(r) {
				err = backoff.Permanent(&failingError{err})
			}
		}
		try.wait.least = 0
		if answer := (*Error)(nil); errors.As(err, &answer) {
			try.wait.least = min(answer.RetryAfter, s.o.MaxWait)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(try.wait), backoff.WithMaxElapsedTime(s.left(try)), backoff.WithNotify(func(err error, d time.Duration) {
		if s.o.Retrying != nil {
			s.o.Retrying(err, d)
		}
	}))
	s.free = s.now().Add(time.Duration(float64(r.size) / float64(s.o.Pieces.Limits.BytesPerSecond) * float64(time.Second)))
	return err
}

// grace is how long a request goes on that is under way when the context ends: what is
// broken off may have been taken, and is sent again.
const grace = 5 * time.Second

// withGrace returns a context that ends a while after another one.
func withGrace(ctx context.Context) (_ context.Context, end func()) {
	request, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(request, func() { timer.Stop() })
	})
	return request, func() {
		stop()
		cancel()
	}
}

// waits are those of a BackOff, and at least as long as the store asks for. They do not begin
// anew with each request.
type waits struct {
	backoff.BackOff
	least time.Duration
}

// Reset implements backoff.BackOff.
func (w *waits) Reset() {}

// NextBackOff implements backoff.BackOff.
func (w *waits) NextBackOff() time.Duration {
	next := w.BackOff.NextBackOff()
	if next == backoff.Stop {
		return next
	}
	return max(next, w.least)
}
