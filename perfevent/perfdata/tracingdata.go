package perfdata

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"kprof/perfevent/abi"
)

// TracingData describes the tracepoints of a recording, so that their raw data
// can be named and printed elsewhere. It is the TRACING_DATA feature, and what
// follows a HEADER_TRACING_DATA record of pipe mode:
//
//	23 8 68 "tracing" version\0
//	order (1 byte, 1 is big-endian), size of long (1 byte), page size (4)
//	"header_page\0" size (8) text, "header_event\0" size (8) text
//	number of ftrace formats (4), each: size (8) text
//	number of systems (4), each: name\0, number of formats (4), each: size (8) text
//	kallsyms: size (4) text
//	printk formats: size (4) text
//	saved command lines, from version 0.6: size (8) text
//
// It is what tools/perf/util/trace-event-info.c writes and trace-event-read.c
// reads, which is the format of trace-cmd 6 without its options.
type TracingData struct {
	Version     string // "0.6"
	Order       abi.Order
	LongSize    uint8  // of the kernel, in bytes
	PageSize    uint32 // bytes
	HeaderPage  string // events/header_page
	HeaderEvent string // events/header_event
	Tracepoints []Tracepoint
	Kallsyms    string // empty in recordings of perf since Linux 3.16
	Printk      string // printk_formats
	Cmdlines    string // saved_cmdlines: "pid comm" lines
}

// Tracepoint is an event format of tracefs. Name and ID are taken from its text
// and are zero where that has none.
type Tracepoint struct {
	System string
	Name   string
	ID     uint64 // perf_event_attr.config of its events
	Format string // the whole of events/SYSTEM/NAME/format
}

const tracingMagic = "\x17\x08\x44tracing"

// ftraceSystem is the system whose formats stand in a list of their own.
const ftraceSystem = "ftrace"

// DecodeTracingData reads a TRACING_DATA section. Padding after it is ignored.
// When the section is cut short or damaged, what was read before comes with an
// error that gives the offset.
func DecodeTracingData(b []byte) (*TracingData, error) {
	c := tracingCursor{cursor{b: b}}
	t := &TracingData{}
	c.expect(tracingMagic)
	t.Version = c.cstring()
	head := c.take(2)
	if c.err == nil {
		if head[0] == 1 {
			t.Order = abi.BigEndian
		}
		c.o = t.Order
		t.LongSize = head[1]
	}
	t.PageSize = c.u32()
	c.expect("header_page\x00")
	t.HeaderPage = c.text(c.u64())
	c.expect("header_event\x00")
	t.HeaderEvent = c.text(c.u64())
	t.formats(&c, ftraceSystem)
	systems := c.count(uint64(c.u32()), 5)
	for range systems {
		if c.err != nil {
			break
		}
		t.formats(&c, c.cstring())
	}
	t.Kallsyms = c.text(uint64(c.u32()))
	t.Printk = c.text(uint64(c.u32()))
	if t.hasCmdlines() {
		t.Cmdlines = c.text(c.u64())
	}
	if c.err != nil {
		return t, fmt.Errorf("decode tracing data of %d bytes: %w", len(b), c.err)
	}
	return t, nil
}

// hasCmdlines reports whether the version has saved command lines.
func (t *TracingData) hasCmdlines() bool {
	v, err := strconv.ParseFloat(t.Version, 64)
	return err == nil && v >= 0.6
}

// formats reads a count and that many formats of one system.
func (t *TracingData) formats(c *tracingCursor, system string) {
	n := c.count(uint64(c.u32()), 8)
	for range n {
		text := c.text(c.u64())
		if c.err != nil {
			return
		}
		t.Tracepoints = append(t.Tracepoints, NewTracepoint(system, text))
	}
}

// NewTracepoint returns an event by the text of its format.
func NewTracepoint(system, format string) Tracepoint {
	tp := Tracepoint{System: system, Format: format}
	for line := range strings.Lines(format) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "name":
			tp.Name = value
		case "ID":
			tp.ID, _ = strconv.ParseUint(value, 10, 64)
		case "format":
			return tp // what follows are fields
		}
	}
	return tp
}

// tracingCursor adds what only tracing data has.
type tracingCursor struct{ cursor }

func (c *tracingCursor) expect(s string) {
	at := c.off
	if b := c.take(len(s)); b != nil && string(b) != s {
		c.off = at
		c.fail("%q instead of %q", b, s)
	}
}

// cstring reads up to and including a NUL.
func (c *tracingCursor) cstring() string {
	if c.err != nil {
		return ""
	}
	rest := c.b[c.off:]
	s := cstring(rest)
	if len(s) == len(rest) {
		c.fail("string without end")
		return ""
	}
	c.off += len(s) + 1
	return s
}

func (c *tracingCursor) text(n uint64) string {
	if c.err == nil && n > uint64(c.left()) {
		c.fail("text of %d bytes, %d left", n, c.left())
		return ""
	}
	return string(c.take(int(n)))
}

