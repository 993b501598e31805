package stacktext

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"kprof/convert/stacks"
)

// perfScript is a reader of what perf script prints.
//
// A sample is a header, the frames from the innermost to the outermost, a line
// each, and an empty line. What is in between besides is left out: registers,
// branches, the text of instructions. The empty line is missing behind those, and
// in text without callchains, where the frame is in the header's line: then a
// line that can be nothing but a header begins the next sample.
type perfScript struct {
	set    *stacks.Set
	opts   Options
	stats  Stats
	frames frameTable
	labels labelTable
	events eventTable
	census census
	lines  *lineReader

	// Of the sample that is being read.
	open    bool // there is one
	sure    bool // it needs no frames to be one
	single  bool // it is complete: its frame was in the line of its header
	named   bool // one of its frames has a symbol or file
	ended   bool // behind its frames was what no empty line follows
	skipped bool // it is not selected
	event   int  // its index
	labelID stacks.LabelsID
	time    uint64
	hasTime bool
	period  uint64
	// hasPeriod says that the text has it; else it is 1.
	hasPeriod bool
	begun     uint64 // its first line
	held      []byte // that line, empty if it has no header
	chain     []uint32
	cut       bool   // there were more frames
	depth     int    // frames that are not inlined
	cookie    uint64 // of the rest of the callchain
	waits     bool   // that rest comes later
	deferred  bool   // it is no sample, but such a rest

	first, last uint64 // times of samples that are selected
	depths      depths
	waiting     waiting
}

var errNoStacks = errors.New("there is no sample in it")

// traceError begins what perf script prints where it cannot decode a hardware
// trace.
var traceError = []byte(" instruction trace error")

func readPerfScript(r io.Reader, o Options) (*stacks.Set, *Stats, error) {
	set := stacks.New()
	p := perfScript{set: set, opts: o, frames: newFrameTable(set), lines: newLineReader(r)}
	p.labels = labelTable{set: set, opts: &p.opts, ids: map[labelKey]stacks.LabelsID{}}
	p.events = eventTable{set: set, index: map[string]int{}}
	if err := p.read(); err != nil {
		return nil, nil, fmt.Errorf("read perf script: %w", err)
	}
	return set, &p.stats, nil
}

func (p *perfScript) read() error {
	blank := false // the line before was empty
	for {
		line, err := p.lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if len(line) == 0 {
			if err := p.flush(); err != nil {
				return err
			}
			blank = true
			continue
		}
		if err := p.line(line, blank); err != nil {
			return fmt.Errorf("line %d: %w", p.lines.n, err)
		}
		blank = false
	}
	if err := p.flush(); err != nil {
		return err
	}
	p.giveUp(p.waiting.before)
	p.giveUp(p.waiting.now)
	p.stats.OverflowTasks = p.labels.others
	if p.stats.Taken == 0 {
		p.stats.LeftOut = p.census.left
	}
	if p.stats.Samples == 0 {
		return errNoStacks
	}
	p.events.finish()
	p.stats.CutStacks, p.stats.CutFrames = p.depths.cut()
	if p.last > p.first {
		p.set.DurationNanos = int64(p.last - p.first)
	}
	p.set.SortTimedSamples()
	p.set.SumBlocks()
	return nil
}

