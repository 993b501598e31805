package listing

import (
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"kprof/convert/samples"
)

// workers make lines in parallel: events are handed over in batches, and what is made of
// them is written in the order in which they were handed over.
type workers struct {
	batch *batch
	work  chan *batch
	order chan *batch // of batches, as they are to be written
	free  chan *batch
	all   sync.WaitGroup
	err   atomic.Pointer[error] // the first of writing
}

// batch is events on their way to be lines.
type batch struct {
	rows []row
	lost []samples.Loss // of the rows that are losses, in their order
	raw  []byte         // payloads of all rows
	text []byte
	made chan struct{} // gets one when text is there
}

// row is an event, or a loss.
type row struct {
	kind     *Kind // nil for a loss, which has nothing but raw
	comm     string
	pid, tid int32
	cpu      int32
	time     uint64 // as shown
	period   uint64
	ip, addr uint64
	raw      int // end in batch.raw
}

const batchRows = 1 << 10

// startWorkers starts as many as there are CPUs.
func (p *Printer) startWorkers() {
	n := runtime.GOMAXPROCS(0)
	w := &workers{work: make(chan *batch, 2*n), order: make(chan *batch, 2*n), free: make(chan *batch, 2*n)}
	for range 2 * n {
		w.free <- &batch{made: make(chan struct{}, 1)}
	}
	w.batch = <-w.free
	for range n {
		f := formatter{o: p.o, width: p.width, header: p.header, rounded: p.rounded}
		w.all.Go(func() {
			for b := range w.work {
				b.make(&f, p)
				b.made <- struct{}{}
			}
		})
	}
	w.all.Go(func() { w.write(p.w) })
	p.workers = w
}

// write writes what was made, in order.
func (w *workers) write(to io.Writer) {
	for b := range w.order {
		<-b.made
		if w.err.Load() == nil {
			if _, err := to.Write(b.text); err != nil {
				w.err.Store(&err)
			}
		}
		b.rows, b.lost, b.raw, b.text = b.rows[:0], b.lost[:0], b.raw[:0], b.text[:0]
		w.free <- b
	}
}

func (w *workers) failed() error {
	if err := w.err.Load(); err != nil {
		return *err
	}
	return nil
}

// hand hands an event over.
func (p *Printer) hand(e *Event, at uint64) error {
	s, w := e.Sample, p.workers
	w.batch.raw = append(w.batch.raw, s.Raw...)
	w.batch.rows = append(w.batch.rows, row{
		kind: e.Kind, comm: e.Comm, pid: s.PID, tid: s.TID, cpu: s.CPU, time: at,
		period: e.Period, ip: s.IP, addr: s.Addr, raw: len(w.batch.raw),
	})
	p.events++
	if err := p.limit(); err != nil {
		return err
	}
	return w.send()
}

// handLoss hands a loss over.
func (p *Printer) handLoss(l samples.Loss) error {
	w := p.workers
	w.batch.rows = append(w.batch.rows, row{raw: len(w.batch.raw)})
	w.batch.lost = append(w.batch.lost, l)
	return w.send()
}

// send sends the batch when it is full.
func (w *workers) send() error {
	if len(w.batch.rows) < batchRows {
		return nil
	}
	w.work <- w.batch
	w.order <- w.batch
	w.batch = <-w.free
	return w.failed()
}

// endWorkers writes what was handed over, and ends the workers.
func (p *Printer) endWorkers() error {
	w := p.workers
	if w == nil {
		return nil
	}
	p.workers = nil
	w.work <- w.batch
	w.order <- w.batch
	close(w.work)
	close(w.order)
	w.all.Wait()
	return w.failed()
}

// make makes lines of the rows.
func (b *batch) make(f *formatter, p *Printer) {
	var s samples.Sample
	e := Event{Sample: &s}
	from, lost := 0, 0
	for i := range b.rows {
		r := &b.rows[i]
		if r.kind == nil {
			b.text = p.appendLost(b.text, b.lost[lost])
			lost++
			continue
		}
		k := f.own(r.kind)
		s.PID, s.TID, s.CPU, s.IP, s.Addr, s.Raw = r.pid, r.tid, r.cpu, r.ip, r.addr, b.raw[from:r.raw]
		from = r.raw
		e.Kind, e.Period, e.Comm = k.kind, r.period, r.comm
		b.text = f.append(b.text, &e, k, r.time)
		b.text = p.appendEnd(b.text, item{kind: k, ip: r.ip}, nil)
	}
}

// own is what is shown of a Kind, by a copy that is for this goroutine alone.
func (f *formatter) own(k *Kind) *shown {
	i := k.Event.Index
	if i < len(f.kinds) && f.kinds[i] != nil {
		return f.kinds[i]
	}
	return f.kind(k.clone())
}
