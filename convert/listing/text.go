package listing

import (
	"kprof/convert/samples"
	"kprof/convert/stacks"
	"kprof/perfevent/datasrc"
	"kprof/perfevent/procfs"
)

// appendText appends an event as perf script prints it (tools/perf/builtin-script.c,
// process_event), up to what has to wait for names.
func (f *formatter) appendText(dst []byte, e *Event, k *shown, at uint64) []byte {
	c, s := k.columns, e.Sample
	if c&(Comm|PID|TID|CPU) != 0 {
		dst = append(dst, f.head(e, k)...)
	}
	if c&Time != 0 {
		dst = f.appendTime(dst, at)
	}
	if c&Period != 0 {
		dst = append(appendNumber(dst, int64(e.Period), 10), ' ')
	}
	if c&EventName != 0 {
		dst = append(dst, k.name...)
	}
	dst = appendPayload(dst, e, k)
	if c&Addr != 0 {
		dst = appendHex(dst, s.Addr, 16)
	}
	if c&DataSrc != 0 {
		dst = datasrc.Source(s.DataSrc).AppendTo(append(appendHex(dst, s.DataSrc, 16), ' '))
	}
	for _, w := range [...]Columns{Weight, InsLat, RetireLat} {
		if c&w != 0 {
			dst = appendDigits(dst, cost(w, e), 16, ' ')
		}
	}
	return dst
}

// head is the text of whose an event is: made once for events of a task on a CPU, of which
// there are many in turn.
func (f *formatter) head(e *Event, k *shown) []byte {
	s, of := e.Sample, k.columns&(Comm|PID|TID|CPU)
	if k.chains && k.columns&IP != 0 {
		of |= IP
	}
	h := &f.heads[uint32(s.TID^s.CPU<<2)%uint32(len(f.heads))]
	if h.columns != of || h.tid != s.TID || h.cpu != s.CPU || h.pid != s.PID || h.comm != e.Comm {
		h.columns, h.comm, h.pid, h.tid, h.cpu = of, e.Comm, s.PID, s.TID, s.CPU
		h.text = appendHead(h.text[:0], e, of)
	}
	return h.text
}

// head is the text that columns of a task on a CPU have.
type head struct {
	columns       Columns
	comm          string
	pid, tid, cpu int32
	text          []byte
}

// appendHead appends the columns about a task; of those with IP, its name is not aligned.
func appendHead(dst []byte, e *Event, c Columns) []byte {
	s := e.Sample
	if c&Comm != 0 {
		if c&IP == 0 {
			dst = appendBlanks(dst, 16-len(e.Comm))
		}
		from := len(dst)
		dst = append(oneLine(append(dst, e.Comm...), from), ' ')
	}
	switch {
	case c&(PID|TID) == PID|TID:
		dst = append(appendNumber(dst, int64(s.PID), 5), '/')
		from := len(dst)
		dst = appendNumber(dst, int64(s.TID), 0)
		dst = append(appendBlanks(dst, 5-(len(dst)-from)), ' ')
	case c&PID != 0:
		dst = append(appendNumber(dst, int64(s.PID), 5), ' ')
	case c&TID != 0:
		dst = append(appendNumber(dst, int64(s.TID), 5), ' ')
	}
	if c&CPU != 0 {
		dst = append(appendDigits(append(dst, '['), uint64(uint32(s.CPU)), 3, '0'), "] "...)
	}
	return dst
}

func (f *formatter) appendTime(dst []byte, at uint64) []byte {
	if f.o.Nanos {
		dst = appendSeconds(dst, at, 9, 15)
	} else {
		if f.rounded {
			at += 500
		}
		dst = appendSeconds(dst, at, 6, 12)
	}
	return append(dst, ": "...)
}

func appendPayload(dst []byte, e *Event, k *shown) []byte {
	c, raw := k.columns, e.Sample.Raw
	if c&(Trace|Fields|Raw) == 0 {
		return dst
	}
	from := len(dst)
	if k.kind.Format == nil {
		return appendDump(dst, raw)
	}
	if c&Trace != 0 {
		dst = k.kind.AppendText(dst, raw)
	}
	if c&Fields != 0 {
		if c&Trace != 0 {
			dst = append(dst, ' ')
		}
		dst = k.kind.AppendFields(dst, raw)
	}
	if k.kind.text {
		dst = oneLine(dst, from)
	}
	if c&Raw != 0 {
		dst = appendDump(dst, raw)
	}
	return dst
}

// appendDump appends bytes as perf script prints those of events without a format, in
// lines of their own (builtin-script.c, perf_sample__fprintf_bpf_output).
func appendDump(dst, raw []byte) []byte {
	const digits = "0123456789abcdef"
	const width = 8
	for at := 0; at < len(raw); at += width {
		line := raw[at:min(at+width, len(raw))]
		label := "Raw data:"
		if at > 0 {
			label = ""
		}
		dst = append(dst, '\n')
		from := len(dst)
		dst = append(padLeft(append(dst, label...), from, 17), ' ')
		offset := uint64(at)
		for shift := 12; shift >= 0; shift -= 4 {
			dst = append(dst, digits[offset>>shift&15])
		}
		dst = append(dst, ':')
		for i := range width {
			if i < len(line) {
				dst = append(dst, ' ', digits[line[i]>>4], digits[line[i]&15])
			} else {
				dst = append(dst, "   "...)
			}
		}
		dst = append(dst, "  "...)
		for _, c := range line {
			if c < ' ' || c >= 0x7f {
				c = '.'
			}
			dst = append(dst, c)
		}
	}
	return dst
}

