package trace

import (
	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/perfdata"
)

// Calls of functions are made of two events of function_graph, and are events of a kind that
// the kernel does not have.

// graphKind says what of a call an event is.
type graphKind uint8

const (
	noGraph graphKind = iota
	graphEntry
	graphExit
)

// callID is the number of a kind that the kernel has not: its own have 16 bits.
const callID = 1 << 16

// callFormat is the format of a call; with what functions returned, where the kernel told that (the option
// funcgraph-retval).
func callFormat(returned bool) string {
	fields := `	field:u64 func;	offset:8;	size:8;	signed:0;
	field:u64 duration;	offset:16;	size:8;	signed:0;
	field:u64 self;	offset:24;	size:8;	signed:0;
`
	if returned {
		fields += "\tfield:s64 retval;\toffset:32;\tsize:8;\tsigned:1;\n"
	}
	return format.Text("function_graph", callID, fields+`	field:int depth;	offset:40;	size:4;	signed:1;
`, `"%ps duration=%llu self=%llu", (void *)REC->func, REC->duration, REC->self`)
}

// returns reports whether ends of functions tell what these returned.
func (r *recording) returns() bool {
	for _, g := range r.rings {
		for id := range g.seen {
			if r.kinds[id].graph.returned != nil {
				return true
			}
		}
	}
	return false
}

// graphFields are the fields of an event of function_graph.
type graphFields struct {
	kind                        graphKind
	fn, depth                   *format.Field
	calltime, rettime, returned *format.Field // nil where there are none
}

// describeGraph finds the fields of an event of function_graph.
func (k *kind) describeGraph(name string, f *format.Format) {
	g := graphFields{kind: graphEntry, fn: f.Field("func"), depth: f.Field("depth")}
	if name == "funcgraph_exit" {
		g.kind, g.calltime, g.rettime, g.returned = graphExit, f.Field("calltime"), f.Field("rettime"), f.Field("retval")
	}
	if g.fn != nil && g.depth != nil {
		k.graph = g
	}
}

// calls returns the calls in a buffer.
func (w *writer) calls(buffer string) *graph {
	g := w.graphs[buffer]
	if g == nil {
		if w.graphs == nil {
			w.graphs = map[string]*graph{}
		}
		g = &graph{}
		w.graphs[buffer] = g
	}
	return g
}

// call takes an event of function_graph; a function that ends is a call.
func (w *writer) call(c *cursor, e *event) {
	g, k := w.calls(c.ring.Buffer), &c.kind.graph
	fn, ok1 := k.fn.Uint(c.raw)
	depth, ok2 := k.depth.Uint(c.raw)
	if !ok1 || !ok2 || depth > 1<<31 {
		return
	}
	key, cpu := taskKey(c.tid, c.ring.CPU), c.ring.CPU
	if k.kind == graphEntry {
		g.enter(key, cpu, int(depth), callFrame{fn: fn, begin: c.time})
		return
	}
	began, ok1 := address(k.calltime, c.raw)
	ended, ok2 := address(k.rettime, c.raw)
	end := ending{fn: fn, now: c.time}
	if ok1 && ok2 && ended >= began {
		// These are of trace_clock_local(), in ns, whatever the clock of the buffer is
		// (kernel/trace/trace_functions_graph.c; before Linux 6.13 fgraph.c).
		end.timed, end.took, end.begin, end.end = true, ended-began, began, ended
	}
	call := g.leave(key, cpu, int(depth), end)
	c.kernel = c.kernel[:0]
	for i, fn := range call.path {
		if i > 0 {
			fn++ // as the addresses to which functions return are behind their calls
		}
		c.kernel = append(c.kernel, fn)
	}
	value, _ := address(k.returned, c.raw)
	o := w.r.order
	b := o.AppendUint32(o.AppendUint32(c.raw[:0], 0), uint32(c.tid))
	b = o.AppendUint64(o.AppendUint64(o.AppendUint64(b, fn), call.took), call.self)
	c.raw = o.AppendUint32(o.AppendUint64(b, returned(value)), uint32(depth))
	w.sample(c, e, &call)
}

// returned is what a function returned, as a number with a sign: an error of one that returns an int is in the
// lower half of the register (kernel/trace/trace_functions_graph.c, print_graph_retval).
func returned(value uint64) uint64 {
	if n := int32(uint32(value)); value>>32 == 0 && n < 0 && n >= -format.MaxErrno {
		return uint64(int64(n))
	}
	return value
}

// gaps is what could not be made calls.
func (r *recording) gaps() perfdata.Gaps {
	return r.callGaps
}

// noteCalls sums up what was not a call, at the end.
func (w *writer) noteCalls() {
	w.r.callGaps = perfdata.Gaps{}
	for _, g := range w.graphs {
		gaps := &w.r.callGaps
		gaps.CallEvent = callEvent
		gaps.UnendedCalls += g.unended + g.open()
		gaps.UnbegunCalls += g.unbegun
		gaps.LostCalls += g.lost
	}
}

// callEvent is the name of calls.
const callEvent = "ftrace:function_graph"

// callKind is the kind of calls.
func (r *recording) callKind() *kind {
	k := r.kinds[callID]
	if k == nil {
		k = &kind{id: callID, index: len(r.kinds), name: callEvent, isCall: true}
		r.kinds[callID] = k
	}
	return k
}

// callSample is what samples of calls have beside those of other events: their own time is the
// period, all that they took the weight.
const callSample = abi.SampleIP | abi.SampleCallchain | abi.SamplePeriod | abi.SampleWeight
