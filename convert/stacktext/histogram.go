package stacktext

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"kprof/convert/stacks"
)

// histogram reads what hist triggers of the kernel's tracer counted, of those whose keys have a stack
// (kernel/trace/trace_events_hist.c, hist_trigger_show):
//
//	# trigger info: hist:keys=next_pid.execname,common_stacktrace:vals=hitcount,bytes_req:… [active]
//	…
//	{ next_pid: bash            [      3050], common_stacktrace:
//	         schedule+0x10b/0x1a0
//	         hid_irq_in+0xc2/0x260 [usbhid]
//	} hitcount:          9  bytes_req:         42
//	…
//	Totals:
//	    Dropped: 3
//
// Other parts of a key are taken for the comm, as with bpftrace. Each histogram is an event, with the numbers of its
// entries as values. Hits that were dropped found no room in the histogram.
type histogram struct {
	*aggregation
	name    string            // of the histogram at hand
	hex     map[string]bool   // values that are written in hexadecimal
	event   int               // -1 before the first entry
	columns []string          // values of the event
	names   map[string]uint64 // how many histograms have a name
	sums    []int64
	values  []int64
	stacked bool // its keys have a stack
	open    bool // in a key
	comm    []byte
	depths  [len(histDepths)]depths
}

// stackKey ends what is before a stack in a key; since Linux 6.3 it is common_stacktrace, or a field of a synthetic
// event, "name.stacktrace", whose first frame is on the same line.
var stackKey = []byte("stacktrace")

var triggerInfo = []byte("# trigger info: hist:")

func readHistogram(r io.Reader) (*stacks.Set, *Stats, error) {
	h := histogram{aggregation: newAggregation(r), names: map[string]uint64{}}
	h.begin(nil)
	set, stats, err := h.each("histogram", h.line)
	if err == nil {
		for i := range h.depths {
			if n, frames := h.depths[i].cut(); n > 0 {
				stats.CutHistStacks, stats.CutFrames = n, frames
			}
		}
	}
	return set, stats, err
}

// begin begins a histogram, by what is behind "hist:".
func (h *histogram) begin(info []byte) {
	h.name, h.hex, h.event, h.stacked = "hist", map[string]bool{}, -1, false
	for i, part := range strings.Split(string(info), ":") {
		vals, isVals := strings.CutPrefix(part, "vals=")
		switch {
		case i == 0 && part != "" && !strings.Contains(part, "="):
			h.name = part
		case strings.HasPrefix(part, "keys="):
			h.stacked = strings.Contains(part, string(stackKey))
		case isVals:
			for v := range strings.SplitSeq(vals, ",") {
				if name, ok := strings.CutSuffix(v, ".hex"); ok {
					h.hex[name] = true
				}
			}
		}
	}
}

func (h *histogram) line(line []byte) error {
	switch {
	case bytes.HasPrefix(line, triggerInfo):
		h.leave()
		h.begin(line[len(triggerInfo):])
	case len(line) == 0 || line[0] == '#':
	case line[0] == '{': // the one before never ended, if it is open
		h.leave()
		h.open = true
		return h.key(line[1:])
	case !h.open:
		if dropped, ok := bytes.CutPrefix(trimStart(line), []byte("Dropped: ")); ok {
			n, _ := number(trimStart(dropped))
			h.stats.Lost += n
		}
	case line[0] == ',' || line[0] == '}':
		return h.key(line)
	default:
		h.symbol(trimStart(line))
	}
	return nil
}

// leave leaves out an entry that has not ended.
func (h *histogram) leave() {
	if h.open {
		h.unread()
	}
	h.open, h.comm, h.chain, h.cut = false, h.comm[:0], h.chain[:0], false
}

// key takes a line of a key, which may end it and the entry.
func (h *histogram) key(line []byte) error {
	end := bytes.LastIndexByte(line, '}')
	if end < 0 {
		end = len(line)
	}
	for part := range bytes.SplitSeq(line[:end], []byte(", ")) {
		part = bytes.Trim(part, ", ")
		name, value, _ := bytes.Cut(part, []byte(":"))
		switch i := bytes.Index(part, stackKey); {
		case i >= 0 && !bytes.Contains(part[:i], []byte(":")):
			if frame := bytes.Trim(part[i+len(stackKey):], ": "); len(frame) > 0 {
				h.symbol(frame)
			}
		case len(part) > 0:
			h.part(name, trimStart(value))
		}
	}
	if end == len(line) {
		return nil
	}
	return h.entry(line[end+1:])
}

