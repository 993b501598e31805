package live

import (
	"errors"

	"kprof/convert/listing"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/record/symbols"
	"kprof/symbolize"
)

// Listing is the record.Sink of a session whose events are listed while it runs, in the
// order of time, each about a tenth of a second after it happened. It takes what the rings
// hold and lists it in a goroutine of its own: where that is slower than the events come,
// the rings fill, and the kernel says what it lost, in its place.
type Listing struct {
	stream *listing.Stream
	stop   func()

	chunk *chunk // is being filled
	full  chan *chunk
	free  chan *chunk
	done  chan struct{} // closed when the goroutine has ended
	err   error         // that it ended with
}

// chunk is records of some rounds.
type chunk struct {
	b      []byte
	rounds []int // ends of rounds in b
}

// At most numChunks of maxChunk bytes, and what one more round adds, wait to be listed.
const (
	numChunks = 3
	maxChunk  = 4 << 20
)

// NewListing returns a Listing of a session with these events, described by a header such
// as a file would have: its tracing data must be there. The kernel's symbols name code; nil
// leaves it without names. stop is called when the consumer has seen enough, and is to end
// the session. An event that is asked for and not there, or a mistake in the condition, is
// an error.
func NewListing(events []abi.Event, header *perfdata.Features, kernel *symbols.Kernel, o listing.Options, to listing.Consumer, stop func()) (*Listing, error) {
	so := o.Symbols
	if kernel != nil {
		so.RunningKallsyms = kernel.Running()
	}
	l := &Listing{
		stop: stop, stream: listing.NewStream(events, header, symbolize.New(so), o, to),
		chunk: &chunk{}, full: make(chan *chunk, numChunks), free: make(chan *chunk, numChunks), done: make(chan struct{}),
	}
	if err := l.stream.Check(); err != nil {
		return nil, errors.Join(err, l.stream.Close())
	}
	for range numChunks - 1 {
		l.free <- &chunk{}
	}
	go l.run()
	return l, nil
}

// run lists what is full.
func (l *Listing) run() {
	defer close(l.done)
	for c := range l.full {
		if l.err = l.list(c); l.err != nil {
			l.stop()
			return
		}
		c.b, c.rounds = c.b[:0], c.rounds[:0]
		l.free <- c
	}
}

// list lists the records of a chunk.
func (l *Listing) list(c *chunk) error {
	from := 0
	for _, end := range c.rounds {
		if err := l.stream.Write(c.b[from:end], nil); err != nil {
			return err
		}
		if err := l.stream.FinishRound(); err != nil {
			return err
		}
		from = end
	}
	return l.stream.Write(c.b[from:], nil)
}

// Write takes whole records of one ring, in their order; b continues a.
func (l *Listing) Write(a, b []byte) error {
	l.chunk.b = append(append(l.chunk.b, a...), b...)
	return nil
}

// FinishRound says that every ring has been drained once since the last call. It waits
// while too much waits to be listed.
func (l *Listing) FinishRound() error {
	c := l.chunk
	c.rounds = append(c.rounds, len(c.b))
	var next *chunk
	select {
	case <-l.done:
		return l.failed(c)
	case next = <-l.free:
	default:
		if len(c.b) < maxChunk {
			return nil // it goes on being filled
		}
		select {
		case <-l.done:
			return l.failed(c)
		case next = <-l.free:
		}
	}
	l.full <- c
	l.chunk = next
	return nil
}

// failed is the error that the goroutine ended with. What comes is not looked at any more.
func (l *Listing) failed(c *chunk) error {
	c.b, c.rounds = c.b[:0], c.rounds[:0]
	if errors.Is(l.err, listing.ErrStop) {
		return nil
	}
	return l.err
}

// Finish lists what is held back, and returns what was seen, as listing.Read does.
func (l *Listing) Finish() (*listing.Result, error) {
	select {
	case l.full <- l.chunk:
	case <-l.done:
	}
	close(l.full)
	<-l.done
	res, err := l.stream.Finish(l.err)
	return res, errors.Join(err, l.stream.Close())
}
