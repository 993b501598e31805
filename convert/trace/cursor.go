package trace

import (
	"errors"
	"io"
	"slices"

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

	recent      [64]*kind // that were looked up, by the low bits of their ids
	stacks      stackKind // the highest that was seen
	next        rawEvent  // read ahead, to see whether it is a stack
	nextOK      bool
	apart       rawEvent // a stack that was found further ahead
	taken       []int    // those that were and are still ahead, by what was left of the page behind each
	damaged     uint64
	failed      error
	nextLost    int64
	nextAtLeast bool // nextLost is the least that it may be

	// The event at hand.
	kind     *kind
	time     uint64
	tid      int32
	pid      int32 // -1 where it is not known
	lost     int64 // events that were lost before it
	atLeast  bool  // lost is the least that it may be
	raw      []byte
	kernel   []uint64 // callers, leaf first
	user     []uint64
	hasChain bool
}

// rawEvent is an event as it lies in its page.
type rawEvent struct {
	id    uint64
	kind  *kind // nil where its id is not known yet
	time  uint64
	tid   int32
	flags byte // common_flags, as far as they are where they always have been
	data  []byte
}

func (e *rawEvent) level() int { return format.InterruptLevel(uint64(e.flags)) }

// owner is what the stacks of an event are known by.
type owner struct {
	tid   int32
	level int
	had   stackKind // the last of them
}

// ownerOf returns what the stacks of an event are known by; of a stack, whose event is not here,
// that there are none.
func ownerOf(e *rawEvent) owner {
	o := owner{e.tid, e.level(), noStack}
	if e.kind != nil && e.kind.stack != noStack {
		o.had = userStack
	}
	return o
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
			k := c.known(id)
			if k != nil && k.stack != noStack {
				if i := slices.Index(c.taken, c.page.Left()); i >= 0 {
					c.taken = slices.Delete(c.taken, i, i+1)
					continue
				}
				c.stacks = max(c.stacks, k.stack)
			}
			e := &c.next
			e.id, e.kind, e.time, e.tid, e.flags, e.data = id, k, t, pid, c.r.flags(data), data
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
		c.taken = c.taken[:0]
		c.page.Load(&c.ring.Layout, page) // what is wrong with it, Err says at its end
		switch {
		case c.page.Lost == ringpage.LostUnknown:
			c.nextLost++
			c.nextAtLeast = true
		default:
			c.nextLost += c.page.Lost
		}
	}
}

// known returns the kind of an id, nil for none yet.
func (c *cursor) known(id uint64) *kind {
	k := c.recent[id%uint64(len(c.recent))]
	if k == nil || k.id != id {
		k = c.r.kinds[id] // those without a format were made by the survey
		c.recent[id%uint64(len(c.recent))] = k
	}
	return k
}

// flags are the common_flags of an event, 0 where they are not where they always have been.
func (r *recording) flags(data []byte) byte {
	if !r.usual {
		return 0
	}
	return data[2]
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
	c.atLeast, c.nextAtLeast = c.nextAtLeast, false
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
	o := ownerOf(e)
	c.readNext()
	for s := c.stackOf(&o); s != nil; s = c.stackOf(&o) {
		if s.kind.stack == kernelStack && function > 0 {
			c.kernel = c.kernel[function:] // the stack has them too
		}
		c.takeStack(s)
		if s == &c.next {
			c.readNext()
		}
	}
	if c.ring.Move != nil {
		c.move()
	}
	return true
}

// move moves the addresses of code in the event at hand: its stack, and what functions the tracers' events tell.
func (c *cursor) move() {
	for i, addr := range c.kernel {
		c.kernel[i] = c.ring.Move(addr)
	}
	if c.kind == nil {
		return
	}
	for _, f := range []*format.Field{c.kind.function, c.kind.parent, c.kind.graph.fn} {
		if addr, ok := address(f, c.raw); ok && f.Size == 8 {
			c.r.order.PutUint64(c.raw[f.Offset:], c.ring.Move(addr))
		}
	}
}

// stackOf returns the next stack of an event, nil for none: the event ahead, which readNext
// passes, or one further ahead, see separated.
func (c *cursor) stackOf(o *owner) *rawEvent {
	if !c.nextOK || c.nextLost > 0 || c.next.tid != o.tid {
		return nil
	}
	s := &c.next
	if s.kind == nil || s.kind.stack <= o.had || s.level() != o.level {
		if o.had >= c.stacks || s.level() <= o.level || !c.separated(o) {
			return nil
		}
		s = &c.apart
	}
	o.had = s.kind.stack
	return s
}

// maxApart is how many events may be between an event and its stack.
const maxApart = 32

// separated looks for the stack of an event behind those of an interrupt, which came before the
// stack was written, in apart. It looks no further than the page.
//
//	event   event   stack   stack
//	task    irq     irq     task
//	  └───────────────────────┘
func (c *cursor) separated(o *owner) bool {
	page := c.page // which stays where it is
	for range maxApart {
		data, ok := page.Next()
		if !ok {
			return false
		}
		id, tid, ok := c.r.common(data)
		if !ok || slices.Contains(c.taken, page.Left()) {
			continue
		}
		e := rawEvent{id: id, kind: c.known(id), tid: tid, flags: c.r.flags(data), data: data}
		switch level := e.level(); {
		case tid != o.tid || level < o.level:
			return false
		case level > o.level:
		case e.kind == nil || e.kind.stack <= o.had:
			return false
		default:
			c.apart, c.taken = e, append(c.taken, page.Left())
			return true
		}
	}
	return false
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
	if k.stack == kernelStack {
		*to = slices.DeleteFunc(*to, func(addr uint64) bool { return addr == trampoline })
	}
}

// trampoline is in a stack of the kernel in place of addresses in what the tracer made to be called
// by functions (FTRACE_TRAMPOLINE_MARKER, since Linux 6.13).
const trampoline = 1<<31 - 1

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