// AppendTo appends t as a TRACING_DATA section. Tracepoints of one system are
// written together, systems in the order in which they first appear.
func (t *TracingData) AppendTo(b []byte) []byte {
	e := encoder{b: append(b, tracingMagic...), o: t.Order}
	e.cstring(t.Version)
	order := byte(0)
	if t.Order == abi.BigEndian {
		order = 1
	}
	e.b = append(e.b, order, t.LongSize)
	e.u32(t.PageSize)
	e.cstring("header_page")
	e.text64(t.HeaderPage)
	e.cstring("header_event")
	e.text64(t.HeaderEvent)

	var systems []string
	bySystem := map[string][]Tracepoint{}
	for _, tp := range t.Tracepoints {
		if tp.System != ftraceSystem && bySystem[tp.System] == nil {
			systems = append(systems, tp.System)
		}
		bySystem[tp.System] = append(bySystem[tp.System], tp)
	}
	e.formats(bySystem[ftraceSystem])
	e.u32(uint32(len(systems)))
	for _, s := range systems {
		e.cstring(s)
		e.formats(bySystem[s])
	}
	e.text32(t.Kallsyms)
	e.text32(t.Printk)
	if t.hasCmdlines() {
		e.text64(t.Cmdlines)
	}
	return e.b
}

func (e *encoder) formats(tps []Tracepoint) {
	e.u32(uint32(len(tps)))
	for _, tp := range tps {
		e.text64(tp.Format)
	}
}

func (e *encoder) cstring(s string) { e.b = append(append(e.b, s...), 0) }

func (e *encoder) text32(s string) {
	e.u32(uint32(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) text64(s string) {
	e.u64(uint64(len(s)))
	e.b = append(e.b, s...)
}

// ReadTracingData reads from tracefs (its root) what a recording of events must
// say of its tracepoints; events of other types are passed over. It is nil when
// there are no tracepoints. longSize and pageSize are the kernel's, in bytes.
func ReadTracingData(tracefs fs.FS, events []abi.Event, o abi.Order, longSize, pageSize int) (*TracingData, error) {
	paths, err := tracepointPaths(tracefs, events)
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	t := &TracingData{Version: "0.6", Order: o, LongSize: uint8(longSize), PageSize: uint32(pageSize)}
	read := func(name string) string {
		b, rerr := fs.ReadFile(tracefs, name)
		if err == nil {
			err = rerr
		}
		return string(b)
	}
	t.HeaderPage = read("events/header_page")
	t.HeaderEvent = read("events/header_event")
	for _, p := range paths {
		t.Tracepoints = append(t.Tracepoints, NewTracepoint(path.Base(path.Dir(p)), read(p+"/format")))
	}
	if err != nil {
		return nil, fmt.Errorf("read tracing data: %w", err)
	}
	// Kernels are built without these two.
	if b, err := fs.ReadFile(tracefs, "printk_formats"); err == nil {
		t.Printk = string(b)
	}
	if b, err := fs.ReadFile(tracefs, "saved_cmdlines"); err == nil {
		t.Cmdlines = string(b)
	}
	return t, nil
}

// tracepointPaths finds the directories of all tracepoints among events, each
// once, sorted. An event is looked for under its name first, then by its id.
func tracepointPaths(tracefs fs.FS, events []abi.Event) ([]string, error) {
	var paths []string
	var byID map[string]string
	for i := range events {
		ev := &events[i]
		if ev.Attr.Type != abi.TypeTracepoint {
			continue
		}
		id := strconv.FormatUint(ev.Attr.Config, 10)
		system, name, _ := strings.Cut(ev.Name, ":")
		name, _, _ = strings.Cut(name, ":") // modifiers
		p := path.Join("events", system, name)
		if fs.ValidPath(p) && tracepointID(tracefs, p) == id {
			paths = append(paths, p)
			continue
		}
		if byID == nil {
			ids, err := fs.Glob(tracefs, "events/*/*/id")
			if err != nil {
				return nil, fmt.Errorf("read tracing data: %w", err)
			}
			byID = make(map[string]string, len(ids))
			for _, f := range ids {
				byID[tracepointID(tracefs, path.Dir(f))] = path.Dir(f)
			}
		}
		p, ok := byID[id]
		if !ok {
			return nil, fmt.Errorf("read tracing data: no tracepoint with id %s for event %q: %w", id, ev.Name, fs.ErrNotExist)
		}
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// tracepointID is the text of an event's id file, or the ID of its format, which is all that
// most events of the system ftrace have; empty when there is neither.
func tracepointID(tracefs fs.FS, dir string) string {
	b, err := fs.ReadFile(tracefs, dir+"/id")
	if err != nil {
		b, _ = fs.ReadFile(tracefs, dir+"/format")
		_, rest, _ := strings.Cut(string(b), "\nID: ")
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	return strings.TrimSpace(string(b))
}