// line takes a line that is not empty.
func (p *perfScript) line(line []byte, blank bool) error {
	indent := blanks(line)
	if p.single && p.open && indent > 0 && !p.beginsNext(line, indent) && p.source(line[indent:]) {
		return nil
	}
	if p.open && !p.single {
		if f, ok := parseFrame(line[indent:]); ok && !p.looksLikeHeader(line, indent) {
			return p.frame(&f, line[0] == ' ')
		}
		if indent > 0 && p.source(line[indent:]) {
			return nil
		}
	} else if f, ok := parseFrame(line[indent:]); ok && indent > 0 && !p.looksLikeHeader(line, indent) && !new(header).bareThread(line) {
		if p.open && len(p.held) > 0 && line[0] == '\t' {
			// What stands behind the event is no frame, but what -F +addr, +data_src and
			// +weight print: perf mem's text has it, before a callchain in lines of its own.
			p.single, p.named, p.chain = false, false, p.chain[:0]
			return p.frame(&f, false)
		}
		// Without a header, of -F ip,sym.
		if err := p.flush(); err != nil {
			return err
		}
		if err := p.begin(&header{}, nil); err != nil {
			return err
		}
		if p.single = !blank; p.single {
			f, _ = parseFrame(cutBehind(line[indent:]))
		}
		return p.frame(&f, false)
	}
	if line[0] == '#' && p.comment(line) {
		return nil
	}
	if isBetween(line) {
		return p.flush()
	}
	if cookie, ok := deferredCookie(line); ok {
		err := p.flush()
		p.open, p.sure, p.deferred, p.cookie, p.chain = true, true, true, cookie, p.chain[:0]
		p.single, p.named, p.ended, p.cut, p.skipped, p.waits = false, false, false, false, false, false
		return err
	}
	h := parseHeader(line)
	switch {
	case bytes.HasPrefix(line, traceError):
		p.stats.Errors++
		return nil
	case p.open && !p.single && !h.certain():
		extra := isExtra(line[indent:])
		if p.ended && !extra { // a name alone
			break
		}
		p.ended = extra && len(p.chain) > 0
		if !extra && len(p.chain) > 0 {
			p.unread(p.lines.n)
		}
		return nil
	case h.event != nil && bytes.HasPrefix(h.event, []byte("PERF_RECORD_")), bytes.HasPrefix(h.rest, []byte("PERF_RECORD_")):
		p.sideBand(h.rest)
		return p.flush()
	}
	if err := p.flush(); err != nil {
		return err
	}
	if err := p.begin(&h, line); err != nil {
		return err
	}
	if f, ok := inlineFrame(&h); ok {
		p.single = true
		if _, branch := cutBranch(h.rest); branch {
			p.stats.Branches++
		}
		return p.frame(&f, false)
	}
	if h.certain() || p.events.known(h.event) {
		return p.register(&h)
	}
	return nil
}

// looksLikeHeader tells whether a line that may be a frame is rather a header, as
// of the program "dd": frames have no numbers behind their address. Or as of text
// without names, "   1000000 cycles:": an event stands where a symbol would.
func (p *perfScript) looksLikeHeader(line []byte, indent int) bool {
	rest := line[indent:]
	word := firstWord(rest)
	rest = trimStart(rest[len(word):])
	if startsWithEvent(line, word, rest) || new(header).atColumn(line) {
		return true
	}
	if len(rest) == 0 || !isDigit(rest[0]) && rest[0] != '[' && rest[0] != '-' || rest[0] == '[' && !isDigit(rest[1%len(rest)]) {
		return false
	}
	h := parseHeader(line)
	return h.certain()
}

// startsWithEvent tells whether a line is a number, of a thread or a period, and an event
// behind it, of text without anything else before. perf's frames of callchains begin with a tab.
func startsWithEvent(line, word, rest []byte) bool {
	if len(line) == 0 || line[0] == '\t' {
		return false
	}
	if _, ok := number(word); !ok {
		return false
	}
	event, _ := cutEvent(rest)
	return event != nil
}

// begin begins a sample, of which nothing is kept in the Set until it is sure.
func (p *perfScript) begin(h *header, line []byte) error {
	p.open, p.sure, p.single, p.named, p.ended, p.cut = true, false, false, false, false, false
	p.deferred, p.waits = false, false
	p.chain, p.depth, p.begun = p.chain[:0], 0, p.lines.n
	p.held = append(p.held[:0], line...)
	p.time, p.hasTime, p.period = h.time, h.hasTime && h.time < sumTime, 1
	if p.hasPeriod = h.hasPeriod; h.hasPeriod {
		p.period = h.period
	}
	if p.opts.Window != nil && p.hasTime {
		if err := p.opts.openWindow(h.time); err != nil {
			return err
		}
	}
	p.skipped = !p.opts.selects(h)
	return nil
}

