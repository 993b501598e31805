package listing

import (
	"io"

	"kprof/convert/samples"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
)

// Format is what a Printer writes.
type Format uint8

const (
	Text Format = iota // a line an event, as perf script prints it, with lines of its stack behind it
	JSON               // an object a line
	CSV                // with a line of names first
)

// Times say how a Printer shows times.
type Times uint8

const (
	Absolute   Times = iota // of the recording's clock
	SinceLast               // since the event before
	SinceStart              // since the first event
)

// PrinterOptions say what to write of events. The zero value writes text as perf script
// does by default.
type PrinterOptions struct {
	Format  Format
	Columns Selection
	Stacks  bool // as Options.Stacks
	Times   Times
	Nanos   bool // of times in text, rather than microseconds; JSON and CSV have them always

	Limit uint64 // events to write; 0: all
	Tail  int    // only this many of the last events; 0: all

	// Input is told of each event, where events of several inputs are listed one after the
	// other by a Printer each: as a member or column, and in text in a line before them.
	// More is for all but the first Printer.
	Input string
	More  bool

	// Parallel makes lines in goroutines of their own, and leaves it to them when lines are
	// written: Settle does not wait. It is for what is read faster than it is printed. Lines
	// that need names, or are the last, are not made so.
	Parallel bool
}

// Printer is a Consumer that writes events. Close it.
type Printer struct {
	formatter
	w       io.Writer
	workers *workers // nil for none

	text   []byte // of events, without what items add
	items  []item
	stack  []uint32  // of items
	addrs  []address // of stack
	more   []byte    // of items: text behind the names
	frames frames
	out    []byte
	tail   tail

	begun    bool
	events   uint64
	first    uint64 // times
	last     uint64
	lastSeen bool
}

// formatter makes text of events.
type formatter struct {
	o        PrinterOptions
	kinds    []*shown // by index of event
	width    int      // of names of events
	header   Columns  // of CSV
	rounded  bool     // microseconds are, as the kernel's tracer shows them
	scratch  []byte
	heads    [64]head
	nameOnly bool // addresses say nothing
}

// append appends an event up to what has to wait for names.
func (f *formatter) append(dst []byte, e *Event, k *shown, at uint64) []byte {
	switch f.o.Format {
	case JSON:
		return f.appendJSON(dst, e, k, at)
	case CSV:
		return f.appendCSV(dst, e, k, at)
	}
	return f.appendText(dst, e, k, at)
}

// shown is what is shown of an event.
type shown struct {
	columns Columns
	name    []byte // of the event, as wide as all of them
	chains  bool   // samples have callchains, which are shown
	kind    *Kind
}

// item is what is missing at a place in the text, as it has no name yet: the end of an
// event.
type item struct {
	at      int // in text
	kind    *shown
	ip      uint64
	loc     uint32
	from, n int // in stack
	lost    bool

	more, nMore int // in Printer.more
}

// NewPrinter returns a Printer that writes to w.
func NewPrinter(w io.Writer, o PrinterOptions) *Printer {
	p := &Printer{formatter: formatter{o: o}, w: w}
	p.tail.lines = make([][]byte, 0, min(o.Tail, 1<<10))
	return p
}

// Address is Options.Address by default.
func (p *Printer) Address(k *Kind) bool {
	return p.o.Columns.of(k, p.o.Format)&(Sym|DSO) != 0 && !p.o.showsChain(k)
}

// showsChain reports whether the stack is shown in place of the address.
func (o *PrinterOptions) showsChain(k *Kind) bool {
	return o.Stacks && k.Event.Attr.SampleType&abi.SampleCallchain != 0
}

// flushAt is how much text is written at once.
const flushAt = 64 << 10

// Event writes an event.
func (p *Printer) Event(e *Event) error {
	if !p.begun {
		if err := p.begin(e.Kind); err != nil {
			return err
		}
	}
	k := p.kind(e.Kind)
	at := uint64(0)
	if k.columns&Time != 0 {
		at = p.time(e.Sample)
	}
	if p.workers != nil {
		if !p.named(k) {
			return p.hand(e, at)
		}
		if err := p.endWorkers(); err != nil {
			return err
		}
	}
	p.text = p.append(p.text, e, k, at)
	it := item{at: len(p.text), kind: k, ip: e.Sample.IP, loc: e.At, from: len(p.stack)}
	if e.Stack != nil && k.chains {
		p.stack = append(p.stack, e.Stack...)
		p.addrs = appendAddresses(p.addrs, &e.Sample.Sample, len(e.Stack))
		it.n = len(e.Stack)
	}
	if p.o.Format == Text && k.columns&atEnd != 0 {
		it.more = len(p.more)
		p.more = k.appendMore(p.more, e)
		it.nMore = len(p.more) - it.more
	}
	p.events++
	if err := p.add(it); err != nil {
		return err
	}
	return p.limit()
}

func (p *Printer) limit() error {
	if p.events == p.o.Limit {
		return ErrStop
	}
	return nil
}

// named reports whether names are shown of an event, which are not there at first.
func (p *Printer) named(k *shown) bool { return k.chains || k.columns&(Sym|DSO|beyondRow) != 0 }

// add ends an event.
func (p *Printer) add(it item) error {
	if p.o.Tail > 0 || it.n > 0 || !it.lost && it.kind.columns&(Sym|DSO) != 0 {
		p.items = append(p.items, it)
		return nil
	}
	p.text = p.appendEnd(p.text, it, nil)
	if len(p.items) == 0 {
		p.more = p.more[:0]
	}
	if len(p.items) == 0 && len(p.text) >= flushAt {
		return p.flush()
	}
	return nil
}

