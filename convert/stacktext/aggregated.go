package stacktext

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"kprof/convert/stacks"
)

// aggregation is what readers of stacks that were counted before they were printed
// have in common: a stack is a block of lines, the innermost frame first, and its
// number ends it.
type aggregation struct {
	set    *stacks.Set
	stats  Stats
	frames frameTable
	lines  *lineReader
	events map[string]int
	comms  map[string]stacks.LabelsID
	sums   []int64 // by event

	chain []uint32
	cut   bool
}

func newAggregation(r io.Reader) *aggregation {
	set := stacks.New()
	return &aggregation{
		set: set, frames: newFrameTable(set), lines: newLineReader(r),
		events: map[string]int{}, comms: map[string]stacks.LabelsID{},
	}
}

// each calls line for each line of a tool's text, without the blanks at its end, and for an empty
// one behind the last.
func (a *aggregation) each(tool string, line func([]byte) error) (*stacks.Set, *Stats, error) {
	for {
		l, err := a.lines.next()
		end := err == io.EOF
		if err == nil || end {
			if err = line(l); err != nil {
				err = fmt.Errorf("line %d: %w", a.lines.n, err)
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", tool, err)
		}
		if end {
			break
		}
	}
	if a.stats.Samples == 0 {
		return nil, nil, fmt.Errorf("read %s: %w", tool, errNoStacks)
	}
	return a.set, &a.stats, nil
}

func (a *aggregation) frame(f *frame) {
	if len(a.chain) == stacks.MaxDepth {
		a.cut = true
		return
	}
	a.chain = append(a.chain, a.frames.of(f))
}

func (a *aggregation) unread() {
	if a.stats.Unread++; a.stats.Unread == 1 {
		a.stats.FirstUnread = a.lines.n
	}
}

// drop leaves out a stack whose number is not known.
func (a *aggregation) drop() {
	a.unread()
	a.chain, a.cut = a.chain[:0], false
}

// add ends a stack that was seen n times.
func (a *aggregation) add(event string, comm []byte, n uint64) error {
	e, ok := a.events[event]
	if !ok {
		if len(a.events) == maxEvents {
			return fmt.Errorf("more than %d different names of aggregations", maxEvents)
		}
		e = a.set.AddEvent(stacks.Event{Name: event, Values: []stacks.ValueType{{Type: event, Unit: "count"}}})
		a.events[event] = e
		a.sums = append(a.sums, 0)
	}
	if n > math.MaxInt64 || a.sums[e] > math.MaxInt64-int64(n) {
		return fmt.Errorf("the numbers of %q add up to more than can be stored", event)
	}
	a.sums[e] += int64(n)
	a.set.Add(e, a.set.Intern(a.chain), a.label(comm), int64(n))
	a.stats.Samples++
	a.stats.Taken++
	if a.cut {
		a.stats.ShortenedStacks++
	}
	a.chain, a.cut = a.chain[:0], false
	return nil
}

func (a *aggregation) label(comm []byte) stacks.LabelsID {
	if len(comm) == 0 {
		return 0
	}
	a.stats.HasComm = true
	id, ok := a.comms[string(comm)]
	if !ok {
		if uint64(len(a.comms)) >= maxLabels+a.stats.Samples/8 {
			a.stats.OverflowTasks++
			return a.set.InternLabels([]stacks.Label{{Key: "comm", Str: otherTasks}})
		}
		id = a.set.InternLabels([]stacks.Label{{Key: "comm", Str: string(comm)}})
		a.comms[string(comm)] = id
	}
	return id
}

// bpftrace reads maps that bpftrace prints at its end:
//
//	@name[
//	    vfs_read+1
//	    ksys_read+95
//	, dd]: 12
//
// Where it knows lines of source (show_debug_info) a frame has one, and those inlined into it
// stand above it; in the mode raw frames are addresses, in the mode build_id a file's and an offset
// in it, neither of them indented (src/usyms.cpp, src/types_format.cpp):
//
//	[inlined] min@/src/a.c:3
//	f+37@/src/a.c:14
//
// A key may have stacks of the kernel and of the program, in this order, and other
// parts before or behind them: these are taken for the comm. Each map is an event;
// beside maps with stacks, those without ("@start[1234]: 98234798") are left out. The number of a
// stack with a histogram is the sum of what its rows count:
//
//	]:
//	[16K, 32K)           218 |@@@@@@@@@@@@@@@@@@@@                                |
type bpftrace struct {
	*aggregation
	open    bool
	hist    bool // rows of a histogram follow
	rows    int
	counted uint64 // by these
	event   string
	comm    []byte
	stacked map[string]bool   // events with stacks
	entries map[string]uint64 // of each event
}

func readBPFTrace(r io.Reader) (*stacks.Set, *Stats, error) {
	b := bpftrace{aggregation: newAggregation(r), stacked: map[string]bool{}, entries: map[string]uint64{}}
	set, stats, err := b.each("bpftrace", b.line)
	if err == nil && len(b.stacked) > 0 && len(b.stacked) < len(set.Events) {
		b.leaveOut()
	}
	return set, stats, err
}

// leaveOut removes the events without stacks.
func (b *bpftrace) leaveOut() {
	var with []stacks.Event
	to := make([]int, len(b.set.Events))
	for i, e := range b.set.Events {
		if to[i] = len(with); b.stacked[e.Name] {
			with = append(with, e)
			continue
		}
		to[i] = -1
		b.stats.Samples -= b.entries[e.Name]
		b.stats.Taken -= b.entries[e.Name]
	}
	b.set.MapEvents(with, to)
}

// entry ends an entry of a map.
func (b *bpftrace) entry(n uint64, stacked bool) error {
	b.entries[b.event]++
	if stacked {
		b.stacked[b.event] = true
	}
	return b.add(b.event, b.comm, n)
}

// hasEmptyStack tells whether a part of a key that is in one line is empty, as a stack without
// frames is.
func hasEmptyStack(key []byte) bool {
	for part := range bytes.SplitSeq(key, []byte(",")) {
		if len(trimStart(part)) == 0 {
			return true
		}
	}
	return false
}

func (b *bpftrace) line(line []byte) error {
	if b.hist {
		if n, ok := histogramRow(line); ok {
			b.rows++
			b.counted += min(n, math.MaxUint64-b.counted)
			return nil
		}
		if err := b.endHistogram(); err != nil {
			return err
		}
	}
	if !b.open {
		return b.outside(line)
	}
	if key, value, ok := cutValue(line); ok {
		b.part(key)
		b.open = false
		n, isNumber := number(value)
		switch {
		case isNumber:
			return b.entry(n, true)
		case len(value) == 0 && len(b.chain) > 0:
			b.hist, b.rows, b.counted = true, 0, 0
		default: // statistics
			b.drop()
		}
		return nil
	}
	s := trimStart(line)
	switch {
	case len(s) == 0:
	case len(s) == len(line) && line[0] == '@': // the one before never ended
		b.drop()
		return b.outside(line)
	case len(s) == len(line) && !isRawFrame(s):
		b.part(s)
	default:
		b.symbol(s)
	}
	return nil
}

// isRawFrame tells whether a line is a frame of the modes raw and build_id: what stands behind a stack
// in a key begins with a comma.
func isRawFrame(s []byte) bool {
	id := firstWord(s)
	offset, hasOffset := bytes.CutPrefix(trimStart(s[len(id):]), []byte("0x"))
	return isHexNumber(id) && (len(id) == len(s) || hasOffset && isHexNumber(offset))
}

// endHistogram ends an entry of a map whose value is a histogram.
func (b *bpftrace) endHistogram() error {
	b.hist = false
	if b.rows == 0 {
		b.drop()
		return nil
	}
	return b.entry(b.counted, true)
}

// histogramRow is the count in a row of a histogram, "[64, 128)  2 |@@@  |".
func histogramRow(line []byte) (n uint64, ok bool) {
	if len(line) == 0 || line[0] != '[' && line[0] != '(' || line[len(line)-1] != '|' {
		return 0, false
	}
	row, _, _ := bytes.Cut(line, []byte("|"))
	count, interval := lastWord(row)
	interval = trimEnd(interval)
	n, ok = number(count)
	return n, ok && len(interval) > 0 && (interval[len(interval)-1] == ')' || interval[len(interval)-1] == ']')
}

// outside takes a line that is in no map.
func (b *bpftrace) outside(line []byte) error {
	b.open = false
	i := bytes.IndexByte(line, '[')
	if i < 1 || line[0] != '@' {
		if n, ok := bytes.CutPrefix(line, []byte("Lost ")); ok {
			lost, _ := number(firstWord(n))
			b.stats.Lost += lost
		}
		return nil
	}
	b.event, b.comm = string(line[:i]), b.comm[:0]
	if key, value, ok := cutValue(line[i+1:]); ok {
		n, isNumber := number(value)
		if !isNumber {
			b.unread()
			return nil
		}
		b.part(key)
		return b.entry(n, hasEmptyStack(key))
	}
	b.part(line[i+1:])
	b.open = true
	return nil
}

// part takes what is in a key besides stacks.
func (b *bpftrace) part(s []byte) {
	s = bytes.Trim(s, ", ")
	if len(s) == 0 || len(b.comm)+len(s) > maxLine {
		return
	}
	if len(b.comm) > 0 {
		b.comm = append(b.comm, ", "...)
	}
	b.comm = append(b.comm, s...)
}

// symbol takes a frame: "vfs_read+1", or in other modes of bpftrace an address or
// "ffffffff81c0a2e0 vfs_read+1 ([kernel.kallsyms])".
func (b *bpftrace) symbol(s []byte) {
	if f, ok := parseFrame(s); ok && (!f.bare || len(f.ip) > 4) { // no function "add"
		f.symbol = cutDecimal(f.symbol)
		b.frame(&f)
		return
	}
	name, source := cutSource(s)
	b.frame(&frame{symbol: cutDecimal(name)})
	if len(source) > 0 && len(b.chain) > 0 && !b.cut {
		last := &b.chain[len(b.chain)-1]
		*last = b.frames.withSource(*last, source)
	}
}

// cutSource removes from a symbol the line of source behind its offset, and what is before one that is
// inlined, which has no offset: "f+37@/src/a.c:14", "[inlined] min@/src/a.c:3".
func cutSource(s []byte) (name, source []byte) {
	name, isInlined := bytes.CutPrefix(s, []byte("[inlined] "))
	for at := 0; ; {
		i := bytes.IndexByte(name[at:], '@')
		if i < 0 {
			return name, nil
		}
		at += i + 1
		if isInlined || len(cutDecimal(name[:at-1])) < at-1 {
			return name[:at-1], name[at:]
		}
	}
}

// cutValue takes the end of a map's line apart, "dd]: 12".
func cutValue(line []byte) (key, value []byte, ok bool) {
	i := bytes.LastIndex(line, []byte("]:"))
	if i < 0 || i+2 < len(line) && line[i+2] != ' ' {
		return nil, nil, false
	}
	return line[:i], trimStart(line[i+2:]), true
}

// cutDecimal removes an offset, "+12", from the end of a symbol.
func cutDecimal(s []byte) []byte {
	i := len(s)
	for i > 0 && isDigit(s[i-1]) {
		i--
	}
	if i > 1 && i < len(s) && s[i-1] == '+' {
		return s[:i-1]
	}
	return s
}

// dtrace reads what aggregations by stack() and ustack() print:
//
//	genunix`fop_write+0x5d
//	unix`sys_syscall+0x17d
//	  12
//
// What stands before the first frame, up to an empty line, is no part of it.
type dtrace struct {
	*aggregation
	begun  bool
	first  []byte // of a block, if it may be a name
	indent int
}

// dtraceEvent is the name of the event of DTrace's stacks.
const dtraceEvent = "count"

func readDTrace(r io.Reader) (*stacks.Set, *Stats, error) {
	d := dtrace{aggregation: newAggregation(r)}
	return d.each("DTrace", d.line)
}

func (d *dtrace) line(line []byte) error {
	s := trimStart(line)
	if !d.begun {
		if len(s) > 0 && bytes.IndexByte(s, '`') < 0 && !bytes.HasPrefix(s, []byte("0x")) {
			return nil
		}
		d.begun = true
	}
	switch n, isNumber := number(s); {
	case len(s) == 0:
	case isNumber && len(s) < len(line):
		if len(d.chain) == 0 && d.first == nil {
			d.unread()
			return nil
		}
		comm := squeeze(d.first)
		d.first = nil
		return d.add(dtraceEvent, comm, n)
	case len(d.chain) == 0 && d.first == nil && bytes.IndexByte(s, '`') < 0 && !bytes.HasPrefix(s, []byte("0x")):
		// A frame of a Java method, or an aggregation's key before the stack.
		d.first, d.indent = slices.Clone(s), len(line)-len(s)
	default:
		if len(d.chain) == 0 && d.first != nil && len(line)-len(s) <= d.indent {
			d.symbol(d.first)
			d.first = nil
		}
		d.symbol(s)
	}
	return nil
}

// squeeze removes the blanks that fill the columns of an aggregation's keys, of execname and pid, in place.
func squeeze(keys []byte) []byte {
	n := 0
	for i, c := range keys {
		if !isBlank(c) || i > 0 && !isBlank(keys[i-1]) {
			keys[n] = c
			n++
		}
	}
	return keys[:n]
}

func (d *dtrace) symbol(s []byte) {
	s, _ = cutOffset(s)
	f := frame{symbol: s}
	if i := bytes.IndexByte(s, '`'); i > 0 && !strings.ContainsAny(string(s[:i]), " (<") {
		f.dso = s[:i]
	}
	d.frame(&f)
}
