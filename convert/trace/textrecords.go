package trace

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// survey reads the text to know its events, fields and functions.
func (t *textTrace) survey(ctx context.Context) error {
	w, err := t.walk(ctx, func(e *textEvent) error {
		if e.isLoss {
			return nil
		}
		k := e.kind
		t.learn(e)
		k.chains = k.chains || len(e.kernel) > 0
		for i := range e.fields {
			k.note(e.fields[i].Name, numeralOf(&e.fields[i]))
		}
		for i := range e.numbers {
			k.note(e.numbers[i].name, decimal)
		}
		if e.cpu >= 0 {
			t.ring(e.cpu).note(e)
		}
		t.tasked, t.placed = t.tasked || e.tid >= 0, t.placed || e.cpu >= 0
		if e.time != 0 {
			t.ordered = t.ordered && e.time >= t.last
			if !t.timed {
				t.first = e.time
			}
			t.timed = true
			t.first, t.last = min(t.first, e.time), max(t.last, e.time)
		}
		return nil
	})
	// The kernel tells a switch wherever lines of a CPU go on with another task, and so all before
	// the first are of one (kernel/trace/trace_functions_graph.c, verif_pid).
	t.starts = w.starts
	t.tasked = t.tasked || len(t.starts) > 0
	t.addRegisterKinds()
	g := &w.graph
	t.gaps.CallEvent = callEvent
	if len(g.tasks) == 0 {
		g, t.gaps.CallEvent = &w.slices, sliceEvent
	}
	t.gaps.UnendedCalls, t.gaps.UnbegunCalls, t.gaps.LostCalls = g.unended+g.open(), g.unbegun, g.lost
	return err
}

// addRegisterKinds adds the events of accesses to registers that are not there beside those
// that are: where it ends with a hang, there is a begin without any end.
func (t *textTrace) addRegisterKinds() {
	for _, buffer := range t.registerBuffers() {
		for _, name := range registerEvents {
			k := t.kind(name, buffer)
			if k == nil || len(k.fields) > 0 {
				continue
			}
			k.note("caller", noNumeral)
			k.note("width", decimal)
			k.note("val", hexadecimal)
			k.note("addr", hexadecimal)
		}
	}
}

var registerEvents = []string{"rwmmio_read", "rwmmio_post_read", "rwmmio_write", "rwmmio_post_write"}

// registerBuffers are the buffers that have such events.
func (t *textTrace) registerBuffers() (buffers []string) {
	for _, k := range t.order {
		if slices.Contains(registerEvents, k.name) && !slices.Contains(buffers, k.buffer) {
			buffers = append(buffers, k.buffer)
		}
	}
	return buffers
}

var errTextStopped = errors.New("stopped")

// records walks the records.
func (t *textTrace) records() iter.Seq2[*perfdata.Record, error] {
	return func(yield func(*perfdata.Record, error) bool) {
		if len(t.order) == 0 {
			return
		}
		w := textWriter{writer: writer{r: &recording{}, yield: yield}, t: t, names: map[int32]string{}}
		w.mmap(-1, abi.MiscKernel, nameBase, nameBase+nameStep*uint64(len(t.list)+2), nameBase, "[kernel.kallsyms]_text")
		w.round()
		gaps := t.gaps
		_, err := t.walk(context.Background(), w.event)
		t.gaps = gaps
		if err != nil && !errors.Is(err, errTextStopped) && !w.stopped {
			yield(nil, err)
		}
	}
}

// textWriter makes records of events.
type textWriter struct {
	writer
	t       *textTrace
	names   map[int32]string // of tasks
	records int
	data    []byte
}

func (w *textWriter) event(e *textEvent) error {
	o := w.r.order
	if e.isLoss {
		w.buf = o.AppendUint64(o.AppendUint64(w.buf[:0], 0), e.lost)
		w.textTrailer(e)
		w.emit(abi.RecordLost, miscLost(e.atLeast))
		return w.done()
	}
	w.comm(e)
	pid := e.pid
	if pid < 0 {
		pid = e.tid
	}
	k := e.kind
	b := o.AppendUint64(w.buf[:0], k.id)
	if k.chains {
		ip := uint64(0)
		if len(e.kernel) > 0 {
			ip = e.kernel[0]
		}
		b = o.AppendUint64(b, ip)
	}
	if w.t.tasked {
		b = o.AppendUint32(o.AppendUint32(b, uint32(pid)), uint32(e.tid))
	}
	if w.t.timed {
		b = o.AppendUint64(b, e.time)
	}
	if w.t.placed {
		b = o.AppendUint32(o.AppendUint32(b, uint32(e.cpu)), 0)
	}
	if k.graph {
		b = o.AppendUint64(b, e.self)
	}
	if k.chains {
		if len(e.kernel) == 0 {
			b = o.AppendUint64(b, 0)
		} else {
			b = o.AppendUint64(o.AppendUint64(b, uint64(len(e.kernel)+1)), abi.ContextKernel)
			for i, a := range e.kernel {
				if i > 0 {
					a++ // as the addresses to which functions return are behind their calls
				}
				b = o.AppendUint64(b, a)
			}
		}
	}
	w.data = k.appendPayload(w.data[:0], e)
	for (len(w.data)+4)%8 != 0 { // what is behind them is aligned
		w.data = append(w.data, 0)
	}
	raw := w.data[:min(len(w.data), maxRaw)]
	w.buf = append(o.AppendUint32(b, uint32(len(raw))), raw...)
	if k.graph {
		w.buf = o.AppendUint64(w.buf, e.took)
	}
	w.emit(abi.RecordSample, abi.MiscKernel)
	return w.done()
}