// register says that the sample is one.
func (p *perfScript) register(h *header) error {
	p.sure = true
	st := &p.stats
	st.HasComm = st.HasComm || h.hasComm
	st.HasPID = st.HasPID || h.hasPID
	st.HasTID = st.HasTID || h.hasTID
	st.HasCPU = st.HasCPU || h.hasCPU
	st.HasTime = st.HasTime || h.hasTime
	if p.event = p.events.of(h); p.event < 0 {
		return fmt.Errorf("more than %d different events: this is not what perf script prints", maxEvents)
	}
	if p.skipped {
		p.census.add(h)
	} else {
		p.labelID = p.labels.of(h)
	}
	return nil
}

// frame adds a frame to the sample. A line that begins with a blank and has only an
// address is none among frames with names, but what -F +phys_addr prints, before the
// sizes of pages.
func (p *perfScript) frame(f *frame, blank bool) error {
	if blank && p.named && (f.bare || isPageSize(firstWord(f.symbol))) {
		return nil
	}
	if !p.sure {
		var h header
		if len(p.held) > 0 {
			h = parseHeader(p.held)
		}
		if err := p.register(&h); err != nil {
			return err
		}
	}
	if f.cookie {
		var err error
		p.cookie, err = strconv.ParseUint(string(f.ip), 16, 64)
		p.waits = err == nil
		return nil
	}
	p.named = p.named || !f.bare
	if !f.inlined {
		p.depth++
	}
	switch {
	case p.skipped:
	case len(p.chain) < stacks.MaxDepth:
		p.chain = append(p.chain, p.frames.of(f))
	default:
		p.cut = true
	}
	return nil
}

// isSource tells whether a line is "file.c:123", with or without a discriminator,
// or what perf prints instead, "libc.so.6[27b25]".
func isSource(s []byte) bool {
	if i := bytes.Index(s, []byte(" (disc")); i > 0 {
		s = s[:i]
	}
	i := len(s)
	if i > 0 && s[i-1] == ']' {
		for i--; i > 0 && isHex(s[i-1]); i-- {
		}
		return i > 0 && s[i-1] == '['
	}
	for i > 0 && isDigit(s[i-1]) {
		i--
	}
	return i > 0 && s[i-1] == ':' && i < len(s)
}

// extras begin what perf script prints behind the frames of a sample, and that is
// of no use here: registers, branches, instructions, the payload of BPF events.
var extras = []string{"ABI:", "0x", "insn:", "BPF output:", "BPF string:", "..."}

func isExtra(s []byte) bool {
	for _, e := range extras {
		if bytes.HasPrefix(s, []byte(e)) {
			return true
		}
	}
	f := firstWord(s)
	return hasBranchFlags(s) || isAddress(f) || isPageSize(f) || bytes.HasSuffix(f, []byte(":")) // of -F +brstackinsn
}

// isPageSize tells whether a word is what -F +data_page_size and +code_page_size print.
func isPageSize(w []byte) bool {
	_, ok := number(w[:max(len(w)-1, 0)])
	return string(w) == "N/A" || ok && bytes.IndexByte([]byte("BKMG"), w[len(w)-1]) >= 0
}

// beginsNext tells whether a line, in text without callchains, has a frame and is no source line of the one
// before: of a function "LazyCompile:*f a.js:10" both end alike.
func (p *perfScript) beginsNext(line []byte, indent int) bool {
	if !isSource(line[indent:]) {
		return false
	}
	if _, ok := parseFrame(line[indent:]); ok {
		return true
	}
	h := parseHeader(line)
	_, ok := inlineFrame(&h)
	return ok
}

// source takes the line that -F +srcline prints behind a frame.
func (p *perfScript) source(s []byte) bool {
	if len(p.chain) == 0 || !isSource(s) {
		return false
	}
	if h := parseHeader(s); h.certain() {
		return false
	}
	last := &p.chain[len(p.chain)-1]
	*last = p.frames.withSource(*last, s)
	return true
}