// flush writes the text, which lacks nothing.
func (p *Printer) flush() error {
	if len(p.text) == 0 {
		return nil
	}
	_, err := p.w.Write(p.text)
	p.text = p.text[:0]
	return err
}

// Settle writes the events so far.
func (p *Printer) Settle(set *stacks.Set) error {
	if p.workers != nil {
		return p.workers.failed()
	}
	if len(p.items) == 0 {
		return p.flush()
	}
	p.out = p.out[:0]
	from := 0
	for _, it := range p.items {
		p.out = append(p.out, p.text[from:it.at]...)
		p.out = p.appendEnd(p.out, it, set)
		from = it.at
		if p.o.Tail > 0 {
			p.tail.add(p.out, p.o.Tail)
			p.out = p.out[:0]
		}
	}
	p.out = append(p.out, p.text[from:]...)
	p.items, p.stack, p.addrs, p.text, p.more = p.items[:0], p.stack[:0], p.addrs[:0], p.text[:0], p.more[:0]
	if len(p.out) == 0 {
		return nil
	}
	_, err := p.w.Write(p.out)
	return err
}

// Close writes what is left, but for events that were not settled: reading ended with an error, and
// they have no names.
func (p *Printer) Close() error {
	if err := p.endWorkers(); err != nil {
		return err
	}
	if len(p.items) > 0 {
		p.text = p.text[:0]
	}
	if err := p.flush(); err != nil {
		return err
	}
	for i := range p.tail.lines {
		if _, err := p.w.Write(p.tail.lines[(p.tail.next+i)%len(p.tail.lines)]); err != nil {
			return err
		}
	}
	return nil
}

// tail is the text of the last events.
type tail struct {
	lines [][]byte
	next  int // the oldest, when there are as many as are kept
}

func (t *tail) add(line []byte, most int) {
	if len(t.lines) < most {
		t.lines = append(t.lines, append([]byte(nil), line...))
		return
	}
	t.lines[t.next] = append(t.lines[t.next][:0], line...)
	t.next = (t.next + 1) % most
}

// begin is called with the first event.
func (p *Printer) begin(k *Kind) error {
	p.begun, p.rounded, p.nameOnly = true, k.code.lister.from.tracer, k.code.lister.from.nameOnly
	for _, e := range k.code.lister.from.events.Events {
		p.width = max(p.width, len(e.Name))
	}
	if p.o.Parallel && p.o.Tail == 0 {
		defer p.startWorkers()
	}
	if p.o.Format == Text && p.o.Input != "" {
		from := len("# ")
		_, err := p.w.Write(append(oneLine(append([]byte("# "), p.o.Input...), from), '\n'))
		return err
	}
	if p.o.Format != CSV {
		return nil
	}
	if p.o.Input != "" { // the columns are those of all inputs
		p.header = p.o.Columns.most()
		if p.o.More {
			return nil
		}
		p.text = append(p.text, "input,"...)
	} else {
		for _, e := range k.code.lister.taken() {
			p.header |= p.o.Columns.of(k.code.lister.kind(e), CSV)
		}
	}
	for i, n := range p.header.Names() {
		if i > 0 {
			p.text = append(p.text, ',')
		}
		p.text = append(p.text, n...)
	}
	if p.o.Stacks {
		p.text = append(p.text, ",stack"...)
	}
	p.text = append(p.text, '\n')
	return p.flush()
}

// kind is what is shown of a Kind.
func (f *formatter) kind(k *Kind) *shown {
	i := k.Event.Index
	for len(f.kinds) <= i {
		f.kinds = append(f.kinds, nil)
	}
	if f.kinds[i] == nil {
		name := padLeft(oneLine([]byte(k.Name), 0), 0, f.width)
		f.kinds[i] = &shown{name: append(name, ": "...), columns: f.o.Columns.of(k, f.o.Format) &^ k.lacks(), chains: f.o.showsChain(k), kind: k}
	}
	return f.kinds[i]
}

// time is the time of an event, as it is shown.
func (p *Printer) time(s *samples.Sample) uint64 {
	t := s.Time
	if !p.lastSeen {
		p.first, p.last, p.lastSeen = t, t, true
	}
	switch p.o.Times {
	case SinceStart:
		t -= min(t, p.first)
	case SinceLast:
		t -= min(t, p.last)
		p.last = s.Time
	}
	return t
}

// address is where a frame is, as its sample says.
type address struct {
	addr   uint64 // at run time
	known  bool   // addr is
	caller bool   // it is behind the call
}

// of is the address of a frame at a location: in the kernel that of the sample, in a file
// the place in it (perf's evsel_fprintf.c, sample__fprintf_callchain).
func (a address) of(set *stacks.Set, loc uint32) uint64 {
	l := &set.Locations[loc]
	if a.known && (l.Mapping < 0 || !l.Kind.ByOffset()) {
		return a.addr
	}
	addr := l.Addr
	if l.Mapping >= 0 && l.Kind.ByOffset() {
		m := &set.Mappings[l.Mapping]
		addr = addr - m.Start + m.Offset
	}
	if a.caller && !set.CallersExact {
		addr++ // the location is that of the call
	}
	return addr
}

// appendAddresses appends the addresses of a callchain of n locations, unknown ones where it
// has another number of them.
func appendAddresses(dst []address, s *abi.Sample, n int) []address {
	from, caller := len(dst), false
	for i := 0; i < len(s.Callchain); i++ {
		switch a := s.Callchain[i]; {
		case a == abi.ContextUserDeferred:
			i++ // its cookie
		case a < abi.ContextMax:
			dst = append(dst, address{a, true, caller})
			caller = true
		default:
			caller = false
		}
	}
	if len(dst)-from != n {
		dst = dst[:from]
		for i := range n {
			dst = append(dst, address{caller: i > 0})
		}
	}
	return dst
}
