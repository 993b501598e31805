package trace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/ringpage"
)

// Trace is what a tracer recorded.
type Trace struct {
	Order abi.Order
	Rings []Ring

	Tracing   perfdata.TracingData // formats of the events, all that there are
	Kernel    *perfdata.KernelSymbols
	Cmdlines  string // of tracefs' saved_cmdlines: a line "pid comm" each
	Processes []Process
	Host      perfdata.Host
	Version   string // of what recorded
	// Incomplete says why not all that was recorded is here; nil for nothing.
	Incomplete error
	// Ticks says that times are ticks of a clock that does not count ns, TickClock if its name is known.
	Ticks     bool
	TickClock string

	Close func() error // nil for nothing to be closed
}

// Ring is the ring buffer of one CPU.
type Ring struct {
	Buffer string // name of the instance; empty for the top one
	CPU    int32
	Layout ringpage.Layout
	// Open returns what reads the pages, a page at least and about readahead bytes at once.
	// A ring is read several times, but not at the same time.
	Open func(readahead int) Pages
	// Time makes ns of the times of the ring's clock; nil where it counts them.
	Time func(uint64) uint64
	// Move makes addresses of the kernel of Trace.Kernel of those in the ring, 0 of code that it does not have; nil
	// where they are the same.
	Move func(uint64) uint64
}

// Pages reads pages, in their order. Each is valid until the next call; it is io.EOF after
// the last one.
type Pages interface{ Next() ([]byte, error) }

// Process is what is mapped into a process.
type Process struct {
	PID  int32
	Maps []Map
}

// Map is a piece of a file that is mapped.
type Map struct {
	Start, End uint64
	Offset     uint64 // of Start in the file, bytes
	Path       string
}

// Reader returns the trace as a recording. It reads all pages, to know which events there
// are. With lines, the begins and the ends of functions of function_graph are events; else
// calls are, with their callers and the time that was their own (ftrace:function_graph).
func (t *Trace) Reader(ctx context.Context, lines bool) (*perfdata.Reader, error) {
	r := &recording{trace: t, order: t.Order, lines: lines}
	if err := r.parse(); err != nil {
		return nil, err
	}
	if err := r.survey(ctx); err != nil {
		return nil, err
	}
	r.makeEvents()
	used := t.Tracing
	used.Tracepoints = nil
	for _, tp := range t.Tracing.Tracepoints {
		if k := r.kinds[tp.ID]; k != nil && k.used {
			used.Tracepoints = append(used.Tracepoints, tp)
		}
	}
	if r.kinds[callID] != nil {
		used.Tracepoints = append(used.Tracepoints, perfdata.NewTracepoint("ftrace", callFormat(r.returns())))
	}
	events := make([]abi.Event, len(r.events))
	for i, e := range r.events {
		events[i] = e.event
	}
	source := &perfdata.Source{
		Order: t.Order, Events: events, Kernel: t.Kernel, Tracer: true, Close: t.Close, Records: r.records,
		Ticks: t.Ticks, Clock: t.TickClock,
		Late: r.late, Gaps: r.gaps, Duration: func(e *perfdata.Event) bool { return r.events[e.Index].kind.isCall },
		Features: perfdata.Features{
			Host: t.Host, Version: t.Version, Events: events, TracingData: used.AppendTo(nil),
			SampleTime: perfdata.SampleTime{First: r.first, Last: r.last},
		},
	}
	if r.kinds[callID] == nil { // of each event a sample is made, where it lies
		source.Ordered, source.Sideband, source.Samples = true, r.sideband, r.samples()
	}
	return perfdata.NewSourceReader(source), nil
}

// samples is how many samples each event has.
func (r *recording) samples() []uint64 {
	n := make([]uint64, len(r.events))
	for _, g := range r.rings {
		for id, s := range g.seen {
			n[g.events[r.kinds[id].index].event.IDs[0]-1] += s.count
		}
	}
	return n
}

