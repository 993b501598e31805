package trace

import (
	"errors"
	"io"

	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/ringpage"
)

// cursor walks the events of a ring, each with the stacks behind it.
type cursor struct {
	r     *recording
	ring  *ring
	pages Pages
	page  ringpage.Page

	recent   [64]*kind // that were looked up, by the low bits of their ids
	next     rawEvent  // read ahead, to see whether it is a stack
	nextOK   bool
	damaged  uint64
	failed   error
	nextLost int64

	// The event at hand.
	kind     *kind
	time     uint64
	tid      int32
	pid      int32 // -1 where it is not known
	lost     int64 // events that were lost before it
	raw      []byte
	kernel   []uint64 // callers, leaf first
	user     []uint64
	hasChain bool
}

// rawEvent is an event as it lies in its page.
type rawEvent struct {
	id   uint64
	kind *kind // nil where its id is not known yet
	time uint64
	tid  int32
	data []byte
}

// open makes the cursor ready for its first event.
func (c *cursor) open(readahead int) {
	c.pages = c.ring.Open(readahead)
	c.readNext()
}

// readNext reads ahead.
func (c *cursor) readNext() {
	for {
		data, ok := c.page.Next()
		if ok {
			id, pid, ok := c.r.common(data)
			if !ok {
				continue // not even the fields that all have
			}
			t := c.page.Time
			if c.ring.Time != nil {
				t = c.ring.Time(t)
			}
			k := c.recent[id%uint64(len(c.recent))]
			if k == nil || k.id != id {
				k = c.r.kinds[id] // those without a format were made by the survey
				c.recent[id%uint64(len(c.recent))] = k
			}
			e := &c.next
			e.id, e.kind, e.time, e.tid, e.data = id, k, t, pid, data
			c.nextOK = true
			return
		}
		if c.page.Err() != nil {
			c.damaged++
		}
		page, err := c.pages.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				c.failed = err
			}
			c.nextOK = false
			return
		}
		c.page.Load(&c.ring.Layout, page) // what is wrong with it, Err says at its end
		switch {
		case c.page.Lost == ringpage.LostUnknown:
			c.nextLost++
		default:
			c.nextLost += c.page.Lost
		}
	}
}

// common reads the fields that all events have; false where they are not there.
func (r *recording) common(data []byte) (id uint64, pid int32, ok bool) {
	if r.usual && len(data) >= 8 {
		return uint64(r.order.Uint16(data)), int32(r.order.Uint32(data[4:])), true
	}
	id, ok = r.typ.Uint(data)
	p, ok2 := r.pid.Uint(data)
	return id, int32(p), ok && ok2
}

// advance makes the next event the one at hand; false at the end.
func (c *cursor) advance() bool {
	if !c.nextOK {
		return false
	}
	e := &c.next
	c.kind, c.time, c.tid, c.pid = e.kind, e.time, e.tid, -1
	c.raw = append(c.raw[:0], e.data...)
	c.kernel, c.user, c.hasChain = c.kernel[:0], c.user[:0], false
	c.lost, c.nextLost = c.nextLost, 0
	switch {
	case e.kind == nil:
	case e.kind.stack != noStack: // of an event that is not here
		c.takeStack(e)
	case e.kind.function != nil:
		for _, f := range []*format.Field{e.kind.function, e.kind.parent} {
			if addr, ok := address(f, e.data); ok {
				c.kernel = append(c.kernel, addr)
			}
		}
	}
	function := len(c.kernel)
	c.readNext()
	for had := noStack; c.nextOK && c.next.kind != nil && c.next.kind.stack > had && c.next.tid == c.tid && c.nextLost == 0; {
		if c.kind != nil && c.kind.stack != noStack {
			break
		}
		if had = c.next.kind.stack; had == kernelStack && function > 0 {
			c.kernel = c.kernel[function:] // the stack has them too
		}
		c.takeStack(&c.next)
		c.readNext()
	}
	return true
}

func address(f *format.Field, raw []byte) (uint64, bool) {
	if f == nil {
		return 0, false
	}
	return f.Uint(raw)
}

// takeStack takes a stack for the event at hand.
func (c *cursor) takeStack(e *rawEvent) {
	k := e.kind
	c.hasChain = true
	long := k.callers.Elem
	off := k.callers.Offset
	most := (len(e.data) - off) / long
	if k.stack == kernelStack {
		if n, ok := address(k.size, e.data); ok && n < uint64(max(most, 0)) {
			most = int(n)
		}
	} else if n, ok := address(k.tgid, e.data); ok {
		c.pid = int32(n)
	}
	if most <= 0 {
		return
	}
	to := &c.user
	if k.stack == kernelStack {
		to = &c.kernel
	}
	*to = appendAddresses(*to, e.data[off:off+most*long], c.r.order, long)
}

// appendAddresses appends addresses of 4 or 8 bytes, up to the one that ends a stack.
func appendAddresses(to []uint64, b []byte, order abi.Order, long int) []uint64 {
	if long == 8 {
		for ; len(b) >= 8; b = b[8:] {
			addr := order.Uint64(b)
			if addr == 0 || addr >= abi.ContextMax {
				break
			}
			to = append(to, addr)
		}
		return to
	}
	for ; len(b) >= 4; b = b[4:] {
		addr := order.Uint32(b)
		if addr == 0 || addr == 1<<32-1 {
			break
		}
		to = append(to, uint64(addr))
	}
	return to
}