// flush ends the sample, if there is one.
func (p *perfScript) flush() error {
	if !p.open {
		return nil
	}
	p.open = false
	if p.deferred {
		p.takeDeferred(p.cookie, p.chain)
		return nil
	}
	if !p.sure {
		p.unread(p.begun)
		return nil
	}
	p.stats.Samples++
	if p.hasTime {
		if p.stats.FirstTime == 0 || p.time < p.stats.FirstTime {
			p.stats.FirstTime = max(p.time, 1)
		}
		p.stats.LastTime = max(p.stats.LastTime, p.time)
	}
	if p.skipped {
		return nil
	}
	p.stats.Taken++
	if p.hasTime {
		if p.first == 0 || p.time < p.first {
			p.first = max(p.time, 1)
		}
		p.last = max(p.last, p.time)
	}
	if p.cut {
		p.stats.ShortenedStacks++
	}
	p.depths.see(p.depth, usualDepth)
	p.events.sums[p.event].told = p.events.sums[p.event].told || p.hasPeriod
	if !p.events.count(p.event, p.period) {
		return fmt.Errorf("line %d: the periods of event %q add up to more than can be stored", p.begun, p.set.Events[p.event].Name)
	}
	one := sample{event: p.event, labels: p.labelID, time: p.time, hasTime: p.hasTime, period: p.period, chain: p.chain}
	if p.waits {
		p.wait(p.cookie, one)
	} else {
		p.add(&one)
	}
	return nil
}

// add adds a sample to the Set.
func (p *perfScript) add(s *sample) {
	row := p.set.Add(s.event, p.set.Intern(s.chain), s.labels, 1, int64(s.period))
	if p.opts.Times && s.hasTime {
		p.set.AddTimedSample(stacks.TimedSample{Time: max(s.time, 1), Sample: uint32(row), Value: int64(s.period)})
	}
	if p.opts.Blocks && s.hasTime {
		p.set.AddBlockSum(stacks.BlockSum{Time: s.time, Sample: uint32(row), Count: 1, Value: int64(s.period)})
	}
}

func (p *perfScript) unread(line uint64) {
	if p.stats.Unread++; p.stats.Unread == 1 {
		p.stats.FirstUnread = line
	}
}

// isBetween tells whether a line is what perf script prints between samples, and no header: a
// round, lines of namespaces behind the first (tools/perf/util/event.c,
// perf_event__fprintf_namespaces), the source code of -F +srccode.
func isBetween(line []byte) bool {
	switch line[0] {
	case 'P':
		return string(line) == "PERF_RECORD_FINISHED_ROUND"
	case '|':
		return isDigit(line[1%len(line)])
	}
	s, ok := bytes.CutPrefix(line, []byte("\t\t"))
	return ok && len(s) > 1 && (s[0] == '[' || s[0] == ' ') && isDigit(s[1])
}

// sideBand takes a line of --show-mmap-events and its like.
func (p *perfScript) sideBand(s []byte) {
	if lost, ok := bytes.CutPrefix(s, []byte("PERF_RECORD_LOST lost ")); ok {
		n, _ := number(firstWord(lost))
		p.stats.Lost += n
	}
}

// comment takes a line of --header, unless it is the header of a program whose
// name begins with "#".
func (p *perfScript) comment(line []byte) bool {
	if h := parseHeader(line); h.certain() && h.hasTime && h.event != nil {
		return false
	}
	key, value, ok := strings.Cut(strings.TrimLeft(string(line), "# "), " : ")
	if !ok || len(p.set.Comments) >= maxComments {
		return true
	}
	switch key = strings.TrimSpace(key); key {
	case "cmdline":
		p.set.Comments = append(p.set.Comments, "command: "+value)
	case "hostname":
		p.set.Comments = append(p.set.Comments, "host: "+value)
	case "os release":
		p.set.Comments = append(p.set.Comments, "kernel: "+value)
	case "cpudesc":
		p.set.Comments = append(p.set.Comments, "cpu: "+value)
	}
	return true
}

// maxComments is how many lines of a header are kept: it has one of each.
const maxComments = 8