// done ends a round now and then, where events come in order.
func (w *textWriter) done() error {
	if w.records++; w.t.ordered && w.t.timed && w.records%roundRecords == 0 {
		w.round()
	}
	if w.stopped {
		return errTextStopped
	}
	return nil
}

// unknownTask is the name of tasks that a text does not tell.
const unknownTask = "[unknown]"

// comm tells the name of a task where it is another than before.
func (w *textWriter) comm(e *textEvent) {
	if e.tid < 0 {
		e.task = unknownTask
	}
	if e.tid == 0 || e.task == "" || e.task == noName || w.names[e.tid] == e.task || len(w.names) >= maxNames {
		return
	}
	o := w.r.order
	t := e.time
	if _, known := w.names[e.tid]; !known {
		t = 0
	}
	w.names[e.tid] = strings.Clone(e.task) // which is a piece of what was read
	pid := e.pid
	if pid < 0 {
		pid = e.tid
	}
	w.buf = o.AppendUint32(o.AppendUint32(w.buf[:0], uint32(pid)), uint32(e.tid))
	w.string(e.task)
	at := *e
	at.time = t
	w.textTrailer(&at)
	w.emit(abi.RecordComm, 0)
}

// textTrailer is trailer, without a time where there are none.
func (w *textWriter) textTrailer(e *textEvent) {
	o := w.r.order
	if w.t.tasked {
		w.buf = o.AppendUint32(o.AppendUint32(w.buf, uint32(e.tid)), uint32(e.tid))
	}
	if w.t.timed {
		w.buf = o.AppendUint64(w.buf, e.time)
	}
	if w.t.placed {
		w.buf = o.AppendUint32(o.AppendUint32(w.buf, uint32(e.cpu)), 0)
	}
	w.buf = o.AppendUint64(w.buf, 0)
}

func (w *textWriter) mmap(pid int32, misc abi.Misc, start, end, pgoff uint64, name string) {
	o := w.r.order
	w.buf = o.AppendUint32(o.AppendUint32(w.buf[:0], uint32(pid)), 0)
	w.buf = o.AppendUint64(o.AppendUint64(w.buf, start), end-start)
	w.buf = o.AppendUint64(w.buf, pgoff)
	w.string(name)
	w.textTrailer(&textEvent{tid: -1, cpu: -1})
	w.emit(abi.RecordMmap, misc)
}

// maxRaw is what raw data may have beside callers and the rest, and 4 less than a multiple of 8.
const maxRaw = (maxPayload-8*maxCallers-256)&^7 - 4

// appendPayload appends what the format of an event says.
func (k *textKind) appendPayload(b []byte, e *textEvent) []byte {
	const o = abi.LittleEndian
	b = o.AppendUint32(o.AppendUint32(b, uint32(k.id)|uint32(e.flags)<<16), uint32(e.tid))
	fixed := k.end + 4
	for len(b) < fixed {
		b = append(b, 0)
	}
	text := func(at int, s string) {
		if len(b)+len(s) >= 1<<16 {
			s = s[:max(0, min(len(s), 1<<16-1-len(b)))]
		}
		if len(b) >= 1<<16 {
			return
		}
		o.PutUint32(b[at:], uint32(len(b))|uint32(len(s)+1)<<16)
		b = append(append(b, s...), 0)
	}
	for i := range e.fields {
		f := &e.fields[i]
		j, ok := k.index[f.Name]
		if !ok {
			continue
		}
		if at := k.fields[j].offset; k.fields[j].text {
			text(at, f.Value)
		} else if n, ok := f.Number(); ok {
			o.PutUint64(b[at:], uint64(n))
		}
	}
	for i := range e.numbers {
		if j, ok := k.index[e.numbers[i].name]; ok && !k.fields[j].text {
			o.PutUint64(b[k.fields[j].offset:], e.numbers[i].value)
		}
	}
	text(k.end, e.text)
	return b
}
