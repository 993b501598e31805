package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"kprof/convert/trace/ftracetext"
	"kprof/perfevent/textlimit"
)

// textEvent is an event of a text with its stack.
type textEvent struct {
	kind     *textKind
	task     string
	tid, pid int32
	cpu      int32
	flags    uint8 // as in common_flags
	flagged  bool  // the line has them
	time     uint64
	text     string
	fields   []ftracetext.Field
	numbers  []textNumber // further fields
	kernel   []uint64
	own      int    // of kernel, those before the stack, which the function tracer's event has itself
	self     uint64 // ns, of calls with times
	took     uint64 // that they took in all
	lost     uint64
	lostOf   string // instance of a loss
	atLeast  bool   // lost is the least that it may be
	isLoss   bool
	call     bool      // of function_graph
	had      stackKind // the last of its stacks
	done     bool      // no stack follows
	more     int       // lines of its message behind the first
}

// textNumber is a field that is a number.
type textNumber struct {
	name  string
	value uint64
}

// textWalk goes through a text once.
type textWalk struct {
	t      *textTrace
	emit   func(*textEvent) error
	graph  graph
	slices graph

	line    uint64
	part    textPart
	time    uint64 // of the last line that had one
	pending map[textPlace]*pendingEvents
	held    []*textEvent // those that are pending, and what came after them
	free    []*textEvent
	stack   *textEvent       // whose stack the next lines are; nil for none
	message *textEvent       // of the line before, whose message may go on; nil for none
	said    time.Duration    // when it was put into the log: all lines of a message are at once
	tasks   map[int32]task   // by CPU
	lostOf  string           // instance of a loss on the line before
	starts  map[int32]task   // by CPU, of the first switch, if no line before told the task
	names   map[int32]string // of tasks, by tid

	functions map[int32]*[maxPrinted]uint64 // by CPU, see printed
}

// task is who runs on a CPU.
type task struct {
	tid  int32
	name string
}

const (
	maxLine   = 64 << 10 // more than the kernel prints in a line, 8 KiB
	textChunk = 64 << 10 // what is read at once

	// Of a message in several lines, which is put together line by line: bytes, of which a
	// program can write a page at once, and lines behind the first.
	maxMessage   = 4 << 10
	maxMoreLines = 256
)

// walk reads the lines. Their text is cut of larger strings, which stay as long as one of
// their lines does.
func (t *textTrace) walk(ctx context.Context, emit func(*textEvent) error) (*textWalk, error) {
	w := &textWalk{
		t: t, emit: emit, part: textPart{form: t.form},
		pending: map[textPlace]*pendingEvents{}, tasks: map[int32]task{}, starts: map[int32]task{}, names: map[int32]string{},
		functions: map[int32]*[maxPrinted]uint64{},
	}
	maps.Copy(w.tasks, t.starts)
	buf := make([]byte, textChunk)
	rest, tooLong := "", false
	var length textlimit.Line
	for off := int64(0); off < t.size; {
		if ctx.Err() != nil {
			return w, ctx.Err()
		}
		n, err := t.in.ReadAt(buf[:min(textChunk, t.size-off)], off)
		if off += int64(n); err != nil && !errors.Is(err, io.EOF) {
			return w, fmt.Errorf("line %d: %w", w.line, err)
		}
		if err := length.Add(buf[:n]); err != nil {
			return w, fmt.Errorf("line %d: %w", w.line+1, err)
		}
		s := rest + string(buf[:n])
		for {
			line, after, whole := strings.Cut(s, "\n")
			if !whole {
				break
			}
			s = after
			if err := w.next(line, &tooLong); err != nil {
				return w, err
			}
		}
		if rest = s; len(rest) > maxLine { // no line of the kernel's
			rest, tooLong = "", true
		}
		if n == 0 {
			break
		}
	}
	if rest != "" {
		if err := w.next(rest, &tooLong); err != nil {
			return w, err
		}
	}
	return w, w.flushHeld(len(w.held))
}

// next takes a line, or the end of one whose start was too long.
func (w *textWalk) next(line string, tooLong *bool) error {
	if w.line++; w.line == 1 {
		line = strings.TrimPrefix(line, "\ufeff") // a byte order mark
	}
	if *tooLong {
		*tooLong = false
		if w.part.form == Plain || w.part.inside { // else it is none of the trace's, as in the programs of pages
			w.unread()
		}
		return nil
	}
	if line, ok := w.part.of(line); ok {
		return w.take(line)
	}
	w.message = nil
	return nil
}

func (w *textWalk) event() *textEvent {
	if n := len(w.free); n > 0 {
		e := w.free[n-1]
		w.free = w.free[:n-1]
		*e = textEvent{fields: e.fields[:0], numbers: e.numbers[:0], kernel: e.kernel[:0], pid: -1}
		return e
	}
	return &textEvent{pid: -1}
}

