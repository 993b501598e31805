package trace

import (
	"iter"
	"strconv"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// roundRecords is how many records a round has. They are in order, so that a round is only
// to say what has been passed.
const roundRecords = 1 << 13

// readaheadBytes is what all rings together read at once.
const readaheadBytes = 16 << 20

// records walks the records: names and maps first, then events in the order of time.
func (r *recording) records() iter.Seq2[*perfdata.Record, error] {
	return func(yield func(*perfdata.Record, error) bool) {
		w := writer{r: r, yield: yield}
		if len(r.events) > 0 {
			w.state()
		}
		if w.stopped {
			return
		}
		m := r.merge()
		for n := 1; len(m) > 0 && !w.stopped; n++ {
			w.event(m[0])
			m = m.advance()
			if n%roundRecords == 0 {
				w.round()
			}
		}
		w.noteCalls()
		if w.stopped {
			return
		}
		if err := r.incomplete(); err != nil {
			yield(nil, err)
		}
	}
}

// sideband walks the records that are no samples.
func (r *recording) sideband() iter.Seq2[*perfdata.Record, error] {
	return func(yield func(*perfdata.Record, error) bool) {
		w := writer{r: r, yield: yield}
		if len(r.events) > 0 {
			w.state()
		}
		for _, g := range r.rings {
			for _, l := range g.losses {
				w.lost(l, g)
			}
		}
		if err := r.incomplete(); err != nil && !w.stopped {
			yield(nil, err)
		}
	}
}

// merged is a heap of cursors by time; of equal times the one of the first ring is first.
type merged []*cursor

// merge opens all rings.
func (r *recording) merge() merged {
	var m merged
	for _, g := range r.rings {
		if len(g.seen) == 0 {
			continue
		}
		c := &cursor{r: r, ring: g}
		c.open(min(readaheadBytes/max(len(r.rings), 1), 1<<20))
		if c.advance() {
			m = append(m, c)
		}
	}
	for i := len(m)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return m
}

func (m merged) less(i, j int) bool {
	a, b := m[i], m[j]
	return a.time < b.time || a.time == b.time && a.ring.CPU < b.ring.CPU
}

func (m merged) down(i int) {
	for {
		least := i
		for _, j := range [2]int{2*i + 1, 2*i + 2} {
			if j < len(m) && m.less(j, least) {
				least = j
			}
		}
		if least == i {
			return
		}
		m[i], m[least] = m[least], m[i]
		i = least
	}
}

// advance moves the first cursor on, or takes it out at its end.
func (m merged) advance() merged {
	if !m[0].advance() {
		m[0] = m[len(m)-1]
		m = m[:len(m)-1]
	}
	m.down(0)
	return m
}

// writer makes records.
type writer struct {
	r       *recording
	yield   func(*perfdata.Record, error) bool
	rec     perfdata.Record
	buf     []byte
	graphs  map[string]*graph // by buffer
	stopped bool
}

// maxPayload is what fits behind the header of a record, whose size has 16 bits.
const maxPayload = 1<<16 - 1 - abi.HeaderSize - 8

func (w *writer) emit(t abi.RecordType, misc abi.Misc) {
	w.rec.Header = abi.Header{Type: t, Misc: misc, Size: uint16(abi.HeaderSize + len(w.buf))}
	w.rec.Payload = w.buf
	if !w.stopped && !w.yield(&w.rec, nil) {
		w.stopped = true
	}
}

func (w *writer) round() {
	w.buf = w.buf[:0]
	w.emit(abi.RecordFinishedRound, 0)
}

// trailer appends the sample id of records that are no samples.
func (w *writer) trailer(pid, tid int32, t uint64, cpu int32) { w.trailerOf(0, pid, tid, t, cpu) }

// trailerOf is trailer of the event with an id; 0 for none.
func (w *writer) trailerOf(id uint64, pid, tid int32, t uint64, cpu int32) {
	o := w.r.order
	w.buf = o.AppendUint32(o.AppendUint32(w.buf, uint32(pid)), uint32(tid))
	w.buf = o.AppendUint64(w.buf, t)
	w.buf = o.AppendUint32(o.AppendUint32(w.buf, uint32(cpu)), 0)
	w.buf = o.AppendUint64(w.buf, id)
}

// lost writes a loss in a ring, as one of an event of its buffer.
func (w *writer) lost(l loss, g *ring) {
	o := w.r.order
	w.buf = o.AppendUint64(w.buf[:0], 0)
	w.buf = o.AppendUint64(w.buf, uint64(l.count))
	w.trailerOf(g.id(), -1, -1, l.time, g.CPU)
	w.emit(abi.RecordLost, miscLost(l.atLeast))
}

// miscLost is the misc of a loss.
func miscLost(atLeast bool) abi.Misc {
	if atLeast {
		return abi.MiscLostUnknown
	}
	return 0
}

// event writes the event at hand of a cursor, and the loss before it.
func (w *writer) event(c *cursor) {
	if c.lost > 0 {
		w.lost(loss{c.time, c.lost, c.atLeast}, c.ring)
		if !w.r.lines {
			w.calls(c.ring.Buffer).lose(c.ring.CPU)
		}
	}
	var e *event
	if c.kind != nil && c.kind.index < len(c.ring.events) {
		e = c.ring.events[c.kind.index]
	}
	if e == nil {
		return // the file has changed since it was surveyed
	}
	if e.kind.isCall {
		w.call(c, e)
		return
	}
	w.sample(c, e, nil)
}

// sample writes a sample of an event, which may be a call; the size of its raw data is then 4
// less than a multiple of 8.
func (w *writer) sample(c *cursor, e *event, called *call) {
	o := w.r.order
	pid := c.pid
	if pid < 0 {
		pid = c.tid
	}
	chain := 0
	b := o.AppendUint64(w.buf[:0], e.event.IDs[0])
	if e.chains {
		ip := uint64(0)
		if len(c.kernel) > 0 {
			ip = c.kernel[0]
		} else if len(c.user) > 0 {
			ip = c.user[0]
		}
		b = o.AppendUint64(b, ip)
	}
	b = o.AppendUint32(o.AppendUint32(b, uint32(pid)), uint32(c.tid))
	b = o.AppendUint64(b, c.time)
	b = o.AppendUint32(o.AppendUint32(b, uint32(c.ring.CPU)), 0)
	if called != nil {
		b = o.AppendUint64(b, called.self)
	}
	if e.chains {
		at := len(b)
		b = o.AppendUint64(b, 0)
		for _, part := range []struct {
			context uint64
			addrs   []uint64
		}{{abi.ContextKernel, c.kernel}, {abi.ContextUser, c.user}} {
			if len(part.addrs) == 0 {
				continue
			}
			b = o.AppendUint64(b, part.context)
			for _, a := range part.addrs[:min(len(part.addrs), maxCallers)] {
				b = o.AppendUint64(b, a)
			}
			chain += 1 + min(len(part.addrs), maxCallers)
		}
		o.PutUint64(b[at:], uint64(chain))
	}
	raw := c.raw[:min(len(c.raw), maxPayload-len(b)-4)]
	b = append(o.AppendUint32(b, uint32(len(raw))), raw...)
	if called != nil {
		b = o.AppendUint64(b, called.took)
	}
	w.buf = b
	w.emit(abi.RecordSample, abi.MiscKernel)
}

// maxCallers bounds a stack's part, more than the tracer ever writes.
const maxCallers = 1 << 10

// state writes what is so during the whole recording: where the kernel and its modules
// are, what processes have mapped, and names.
func (w *writer) state() {
	if k := w.r.trace.Kernel; k != nil {
		for _, m := range kernelMaps(k) {
			w.mmap(-1, abi.MiscKernel, m.start, m.end, m.pgoff, m.name)
		}
	}
	for _, p := range w.r.trace.Processes {
		for _, m := range p.Maps {
			w.mmap(p.PID, abi.MiscUser, m.Start, m.End, m.Offset, m.Path)
		}
	}
	kept := map[int32]bool{}
	for line := range strings.Lines(w.r.trace.Cmdlines) {
		number, comm, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		tid, err := strconv.ParseInt(number, 10, 32)
		if !ok || err != nil || comm == noName {
			continue
		}
		w.comm(int32(tid), comm)
		kept[int32(tid)] = true
	}
	for _, tid := range w.r.told.tids() {
		if !kept[tid] {
			w.comm(tid, w.r.told[tid].name)
		}
	}
	w.round()
}

func (w *writer) mmap(pid int32, misc abi.Misc, start, end, pgoff uint64, name string) {
	o := w.r.order
	tid := pid
	if pid == -1 {
		tid = 0
	}
	w.buf = o.AppendUint32(o.AppendUint32(w.buf[:0], uint32(pid)), uint32(tid))
	w.buf = o.AppendUint64(o.AppendUint64(w.buf, start), end-start)
	w.buf = o.AppendUint64(w.buf, pgoff)
	w.string(name)
	w.trailer(pid, tid, 0, 0)
	w.emit(abi.RecordMmap, misc)
}

func (w *writer) comm(tid int32, name string) {
	o := w.r.order
	w.buf = o.AppendUint32(o.AppendUint32(w.buf[:0], uint32(tid)), uint32(tid))
	w.string(name)
	w.trailer(tid, tid, 0, 0)
	w.emit(abi.RecordComm, 0)
}

// string appends a string, with NULs up to a multiple of 8 bytes.
func (w *writer) string(s string) {
	const most = 4096
	w.buf = append(append(w.buf, s[:min(len(s), most)]...), 0)
	for len(w.buf)%8 != 0 {
		w.buf = append(w.buf, 0)
	}
}
