package live

import (
	"errors"

	"kprof/convert/listing"
	"kprof/record"
)

// aside is a record.Sink that passes what the rings hold on to another one, in a goroutine of its own:
// where that is slower than records come, the rings fill, and the kernel says what it lost.
type aside struct {
	to   record.Sink
	stop func()

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

// At most numChunks of maxChunk bytes, and what one more round adds, wait to be passed on.
const (
	numChunks = 3
	maxChunk  = 4 << 20
)

// newAside returns an aside that begins at once. When to returns an error, listing.ErrStop among them,
// it gets nothing more, and stop is called, which is to end the session.
func newAside(to record.Sink, stop func()) *aside {
	a := &aside{
		to: to, stop: stop,
		chunk: &chunk{}, full: make(chan *chunk, numChunks), free: make(chan *chunk, numChunks), done: make(chan struct{}),
	}
	for range numChunks - 1 {
		a.free <- &chunk{}
	}
	go a.run()
	return a
}

// run passes on what is full.
func (a *aside) run() {
	defer close(a.done)
	for c := range a.full {
		if a.err = a.pass(c); a.err != nil {
			a.stop()
			return
		}
		c.b, c.rounds = c.b[:0], c.rounds[:0]
		a.free <- c
	}
}

// pass passes on the records of a chunk.
func (a *aside) pass(c *chunk) error {
	from := 0
	for _, end := range c.rounds {
		if err := a.to.Write(c.b[from:end], nil); err != nil {
			return err
		}
		if err := a.to.FinishRound(); err != nil {
			return err
		}
		from = end
	}
	return a.to.Write(c.b[from:], nil)
}

// Write takes whole records of one ring, in their order; b continues a.
func (a *aside) Write(x, y []byte) error {
	a.chunk.b = append(append(a.chunk.b, x...), y...)
	return nil
}

// FinishRound says that every ring has been drained once since the last call. It waits
// while too much waits to be passed on.
func (a *aside) FinishRound() error {
	c := a.chunk
	c.rounds = append(c.rounds, len(c.b))
	var next *chunk
	select {
	case <-a.done:
		return a.failed(c)
	case next = <-a.free:
	default:
		if len(c.b) < maxChunk {
			return nil // it goes on being filled
		}
		select {
		case <-a.done:
			return a.failed(c)
		case next = <-a.free:
		}
	}
	a.full <- c
	a.chunk = next
	return nil
}

// failed is the error that the goroutine ended with. What comes is not looked at any more.
func (a *aside) failed(c *chunk) error {
	c.b, c.rounds = c.b[:0], c.rounds[:0]
	if errors.Is(a.err, listing.ErrStop) {
		return nil
	}
	return a.err
}

// end passes on what is held back, and returns the error that the goroutine ended with.
func (a *aside) end() error {
	select {
	case a.full <- a.chunk:
	case <-a.done:
	}
	close(a.full)
	<-a.done
	return a.err
}
