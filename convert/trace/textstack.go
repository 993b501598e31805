package trace

import (
	"slices"

	"kprof/convert/trace/ftracetext"
	"kprof/perfevent/format"
)

// maxHeld is how many events are held for their stacks, which follow after those that happened
// meanwhile on other CPUs, and in interrupts on the same one.
const maxHeld = 64

// textPlace is a ring: of a CPU, in a buffer.
type textPlace struct {
	cpu    int32
	buffer string
}

func (e *textEvent) place() textPlace {
	if e.kind == nil {
		return textPlace{e.cpu, e.lostOf}
	}
	return textPlace{e.cpu, e.kind.buffer}
}

// pendingEvents are the events of a ring whose stacks may follow, by level: while an event waits for
// its stack, an interrupt may come with events of its own.
//
//	event   event   stack   stack
//	task    irq     irq     task
//	  └───────────────────────┘
type pendingEvents [maxLevel + 1]*textEvent

// maxLevel is the highest of format.InterruptLevel.
const maxLevel = 3

// last returns the event that came last, which is of the highest level; nil for none.
func (p *pendingEvents) last() *textEvent {
	for level := maxLevel; level >= 0; level-- {
		if p[level] != nil {
			return p[level]
		}
	}
	return nil
}

func (e *textEvent) level() int { return format.InterruptLevel(uint64(e.flags)) }

// hold keeps an event until it is known whether its stack follows. Events go on in their order.
func (w *textWalk) hold(e *textEvent) error {
	p := w.pending[e.place()]
	if p == nil {
		p = &pendingEvents{}
		w.pending[e.place()] = p
	}
	for level, before := range p {
		if before != nil && (level >= e.level() || before.tid != e.tid) {
			before.done, p[level] = true, nil
		}
	}
	p[e.level()] = e
	w.held = append(w.held, e)
	n := 0
	for n < len(w.held) && (w.held[n].done || len(w.held)-n > maxHeld) {
		n++
	}
	return w.flushHeld(n)
}

// flushHeld lets go of the first n events that are held.
func (w *textWalk) flushHeld(n int) error {
	for _, e := range w.held[:n] {
		if p := w.pending[e.place()]; p[e.level()] == e {
			p[e.level()] = nil
		}
		if w.stack == e {
			w.stack = nil
		}
		if w.message == e {
			w.message = nil
		}
		if err := w.flush(e); err != nil {
			return err
		}
	}
	w.held = append(w.held[:0], w.held[n:]...)
	return nil
}

// takeStack takes the head of a stack. One whose event is not here is an event by itself, as in a
// trace.dat.
func (w *textWalk) takeStack(l *ftracetext.Line) error {
	w.message = nil
	kind, name, text := kernelStack, "kernel_stack", "<stack trace>"
	if l.User {
		kind, name, text = userStack, "user_stack", "<user stack trace>"
	}
	if w.stack = w.ofStack(l, kind); w.stack == nil {
		if l.HasTime {
			w.time = l.Time
		}
		e := w.event()
		w.who(e, l)
		if e.kind, e.text = w.t.kind(name, l.Buffer), text; e.kind == nil {
			return nil
		}
		if err := w.hold(e); err != nil {
			return err
		}
		w.stack, kind = e, userStack // no other stack is of it
	}
	w.stack.had = kind
	if kind == kernelStack && w.stack.kind.name == "function" {
		w.stack.own = len(w.stack.kernel)
	}
	if l.Func != "" {
		w.frame(l.Func)
	}
	return nil
}

// ofStack returns the event whose stack follows, nil for none: the last one of its CPU, or where
// flags tell the level, the last one of that. The kernel writes none behind begins and ends of
// functions (kernel/trace/trace_functions_graph.c): what is there is of where a tracer of latency
// ended.
func (w *textWalk) ofStack(l *ftracetext.Line, kind stackKind) *textEvent {
	p := w.pending[textPlace{l.CPU, l.Buffer}]
	if p == nil {
		return nil
	}
	e := p.last()
	if e != nil && e.flagged && l.Flags != "" {
		e = p[format.InterruptLevel(uint64(commonFlags(l.Flags)))]
	}
	if e == nil || e.isLoss || e.call || e.had >= kind || e.tid >= 0 && l.TID >= 0 && e.tid != l.TID {
		return nil
	}
	return e
}

// frame takes a function of the stack at hand; that of the tracer itself has no name.
func (w *textWalk) frame(name string) {
	if w.stack != nil && name != "" && len(w.stack.kernel) < w.stack.own+maxCallers {
		w.stack.kernel = append(w.stack.kernel, w.t.address(name))
	}
}

// joinStack makes one stack of the function and caller that an event of the function tracer has and
// of the stack behind it, which begins in the tracer (as in convert/locate/function.go):
//
//	event             stack                                becomes
//	function caller   tracer's … function caller …         function caller …
//	function caller   tracer's … caller …                  function caller …
func (e *textEvent) joinStack() {
	own, stack := e.own, e.kernel[e.own:]
	if e.own = 0; len(stack) == 0 {
		return
	}
	keep := 1
	for i, addr := range e.kernel[:own] {
		if at := slices.Index(stack, addr); at >= 0 {
			keep, stack = i, stack[at:]
			break
		}
	}
	e.kernel = slices.Delete(e.kernel, keep, len(e.kernel)-len(stack))
}