// part takes a part of a key that is no stack. Of "next_pid: bash   [ 3050]", the option execname, it is the name of
// the task.
func (h *histogram) part(name, value []byte) {
	if len(h.comm)+len(name)+len(value) > maxLine {
		return
	}
	if len(h.comm) > 0 {
		h.comm = append(h.comm, ", "...)
	}
	if i := bytes.LastIndexByte(value, '['); i > 0 && value[len(value)-1] == ']' {
		if _, isNumber := number(trimStart(value[i+1 : len(value)-1])); isNumber {
			h.comm = append(h.comm, trimEnd(value[:i])...)
			return
		}
	}
	h.comm = append(append(append(h.comm, name...), ": "...), value...)
}

// symbol takes a frame, "hid_irq_in+0xc2/0x260 [usbhid]".
func (h *histogram) symbol(s []byte) {
	f := frame{symbol: s, dso: []byte("[kernel.kallsyms]")}
	if i := bytes.LastIndex(s, []byte(" [")); i > 0 && s[len(s)-1] == ']' {
		f.symbol, f.dso = s[:i], s[i+1:]
	}
	if i := bytes.LastIndexByte(f.symbol, '/'); i > 0 {
		if name, ok := cutOffset(f.symbol[:i]); ok {
			f.symbol = name
		}
	}
	h.frame(&f)
}

// entry ends an entry with its numbers: "hitcount:          9  bytes_req:         42". What is a share
// ("hitcount (%): 81.81") or a bar ("hitcount: ####") is none of them.
func (h *histogram) entry(s []byte) error {
	h.values = h.values[:0]
	var columns []string // of the first entry
	same := h.stacked
	for s = trimStart(s); len(s) > 0; s = trimStart(s) {
		name := firstWord(s)
		s = trimStart(s[len(name):])
		name, ok := bytes.CutSuffix(name, []byte(":"))
		if !ok {
			continue
		}
		n, ok := h.number(name, firstWord(s))
		if !ok {
			continue
		}
		if i := len(h.values); h.event < 0 {
			columns = append(columns, string(name))
		} else if i >= len(h.columns) || h.columns[i] != string(name) {
			same = false
		}
		h.values = append(h.values, n)
	}
	if same && h.event < 0 && len(columns) > 0 {
		if err := h.addEvent(columns); err != nil {
			return err
		}
	}
	if !same || h.event < 0 || len(h.values) != len(h.columns) {
		h.open = h.stacked // what has no stack is left out beside what has
		h.leave()
		return nil
	}
	for i, n := range h.values {
		if h.sums[i] > math.MaxInt64-n {
			return fmt.Errorf("the numbers of %q add up to more than can be stored", h.columns[i])
		}
		h.sums[i] += n
	}
	h.set.Add(h.event, h.set.Intern(h.chain), h.label(h.comm), h.values...)
	h.stats.Samples++
	h.stats.Taken++
	for i, most := range histDepths {
		h.depths[i].see(len(h.chain), most)
	}
	if h.cut {
		h.stats.ShortenedStacks++
	}
	h.open = false
	h.leave()
	return nil
}

// number reads the number of a column.
func (h *histogram) number(column, s []byte) (int64, bool) {
	n, ok := number(s)
	if h.hex[string(column)] {
		var err error
		n, err = strconv.ParseUint(string(s), 16, 64)
		ok = err == nil
	}
	return int64(n), ok && n <= math.MaxInt64
}

// addEvent adds the event of the histogram at hand.
func (h *histogram) addEvent(columns []string) error {
	if len(h.set.Events) == maxEvents {
		return fmt.Errorf("more than %d histograms", maxEvents)
	}
	h.names[h.name]++
	e := stacks.Event{Name: h.name}
	if n := h.names[h.name]; n > 1 {
		e.Name += " " + strconv.FormatUint(n, 10)
	}
	for _, c := range columns {
		unit := "count"
		if strings.HasPrefix(c, "bytes") {
			unit = "bytes"
		}
		e.Values = append(e.Values, stacks.ValueType{Type: c, Unit: unit})
	}
	h.event, h.columns, h.sums = h.set.AddEvent(e), columns, make([]int64, len(columns))
	return nil
}