// recording is a Trace on its way to be records.
type recording struct {
	trace       *Trace
	order       abi.Order
	lines       bool
	callGaps    perfdata.Gaps    // of the last walk
	typ, pid    *format.Field    // common fields
	usual       bool             // they lie where they always have
	kinds       map[uint64]*kind // by id
	events      []*event
	rings       []*ring
	first, last uint64
	damaged     uint64 // pages
	failed      error  // the first reason why a ring could not be read to its end
	told        toldNames
	wrapped     bool                  // some rings lack what was before their first page
	late        []*perfdata.LateRings // by buffer
}

// kind is an event of the kernel, by the number in its records.
type kind struct {
	id     uint64
	index  int // among all kinds
	name   string
	format *format.Format // nil where the trace does not have it
	stack  stackKind
	used   bool
	isCall bool // made of those that have graph
	graph  graphFields

	callers, size, tgid *format.Field // of stacks
	function, parent    *format.Field // of the function tracer
	names               []namePair    // of the scheduler
}

// stackKind says whose stack an event is.
type stackKind uint8

const (
	noStack stackKind = iota
	kernelStack
	userStack
)

// event is a kind in one buffer: an event of the recording.
type event struct {
	event  abi.Event
	kind   *kind
	buffer string
	chains bool // some are followed by stacks
}

// ring is a Ring with what was seen in it.
type ring struct {
	*Ring
	seen   map[uint64]*seen // by number of the kind
	losses []loss
	events []*event // by index of the kind; nil for none
}

// id is that of an event in it, 0 for none.
func (g *ring) id() uint64 {
	for _, e := range g.events {
		if e != nil {
			return e.event.IDs[0]
		}
	}
	return 0
}

// loss is how many events were lost before the one at a time.
type loss struct {
	time    uint64
	count   int64
	atLeast bool // count is the least that it may be
}

// seen is what was seen of a kind in a ring.
type seen struct {
	count  uint64
	chains bool
}

// commonFormat is that of events whose format is not known, since Linux 2.6.39.
var commonFormat = format.Text("unknown", 0, "", `""`)

// parse finds the fields that all events have in common, and notes all kinds.
func (r *recording) parse() error {
	r.kinds = map[uint64]*kind{}
	machine := format.Machine{Order: r.order, LongSize: int(r.trace.Tracing.LongSize)}
	var common *format.Format
	for i := range r.trace.Tracing.Tracepoints {
		tp := &r.trace.Tracing.Tracepoints[i]
		if r.kinds[tp.ID] != nil {
			continue
		}
		r.kinds[tp.ID] = &kind{id: tp.ID, index: len(r.kinds), name: tp.System + ":" + tp.Name}
		if common == nil {
			if f, err := format.Parse(tp.Format, machine); err == nil && f.Field("common_pid") != nil {
				common = f
			}
		}
	}
	if common == nil {
		var err error
		if common, err = format.Parse(commonFormat, machine); err != nil {
			return err
		}
	}
	r.typ, r.pid = common.Field("common_type"), common.Field("common_pid")
	if r.typ == nil || r.pid == nil {
		return errors.New("events without common_type and common_pid")
	}
	r.usual = r.typ.Offset == 0 && r.typ.Size == 2 && !r.typ.Signed && !r.typ.Array && r.pid.Offset == 4 && r.pid.Size == 4 && !r.pid.Array
	for _, tp := range r.trace.Tracing.Tracepoints {
		k := r.kinds[tp.ID]
		switch {
		case tp.System == "ftrace" && k.format == nil:
			k.describe(tp, machine)
		case tp.System == "sched" && k.names == nil:
			if f, err := format.Parse(tp.Format, machine); err == nil {
				k.names = namePairs(f)
			}
		}
	}
	return nil
}

