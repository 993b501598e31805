package trace

import (
	"strings"

	"kprof/convert/trace/ftracetext"
)

// call takes a line of function_graph.
func (w *textWalk) call(l *ftracetext.Line) error {
	e := w.event()
	w.who(e, l)
	e.call = true
	if w.t.lines {
		return w.graphLine(e, l)
	}
	key := taskKey(e.tid, e.cpu)
	fn := uint64(0)
	if l.Func != "" {
		fn = w.t.address(l.Func)
	}
	now := uint64(0)
	if l.HasTime {
		now = l.Time
	}
	if l.Kind != ftracetext.Leave {
		args := l.Args
		if l.Kind == ftracetext.Enter { // it is kept
			args = strings.Clone(args)
		}
		w.graph.enter(key, e.cpu, l.Depth, callFrame{fn: fn, args: args, begin: now})
	}
	left := w.printed(l, fn)
	if l.Kind == ftracetext.Enter {
		w.free = append(w.free, e)
		return nil
	}
	c := w.graph.leave(key, e.cpu, l.Depth, ending{fn: fn, now: now, timed: l.Timed, took: l.Duration})
	if c.path[0] == 0 {
		c.path[0] = left
	}
	if l.Kind == ftracetext.Leaf && l.HasTime { // the line has the time at which it began
		if e.time += c.took; l.Time%1000 == 0 {
			e.time -= e.time % 1000 // times of lines are whole us, rounded down: no call ends behind the one that it is in
		}
	}
	w.setCall(e, &c)
	e.kind = w.t.kind("function_graph", l.Buffer)
	if e.kind == nil {
		return nil
	}
	e.kind.graph = true
	name := w.t.nameOf(e.kernel[0])
	e.text = name
	e.fields = append(e.fields, ftracetext.Field{Name: "func", Value: name})
	if c.args != "" {
		e.fields = append(e.fields, ftracetext.Field{Name: "args", Value: c.args})
	}
	e.returned(l)
	e.numbers = append(e.numbers, textNumber{"depth", uint64(l.Depth)}, textNumber{"duration", c.took}, textNumber{"self", c.self})
	return w.hold(e)
}

// maxPrinted is how deep functions are whose ends the kernel compares (kernel/trace/trace.h, FTRACE_RETFUNC_DEPTH).
const maxPrinted = 50

// printed notes which function a line of a CPU begins at its depth, and returns the one that was there. The kernel
// leaves out the name at an end that is of that function, whichever task's (kernel/trace/trace_functions_graph.c,
// print_graph_return); trace-cmd tells none.
func (w *textWalk) printed(l *ftracetext.Line, fn uint64) (was uint64) {
	if l.CPU < 0 || l.Depth >= maxPrinted || l.Name != "" {
		return 0
	}
	at := w.functions[l.CPU]
	if at == nil {
		at = new([maxPrinted]uint64)
		w.functions[l.CPU] = at
	}
	was, at[l.Depth] = at[l.Depth], 0
	if l.Kind == ftracetext.Enter {
		at[l.Depth] = fn
	}
	return was
}

// function takes a line of the function tracer. A call that came again is an event of its own, by its name in
// a trace.dat.
func (w *textWalk) function(e *textEvent, l *ftracetext.Line) {
	name := "function"
	if l.Count > 0 {
		name = "func_repeats"
	}
	e.kind, e.text = w.t.kind(name, l.Buffer), l.Func
	e.kernel = append(e.kernel, w.t.address(l.Func))
	e.fields = append(e.fields, ftracetext.Field{Name: "func", Value: l.Func})
	if l.Args != "" {
		e.text += "(" + l.Args + ")"
		e.fields = append(e.fields, ftracetext.Field{Name: "args", Value: l.Args})
	}
	if l.Caller != "" {
		e.text += " <-" + l.Caller
		e.kernel = append(e.kernel, w.t.address(l.Caller))
		e.fields = append(e.fields, ftracetext.Field{Name: "caller", Value: l.Caller})
	}
	if l.Count > 0 {
		e.text += l.Text
		e.numbers = append(e.numbers, textNumber{"count", l.Count})
	}
}

// graphLine takes a line of function_graph as an event, as trace-cmd report names them.
func (w *textWalk) graphLine(e *textEvent, l *ftracetext.Line) error {
	name := "funcgraph_entry"
	if l.Kind == ftracetext.Leave {
		name = "funcgraph_exit"
	}
	if e.kind = w.t.kind(name, l.Buffer); e.kind == nil {
		return nil
	}
	e.text = l.Text
	e.fields = append(e.fields, ftracetext.Field{Name: "func", Value: l.Func})
	if l.Args != "" {
		e.fields = append(e.fields, ftracetext.Field{Name: "args", Value: l.Args})
	}
	e.returned(l)
	e.numbers = append(e.numbers, textNumber{"depth", uint64(l.Depth)})
	if l.Timed {
		e.numbers = append(e.numbers, textNumber{"duration", l.Duration})
	}
	return w.hold(e)
}

// returned gives an event what its function returned.
func (e *textEvent) returned(l *ftracetext.Line) {
	f := ftracetext.Field{Name: "retval", Value: l.Return}
	if n, ok := f.Number(); ok {
		e.numbers = append(e.numbers, textNumber{f.Name, returned(uint64(n))})
	}
}

// nameOf returns the function at an address.
func (t *textTrace) nameOf(addr uint64) string {
	i := (addr-nameBase)/nameStep - 1
	if i >= uint64(len(t.list)) {
		return unknownFunction
	}
	return t.list[i]
}
