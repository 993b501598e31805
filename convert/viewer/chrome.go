package viewer

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"kprof/convert/stacks"
)

// Chrome writes the samples of one event as a trace in Chrome's Trace Event
// Format (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU),
// which Perfetto and chrome://tracing open: for each thread the functions that its
// stacks were in, as they begin (B) and end (E).
//
// A sample lasts to the next of its thread, but not longer than twice the usual
// time between two, since a thread may have slept. Without times samples follow
// each other as long as they are heavy, the heaviest stacks first. Spans with their times
// are slices that last as long as they did; from who woke a task to the time that it was off
// the CPU goes a flow. Calls of functions last as long as they and those in them did that are in
// the Set.
func Chrome(w io.Writer, s *stacks.Set, o Options) error {
	if err := s.CheckSum(o.Event, o.Column); err != nil {
		return fmt.Errorf("write chrome: %w", err)
	}
	frames := newFrameTable(s)
	spans := s.TimedSamples != nil && s.Events[o.Event].IsSpans()
	var wakes []stacks.Wake
	if spans {
		wakes = s.Wakes
	}
	c := chrome{
		jsonWriter: newJSONWriter(w), set: s, frames: frames,
		tracks: newTracks(s, o.Event, o.Column, wakes, func() *stackTree { return newStackTree(s, frames) }),
		time:   appendThousandths, // ns as µs
	}
	c.interval = c.tracks.interval()
	if c.tracks.timed && s.Events[o.Event].Instants {
		c.instants = newInstants(s, &o)
	}
	if spans {
		c.rows, c.category = map[uint32]spanText{}, jsonText(s.Events[o.Event].Name)
	}
	if c.tracks.timed && s.Events[o.Event].IsCalls() {
		c.layOut()
	}
	for i := range frames.functions {
		c.names = append(c.names, jsonText(frames.functions[i].name))
	}
	if !c.tracks.timed {
		if c.time = toMicroseconds[s.Events[o.Event].Values[o.Column].Unit]; c.time == nil {
			c.time = appendWhole // a unit as a µs
		}
	}
	c.raw(`{"displayTimeUnit":"ns","otherData":{"exporter":"kprof","name":`)
	c.text(o.name(s))
	c.raw(`},"traceEvents":[`)
	for i := range c.tracks.list {
		c.track(&c.tracks.list[i], i)
	}
	if c.rows != nil {
		c.wakes()
	}
	c.raw("\n]}\n")
	return c.finish("chrome")
}

type chrome struct {
	*jsonWriter
	set    *stacks.Set
	frames *frameTable
	tracks *tracks
	names  [][]byte                       // of functions, as JSON
	time   func(b []byte, t int64) []byte // appends a time

	interval uint64    // between two samples, ns
	instants *instants // nil where samples last

	// Of spans, which are slices of their own: their texts by row, nil for none; how many
	// were no slices of their threads.
	rows     map[uint32]spanText
	category []byte // the event, as JSON
	spans    int

	calls  []callTrees // by track; nil where samples are no calls
	origin int64       // when the first of them begins, ns since the first that ends

	ids  string   // the thread that is written, as fields of an event
	open []uint32 // functions that have begun, outermost first
	path []uint32 // scratch
	any  bool     // whether an event has been written
}

// track writes the events of a thread, in the order of time.
func (c *chrome) track(k *track, i int) {
	c.ids = k.ids(i)
	c.name("thread_name", k)
	if k.isMain() {
		c.name("process_name", k)
	}
	if c.rows != nil {
		c.spanSlices(k)
		return
	}
	if c.calls != nil {
		c.writeCalls(c.calls[i].nodes, c.calls[i].first, math.MinInt64, math.MaxInt64)
		return
	}
	for i, x := range k.items {
		begin := x.time
		if c.instants != nil {
			c.instant(x)
			continue
		}
		c.path = c.frames.appendFunctions(c.path[:0], c.set.Sample(int(x.row)).Stack)
		kept := 0
		for kept < min(len(c.open), len(c.path)) && c.open[kept] == c.path[kept] {
			kept++
		}
		c.end(kept, begin)
		for _, id := range c.path[kept:] {
			c.begin(id, begin)
		}
		last := i == len(k.items)-1
		switch {
		case !c.tracks.timed && last:
			c.end(0, begin+uint64(max(x.weight, 0)))
		case c.tracks.timed && (last || k.items[i+1].time-begin > 2*c.interval):
			c.end(0, begin+c.interval)
		}
	}
}

