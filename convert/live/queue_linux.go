package live

import (
	"sync"

	"kprof/convert/replay"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// queue is the record.Sink of a session whose samples carry copies of stacks. It takes what
// the rings hold, and a goroutine of its own walks it, so that rings are drained however
// long that takes. What waits is bounded in bytes, in two steps:
//
//	0 ──────────────── full ───────────────── most
//	     as it comes   │    without copies    │   the rings fill, the kernel counts
//
// A sample whose copy was left out has the callers that its callchain tells.
type queue struct {
	to     *replay.Collector
	events *perfdata.EventSet
	settle func() // is called before each end of a round
	limits queueLimits

	mu      sync.Mutex
	changed *sync.Cond // pending, over or err have changed
	pending [][]byte   // whole rounds
	free    [][]byte   // to be filled
	bytes   int        // in pending and next
	over    bool
	err     error // of to: nothing is passed on any more

	next    []byte        // the round that is being filled
	dropped uint64        // copies
	done    chan struct{} // closed when the goroutine has ended; nil where it has not begun
}

// maxFree bounds the buffers that are kept to be filled again.
const maxFree = 4

// queueLimits are bounds of what waits, in bytes.
type queueLimits struct{ full, most int }

var defaultQueueLimits = queueLimits{full: 64 << 20, most: 128 << 20}

// newQueue returns a queue of records of these events.
func newQueue(to *replay.Collector, events []abi.Event, settle func(), limits queueLimits) *queue {
	q := &queue{to: to, events: perfdata.NewEventSet(abi.LittleEndian, events), settle: settle, limits: limits}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// run passes on rounds as they come, and closes done when it has ended.
func (q *queue) run(done chan<- struct{}) {
	defer close(done)
	for {
		q.mu.Lock()
		for len(q.pending) == 0 && !q.over {
			q.changed.Wait()
		}
		if len(q.pending) == 0 {
			q.mu.Unlock()
			return
		}
		round := q.pending[0]
		q.pending[0] = nil
		q.pending = q.pending[1:]
		q.mu.Unlock()

		q.settle()
		err := q.to.Write(round, nil)
		if err == nil {
			err = q.to.FinishRound()
		}
		q.mu.Lock()
		q.bytes -= len(round)
		if len(q.free) < maxFree {
			q.free = append(q.free, round[:0])
		}
		q.err = err
		q.changed.Broadcast()
		q.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Write takes whole records of one ring, in their order; b continues a.
func (q *queue) Write(a, b []byte) error {
	from := len(q.next)
	q.next = append(append(q.next, a...), b...)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bytes+len(q.next)-from > q.limits.full {
		q.dropCopies(from)
	}
	q.bytes += len(q.next) - from
	return nil
}

// dropCopies takes the copies of stacks out of the records from a place on in the round
// that is being filled.
func (q *queue) dropCopies(from int) {
	b, at, to := q.next, from, from
	for len(b)-at >= abi.HeaderSize {
		h := abi.DecodeHeader(b[at:], abi.LittleEndian)
		size := int(h.Size)
		if size < abi.HeaderSize || size > len(b)-at {
			break // who reads it says so
		}
		payload := b[at+abi.HeaderSize : at+size]
		if h.Type == abi.RecordSample {
			if e := q.events.OfSample(payload); e != nil {
				n := len(payload)
				if payload = e.Layout.DropUserStack(payload); len(payload) < n {
					q.dropped++
				}
			}
		}
		h.Size = uint16(abi.HeaderSize + len(payload))
		h.AppendTo(b[to:to], abi.LittleEndian)
		to += abi.HeaderSize
		to += copy(b[to:], payload)
		at += size
	}
	to += copy(b[to:], b[at:])
	q.next = b[:to]
}

// FinishRound says that every ring has been drained once since the last call. It waits
// while too much waits.
func (q *queue) FinishRound() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.push()
	for q.bytes > q.limits.most && q.err == nil {
		q.changed.Wait()
	}
	return q.err
}

// push has the round that was filled passed on. The first one begins the goroutine, so that
// none is left of a recording that did not begin.
func (q *queue) push() {
	if q.done == nil {
		q.done = make(chan struct{})
		go q.run(q.done)
	}
	q.pending = append(q.pending, q.next)
	q.next = nil
	if n := len(q.free); n > 0 {
		q.next, q.free = q.free[n-1], q.free[:n-1]
	}
	q.changed.Broadcast()
}

// finish waits until all is passed on, and returns how many copies were left out.
func (q *queue) finish() (dropped uint64, err error) {
	q.mu.Lock()
	if len(q.next) > 0 {
		q.push()
	}
	q.over = true
	q.changed.Broadcast()
	q.mu.Unlock()
	if q.done != nil {
		<-q.done
	}
	return q.dropped, q.err
}