// take takes a line.
func (w *textWalk) take(s string) error {
	l := ftracetext.Parse(s)
	w.ofLoss(&l)
	switch l.Kind {
	case ftracetext.Frame:
		w.frame(l.Func)
		return nil
	case ftracetext.Stack:
		return w.takeStack(&l)
	case ftracetext.Other:
		if l.CPU >= 0 || l.HasTime {
			return nil // the begin or the end of an interrupt
		}
		if m := w.message; m != nil && w.said == w.part.at && !strings.HasPrefix(s, "#") && m.more < maxMoreLines && len(m.text)+len(s) < maxMessage {
			m.more++
			m.text += "\n" + strings.TrimRight(s, "\r")
			return nil
		}
		return w.other(s)
	}
	w.message = nil
	if l.HasTime {
		w.time = l.Time
		w.t.ticks = w.t.ticks || l.Ticks
	}
	w.stack = nil
	if l.TID >= 0 && l.CPU >= 0 {
		if _, known := w.tasks[l.CPU]; l.Kind == ftracetext.Switch && !known {
			w.starts[l.CPU] = task{l.FromTID, strings.Clone(l.FromTask)}
		}
		if runs := (task{l.TID, l.Task}); w.tasks[l.CPU] != runs {
			runs.name = strings.Clone(runs.name)
			w.tasks[l.CPU] = runs
		}
	}
	switch l.Kind {
	case ftracetext.Switch:
		w.graph.move(taskKey(-1, l.CPU), taskKey(l.FromTID, l.CPU))
		return nil
	case ftracetext.Enter, ftracetext.Leave, ftracetext.Leaf:
		return w.call(&l)
	}
	e := w.event()
	w.who(e, &l)
	switch l.Kind {
	case ftracetext.Lost:
		e.lost, e.isLoss, e.atLeast, e.lostOf = max(l.Count, 1), true, l.Count == 0, w.lostOf
		w.late(l.CPU, surelyLate)
		w.graph.lose(l.CPU)
		w.slices.lose(l.CPU)
	case ftracetext.Call:
		w.function(e, &l)
	default:
		if !w.t.lines && w.slice(e, &l) {
			break
		}
		e.kind, e.text = w.t.kind(l.Name, l.Buffer), l.Text
		e.fields = taskFields(ftracetext.AppendFields(e.fields, l.Text), l.Name, l.Text)
		switch l.Name {
		case "sched_switch":
			e.fields = switchFields(e.fields, l.Text)
		case "sched_wakeup", "sched_wakeup_new", "sched_waking":
			e.fields = wakeFields(e.fields, l.Text)
		case "rwmmio_read", "rwmmio_post_read", "rwmmio_write", "rwmmio_post_write":
			e.fields = callerFields(e.fields, l.Text)
		default:
			e.fields = unnamedFields(e.fields, l.Name, l.Text)
		}
	}
	if e.kind == nil && !e.isLoss {
		return nil
	}
	if err := w.hold(e); err != nil {
		return err
	}
	if e.kind != nil && l.Kind == ftracetext.Event && strings.HasSuffix(l.Text, "=STACK:") {
		w.stack, e.had = e, kernelStack // a field of a synthetic event (trace_events_synth.c, print_synth_event)
	}
	// What programs and trace_printk() write may have lines; the name is a function's then.
	if e.kind != nil && l.Kind == ftracetext.Event && (e.kind.system == "trace" && len(e.fields) == 0 || l.Name == "print" || l.Name == "tracing_mark_write") {
		w.message, w.said = e, w.part.at
	}
	return nil
}

// ofLoss fills in the instance of the line behind a loss: trace-cmd tells it once, before both lines
// (trace-read.c, print_handle_file).
func (w *textWalk) ofLoss(l *ftracetext.Line) {
	switch {
	case l.Kind == ftracetext.Lost:
		w.lostOf = strings.Clone(l.Buffer)
	case w.lostOf != "" && l.Kind != ftracetext.Other && l.Kind != ftracetext.Frame:
		if l.Buffer == "" {
			l.Buffer = w.lostOf
		}
		w.lostOf = ""
	}
}

// other takes a line that is no event: the head says how many events there were.
func (w *textWalk) other(s string) error {
	s = strings.TrimSpace(s)
	switch {
	case s == "", strings.Trim(s, "-") == "", strings.HasPrefix(s, "cpus="), strings.HasPrefix(s, "version = "), strings.HasPrefix(s, "CPU ") && strings.HasSuffix(s, " is empty"):
		return nil
	case s == "TRACE:", strings.HasPrefix(s, "capturing trace..."), strings.HasPrefix(s, "Panic#"), strings.HasPrefix(s, "Oops#"):
		return nil // of atrace, of pstore
	case strings.HasPrefix(s, "(Overruns: ") && strings.HasSuffix(s, ")"):
		return nil // of function_graph with funcgraph-overrun, behind each "}"
	case strings.HasPrefix(s, "##### CPU "):
		w.begins(s)
		return nil
	case strings.HasPrefix(s, "#"):
		_, counts, ok := strings.Cut(s, "entries-written: ")
		if latency, found := strings.CutPrefix(s, "# latency: "); found { // "# latency: 0 us, #242/1547, CPU#0 | ..."
			_, counts, ok = strings.Cut(latency, " us, #")
		}
		if !ok {
			return nil
		}
		counts = counts[:len(counts)-len(strings.TrimLeft(counts, "0123456789/"))]
		kept, written, _ := strings.Cut(counts, "/")
		a, err1 := strconv.ParseUint(kept, 10, 63)
		b, err2 := strconv.ParseUint(written, 10, 63)
		if err1 != nil || err2 != nil || a >= b {
			return nil
		}
		w.t.overwritten = true
		e := w.event()
		e.isLoss, e.lost, e.cpu, e.tid, e.time = true, b-a, -1, -1, w.time
		return w.flush(e)
	}
	w.unread()
	return nil
}

// unread notes a line that cannot be read.
func (w *textWalk) unread() {
	if w.t.gaps.UnreadLines++; w.t.gaps.UnreadLines == 1 {
		w.t.gaps.FirstUnread = w.line
	}
}

func (w *textWalk) flush(e *textEvent) error {
	if e.more > 0 { // blank lines after a message may be before what is next
		e.text = strings.TrimRight(e.text, "\n")
	}
	if e.own > 0 {
		e.joinStack()
	}
	err := w.emit(e)
	w.free = append(w.free, e)
	return err
}