// ids is a thread as fields of an event; where its number is not known, by its place.
func (k *track) ids(i int) string {
	return fmt.Sprintf(`"pid":%d,"tid":%d`, k.pid, cmp.Or(k.tid, int64(i+1)))
}

// instants is what all instants of an event have in common, and their stacks as text.
type instants struct {
	name, category []byte // of the event, as JSON
	value          []byte // what its values are, as JSON; nil where they only count samples
	stacks         map[stacks.StackID][]byte
}

func newInstants(s *stacks.Set, o *Options) *instants {
	e := &s.Events[o.Event]
	system, _, named := strings.Cut(e.Name, ":")
	if !named {
		system = "event"
	}
	x := &instants{name: jsonText(e.Name), category: jsonText(system), stacks: map[stacks.StackID][]byte{}}
	if o.Column > 0 {
		x.value = jsonText(e.Values[o.Column].Type)
	}
	return x
}

// maxInstantStacks bounds the texts of stacks that are kept.
const maxInstantStacks = 1 << 14

// instant writes a sample that has no length, with its stack, leaf first.
func (c *chrome) instant(x item) {
	in := c.instants
	stack := c.set.Sample(int(x.row)).Stack
	text, known := in.stacks[stack]
	if !known {
		if text = c.stackText(stack); len(in.stacks) < maxInstantStacks {
			in.stacks[stack] = text
		}
	}
	b := append(append(c.buf[:0], ",\n{\"ph\":\"i\",\"s\":\"t\","...), c.ids...)
	b = c.time(append(b, `,"ts":`...), int64(x.time))
	b = append(append(append(b, `,"name":`...), in.name...), `,"cat":`...)
	b = append(append(append(b, in.category...), `,"args":{"stack":`...), text...)
	if in.value != nil {
		b = append(append(append(b, ','), in.value...), ':')
		b = strconv.AppendInt(b, x.weight, 10)
	}
	c.buf = append(b, '}', '}')
	c.w.Write(c.buf)
}

// stackText is a stack as JSON, leaf first.
func (c *chrome) stackText(stack stacks.StackID) []byte {
	var lines strings.Builder
	c.path = c.frames.appendFunctions(c.path[:0], stack)
	for i, id := range slices.Backward(c.path) {
		lines.WriteString(c.frames.functions[id].name)
		if i > 0 {
			lines.WriteByte('\n')
		}
	}
	return jsonText(lines.String())
}

// name writes what a thread or its process is called.
func (c *chrome) name(what string, k *track) {
	if c.any {
		c.raw(",")
	}
	c.any = true
	c.raw("\n" + `{"ph":"M","name":"` + what + `",` + c.ids + `,"args":{"name":`)
	c.text(k.title())
	c.raw("}}")
}

func (c *chrome) begin(id uint32, at uint64) {
	c.open = append(c.open, id)
	b := c.appendSlice(c.buf[:0], 'B', id, at)
	b = append(append(b, `,"cat":"`...), categories[c.frames.functions[id].kind].Name...)
	c.buf = append(b, `"}`...)
	c.w.Write(c.buf)
}

// end ends the functions that are open from the given depth on.
func (c *chrome) end(depth int, at uint64) {
	for len(c.open) > depth {
		id := c.open[len(c.open)-1]
		c.open = c.open[:len(c.open)-1]
		c.buf = append(c.appendSlice(c.buf[:0], 'E', id, at), '}')
		c.w.Write(c.buf)
	}
}

// appendSlice appends the begin or the end of a function, but for the last "}". An
// end has the name too: speedscope wants it to be that of the begin.
func (c *chrome) appendSlice(b []byte, phase byte, id uint32, at uint64) []byte {
	b = append(append(b, ",\n{\"ph\":\""...), phase, '"', ',')
	b = append(append(b, c.ids...), `,"ts":`...)
	b = append(c.time(b, int64(at)), `,"name":`...)
	return append(b, c.names[id]...)
}