// appendEnd appends the end of an event: what has names, and the end of its line.
func (p *Printer) appendEnd(dst []byte, it item, set *stacks.Set) []byte {
	if it.lost {
		return dst
	}
	switch p.o.Format {
	case JSON:
		return p.endJSON(dst, it, set)
	case CSV:
		return p.endCSV(dst, it, set)
	}
	c := it.kind.columns
	more := p.more[it.more : it.more+it.nMore]
	if it.kind.chains {
		dst = append(dst, '\n')
		for i, loc := range p.stack[it.from : it.from+it.n] {
			if p.nameOnly {
				from := len(dst) + 1
				dst = append(oneLine(append(append(dst, '\t'), symbolOf(set, loc)...), from), '\n')
				continue
			}
			dst = p.frames.append(dst, set, loc, p.addrs[it.from+i].of(set, loc))
		}
		return append(append(dst, more...), '\n')
	}
	if c&(IP|Sym|DSO) != 0 {
		if c&IP != 0 {
			dst = appendHex(append(dst, ' '), it.ip, 16)
		}
		if c&Sym != 0 {
			from := len(dst)
			dst = oneLine(append(append(dst, ' '), symbolOf(set, it.loc)...), from)
		}
		if c&DSO != 0 {
			from := len(dst)
			dst = append(oneLine(appendObject(append(dst, " ("...), set, it.loc), from), ')')
		}
	}
	return append(append(dst, more...), '\n')
}

// frames have the lines of locations, each of which is shown many times.
type frames struct {
	at   []frameText // by number of location
	text []byte
}

// frameText is where the lines of a location are.
type frameText struct {
	addr    uint64
	from, n int // n is 0 for none
}

// maxFrameText is how many bytes of lines are kept.
const maxFrameText = 16 << 20

// append appends the lines of a location.
func (f *frames) append(dst []byte, set *stacks.Set, loc uint32, addr uint64) []byte {
	if int(loc) < len(f.at) {
		if t := &f.at[loc]; t.n > 0 && t.addr == addr {
			return append(dst, f.text[t.from:t.from+t.n]...)
		}
	}
	from := len(dst)
	dst = appendFrame(dst, set, loc, addr)
	if n := len(dst) - from; len(f.text)+n <= maxFrameText {
		for len(f.at) <= int(loc) {
			f.at = append(f.at, frameText{})
		}
		if t := &f.at[loc]; t.n == 0 {
			*t = frameText{addr, len(f.text), n}
			f.text = append(f.text, dst[from:]...)
		}
	}
	return dst
}

// appendFrame appends the lines of a location, one for each inlined function.
func appendFrame(dst []byte, set *stacks.Set, loc uint32, addr uint64) []byte {
	lines := set.Lines(loc)
	for i := range max(len(lines), 1) {
		from := len(dst)
		dst = append(appendHex(append(dst, '\t'), addr, 16), ' ')
		name := unknown
		if i < len(lines) {
			name = functionOf(set, loc, lines[i].Function)
		}
		dst = append(dst, name...)
		dst = append(appendObject(append(dst, " ("...), set, loc), ')')
		if i+1 < len(lines) {
			dst = append(dst, " (inlined)"...)
		}
		dst = append(oneLine(dst, from), '\n')
	}
	return dst
}

// unknown is perf's name of what has none.
const unknown = "[unknown]"

func symbolOf(set *stacks.Set, loc uint32) string {
	lines := set.Lines(loc)
	if len(lines) == 0 {
		return unknown
	}
	return functionOf(set, loc, lines[0].Function)
}

// functionOf is the name of a function at a location. That it is one of a virtual machine is told
// by the object beside it.
func functionOf(set *stacks.Set, loc, function uint32) string {
	f := &set.Functions[function]
	if set.Locations[loc].Kind == stacks.KindGuest {
		return f.SystemName
	}
	return f.Name
}

// appendObject appends the file of a location, and a module of the kernel as perf names it:
// [ext4], wherever its file is (util/dso.c, __kmod_path__parse).
func appendObject(dst []byte, set *stacks.Set, loc uint32) []byte {
	file := objectOf(set, loc)
	if m := set.Locations[loc].Mapping; m < 0 || set.Mappings[m].Kind != stacks.KindModule || file[0] == '[' {
		return append(dst, file...)
	}
	from := len(dst)
	if dst = procfs.AppendModuleName(append(dst, '['), file); len(dst) == from+1 {
		return append(dst[:from], file...)
	}
	return append(dst, ']')
}

func objectOf(set *stacks.Set, loc uint32) string {
	m := set.Locations[loc].Mapping
	if m < 0 || set.Mappings[m].File == "" {
		return unknown
	}
	return set.Mappings[m].File
}

// Lost writes a loss, as the kernel's tracer shows them.
func (p *Printer) Lost(l samples.Loss) error {
	if !p.begun {
		return nil // before the first event that is listed
	}
	if p.workers != nil {
		return p.handLoss(l)
	}
	p.text = p.appendLost(p.text, l)
	return p.add(item{at: len(p.text), lost: true})
}

// appendLost appends how many events were lost, as the kernel says it (kernel/trace/trace.c,
// print_trace_line).
func appendLost(dst []byte, l samples.Loss) []byte {
	if l.AtLeast {
		return append(dst, "[LOST EVENTS]"...)
	}
	return append(appendNumber(append(dst, "[LOST "...), int64(l.Count), 0), " EVENTS]"...)
}

// appendLost appends the line of a loss.
func (p *Printer) appendLost(dst []byte, l samples.Loss) []byte {
	switch p.o.Format {
	case JSON:
		return p.lostJSON(dst, l)
	case CSV:
		return p.lostCSV(dst, l)
	}
	if l.CPU >= 0 {
		dst = append(appendNumber(append(dst, "CPU:"...), int64(l.CPU), 0), ' ')
	}
	return append(appendLost(dst, l), '\n')
}