// describe finds what is needed of the events of the tracer itself.
func (k *kind) describe(tp perfdata.Tracepoint, machine format.Machine) {
	switch tp.Name {
	case "kernel_stack", "user_stack", "function", "funcgraph_entry", "funcgraph_exit", "fgraph_retaddr_entry":
	default:
		return
	}
	f, err := format.Parse(tp.Format, machine)
	if err != nil {
		return
	}
	k.format = f
	switch tp.Name {
	case "kernel_stack":
		if k.callers, k.size = f.Field("caller"), f.Field("size"); k.callers != nil && k.callers.Array && k.callers.Elem == f.LongSize {
			k.stack = kernelStack
		}
	case "user_stack":
		if k.callers, k.tgid = f.Field("caller"), f.Field("tgid"); k.callers != nil && k.callers.Array && k.callers.Elem == f.LongSize {
			k.stack = userStack
		}
	case "funcgraph_entry", "funcgraph_exit", "fgraph_retaddr_entry":
		k.describeGraph(tp.Name, f)
	case "function":
		k.function, k.parent = f.Field("ip"), f.Field("parent_ip")
	}
}

// kind returns the kind of a number, which it makes where no format has it.
func (r *recording) kind(id uint64) *kind {
	k := r.kinds[id]
	if k == nil {
		k = &kind{id: id, index: len(r.kinds), name: "unknown:" + strconv.FormatUint(id, 10)}
		r.kinds[id] = k
	}
	return k
}

// sampleFields are those of all events' samples.
const sampleFields = abi.SampleIdentifier | abi.SampleTID | abi.SampleTime | abi.SampleCPU | abi.SampleRaw

// makeEvents makes the events of the recording, those that were seen.
func (r *recording) makeEvents() {
	type key struct {
		buffer string
		id     uint64
	}
	all := map[key]*event{}
	for _, g := range r.rings {
		for id, s := range g.seen {
			if !r.lines && r.kind(id).graph.kind != noGraph {
				id = callID
				r.callKind()
			}
			e := all[key{g.Buffer, id}]
			if e == nil {
				e = &event{kind: r.kind(id), buffer: g.Buffer}
				all[key{g.Buffer, id}] = e
				r.events = append(r.events, e)
			}
			e.kind.used = true
			e.chains = e.chains || s.chains || e.kind.function != nil || e.kind.stack != noStack
		}
	}
	slices.SortFunc(r.events, func(a, b *event) int {
		if c := strings.Compare(a.buffer, b.buffer); c != 0 {
			return c
		}
		if c := strings.Compare(a.kind.name, b.kind.name); c != 0 {
			return c
		}
		return int(a.kind.id) - int(b.kind.id)
	})
	for i, e := range r.events {
		name := e.kind.name
		if e.buffer != "" {
			name += "@" + e.buffer
		}
		e.event = abi.Event{Name: name, IDs: []uint64{uint64(i) + 1}, Attr: abi.Attr{
			Type: abi.TypeTracepoint, Size: abi.AttrSizeVer8, Config: e.kind.id, SamplePeriod: 1,
			SampleType: sampleFields, Flags: abi.FlagSampleIDAll,
		}}
		if e.chains {
			e.event.Attr.SampleType |= abi.SampleIP | abi.SampleCallchain
		}
		if e.kind.isCall {
			e.chains = true
			e.event.Attr.SampleType |= callSample
		}
	}
	for _, g := range r.rings {
		g.events = make([]*event, len(r.kinds))
		for id := range g.seen {
			e := all[key{g.Buffer, id}]
			if e == nil {
				e = all[key{g.Buffer, callID}]
			}
			g.events[r.kinds[id].index] = e
		}
	}
}

// incomplete returns what the end of the records says is missing, nil for nothing.
func (r *recording) incomplete() error {
	var reasons []string
	if err := r.trace.Incomplete; err != nil {
		reasons = append(reasons, err.Error())
	}
	if r.failed != nil {
		reasons = append(reasons, r.failed.Error())
	}
	switch {
	case r.damaged == 1:
		reasons = append(reasons, "1 page is damaged")
	case r.damaged > 1:
		reasons = append(reasons, fmt.Sprintf("%d pages are damaged", r.damaged))
	}
	if len(reasons) == 0 {
		return nil
	}
	return &perfdata.TruncatedError{Offset: -1, Reason: strings.Join(reasons, "; ")}
}
