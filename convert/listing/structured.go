package listing

import (
	"encoding/hex"
	"strconv"

	"kprof/convert/samples"
	"kprof/convert/stacks"
	"kprof/perfevent/datasrc"
	"kprof/perfevent/format"
)

// appendJSON appends an event as an object, up to what has to wait for names.
func (f *formatter) appendJSON(dst []byte, e *Event, k *shown, at uint64) []byte {
	c, s := k.columns, e.Sample
	from := len(dst)
	key := func(name string) {
		if len(dst) > from {
			dst = append(dst, ',')
		} else {
			dst = append(dst, '{')
		}
		dst = append(append(append(dst, '"'), name...), `":`...)
	}
	if f.o.Input != "" {
		key("input")
		dst = appendJSON(dst, f.o.Input)
	}
	if c&Comm != 0 {
		key("comm")
		dst = appendJSON(dst, e.Comm)
	}
	if c&PID != 0 {
		key("pid")
		dst = strconv.AppendInt(dst, int64(s.PID), 10)
	}
	if c&TID != 0 {
		key("tid")
		dst = strconv.AppendInt(dst, int64(s.TID), 10)
	}
	if c&CPU != 0 {
		key("cpu")
		dst = strconv.AppendInt(dst, int64(s.CPU), 10)
	}
	if c&Time != 0 {
		key("time")
		dst = appendSeconds(dst, at, 9, 0)
	}
	if c&Period != 0 {
		key("period")
		dst = strconv.AppendUint(dst, e.Period, 10)
	}
	if c&EventName != 0 {
		key("event")
		dst = appendJSON(dst, k.kind.Name)
	}
	if c&Trace != 0 && k.kind.Format != nil {
		key("trace")
		f.scratch = k.kind.AppendText(f.scratch[:0], s.Raw)
		dst = appendJSON(dst, f.scratch)
	}
	if c&Fields != 0 && k.kind.Format != nil {
		key("fields")
		dst = k.kind.appendJSON(dst, s.Raw)
	}
	if c&Raw != 0 || c&(Trace|Fields) != 0 && k.kind.Format == nil {
		key("raw")
		dst = append(hex.AppendEncode(append(dst, '"'), s.Raw), '"')
	}
	if c&Addr != 0 {
		key("addr")
		dst = appendAddress(dst, s.Addr)
	}
	if c&DataSrc != 0 {
		key("data_src")
		dst = append(datasrc.Source(s.DataSrc).AppendTo(append(dst, '"')), '"')
	}
	for _, w := range [...]struct {
		column Columns
		name   string
	}{{Weight, "weight"}, {InsLat, "ins_lat"}, {RetireLat, "retire_lat"}} {
		if c&w.column != 0 {
			key(w.name)
			dst = strconv.AppendUint(dst, cost(w.column, e), 10)
		}
	}
	for _, r := range [...]Columns{IRegs, URegs} {
		if d, ok := k.kind.dump(c&r, e); ok {
			key(d.column)
			dst = d.appendJSON(dst)
		}
	}
	if c&PhysAddr != 0 {
		key("phys_addr")
		dst = appendAddress(dst, s.PhysAddr)
	}
	if c&DataPageSize != 0 {
		key("data_page_size")
		dst = strconv.AppendUint(dst, s.DataPageSize, 10)
	}
	if c&CodePageSize != 0 {
		key("code_page_size")
		dst = strconv.AppendUint(dst, s.CodePageSize, 10)
	}
	if c&IP != 0 && !k.chains {
		key("ip")
		dst = appendAddress(dst, s.IP)
	}
	if len(dst) == from {
		dst = append(dst, '{')
	}
	return dst
}

// appendAddress appends an address as a string, since numbers of JSON lose digits.
func appendAddress(dst []byte, addr uint64) []byte {
	return append(appendHex(append(dst, `"0x`...), addr, 0), '"')
}

// appendJSON appends the fields of a payload as an object: numbers, text, and as text what
// has names or is an address.
func (k *Kind) appendJSON(dst, raw []byte) []byte {
	dst = append(dst, '{')
	var b [64]byte
	for i := range k.Fields {
		f := &k.Fields[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), f.Name...), `":`...)
		switch {
		case f.Text():
			text, ok := f.String(raw)
			if !ok {
				dst = append(dst, "null"...)
				continue
			}
			dst = appendJSON(dst, text)
		case f.Scalar() && f.Kind == format.Integer && !f.Code && f.symbolic == nil:
			n, ok := f.Uint(raw)
			switch {
			case !ok:
				dst = append(dst, "null"...)
			case f.Signed:
				dst = strconv.AppendInt(dst, int64(n), 10)
			default:
				dst = strconv.AppendUint(dst, n, 10)
			}
		default:
			dst = appendJSON(dst, k.AppendValue(b[:0], f, raw))
		}
	}
	return append(dst, '}')
}

func (p *Printer) endJSON(dst []byte, it item, set *stacks.Set) []byte {
	comma := func() {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
	}
	c := it.kind.columns
	if !it.kind.chains {
		if c&Sym != 0 {
			comma()
			dst = appendJSON(append(dst, `"sym":`...), symbolOf(set, it.loc))
		}
		if c&DSO != 0 {
			comma()
			dst = appendJSON(append(dst, `"dso":`...), objectOf(set, it.loc))
		}
		return append(dst, "}\n"...)
	}
	comma()
	dst = append(dst, `"stack":[`...)
	for i, loc := range p.stack[it.from : it.from+it.n] {
		if p.nameOnly {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendJSON(append(dst, `{"sym":`...), symbolOf(set, loc)), '}')
			continue
		}
		addr := p.addrs[it.from+i].of(set, loc)
		lines := set.Lines(loc)
		for j := range max(len(lines), 1) {
			if i+j > 0 {
				dst = append(dst, ',')
			}
			dst = appendAddress(append(dst, `{"ip":`...), addr)
			if j < len(lines) {
				dst = appendJSON(append(dst, `,"sym":`...), functionOf(set, loc, lines[j].Function))
			}
			dst = appendJSON(append(dst, `,"dso":`...), objectOf(set, loc))
			if j+1 < len(lines) {
				dst = append(dst, `,"inlined":true`...)
			}
			dst = append(dst, '}')
		}
	}
	return append(dst, "]}\n"...)
}

func (p *Printer) lostJSON(dst []byte, l samples.Loss) []byte {
	dst = strconv.AppendUint(append(dst, `{"lost":`...), l.Count, 10)
	if l.AtLeast {
		dst = append(dst, `,"at_least":true`...)
	}
	if l.CPU >= 0 {
		dst = strconv.AppendInt(append(dst, `,"cpu":`...), int64(l.CPU), 10)
	}
	if l.Time != 0 {
		dst = appendSeconds(append(dst, `,"at":`...), l.Time, 9, 0)
	}
	if p.o.Input != "" {
		dst = appendJSON(append(dst, `,"input":`...), p.o.Input)
	}
	return append(dst, "}\n"...)
}

// appendCSV appends the fields of an event, up to those that have to wait for names.
func (f *formatter) appendCSV(dst []byte, e *Event, k *shown, at uint64) []byte {
	s := e.Sample
	dst = f.inputCSV(dst)
	for c := Comm; c < Sym; c <<= 1 {
		if f.header&c == 0 {
			continue
		}
		dst = f.commaCSV(dst, c)
		if k.columns&c == 0 {
			continue
		}
		from := len(dst)
		switch c {
		case Comm:
			dst = append(dst, e.Comm...)
		case PID:
			dst = strconv.AppendInt(dst, int64(s.PID), 10)
		case TID:
			dst = strconv.AppendInt(dst, int64(s.TID), 10)
		case CPU:
			dst = strconv.AppendInt(dst, int64(s.CPU), 10)
		case Time:
			dst = appendSeconds(dst, at, 9, 0)
		case Period:
			dst = strconv.AppendUint(dst, e.Period, 10)
		case EventName:
			dst = append(dst, k.kind.Name...)
		case Trace:
			if k.kind.Format != nil {
				dst = k.kind.AppendText(dst, s.Raw)
			} else {
				dst = hex.AppendEncode(dst, s.Raw)
			}
		case Fields:
			if k.kind.Format != nil {
				dst = k.kind.AppendFields(dst, s.Raw)
			}
		case Raw:
			dst = hex.AppendEncode(dst, s.Raw)
		case Addr:
			dst = appendHex(append(dst, "0x"...), s.Addr, 0)
		case DataSrc:
			dst = datasrc.Source(s.DataSrc).AppendTo(dst)
		case Weight, InsLat, RetireLat:
			dst = strconv.AppendUint(dst, cost(c, e), 10)
		case IRegs, URegs:
			if d, ok := k.kind.dump(c, e); ok {
				dst = d.appendFields(dst)
			}
		case PhysAddr:
			dst = appendHex(append(dst, "0x"...), s.PhysAddr, 0)
		case DataPageSize:
			dst = strconv.AppendUint(dst, s.DataPageSize, 10)
		case CodePageSize:
			dst = strconv.AppendUint(dst, s.CodePageSize, 10)
		case IP:
			dst = appendHex(append(dst, "0x"...), s.IP, 0)
		}
		dst = appendCSV(dst, from)
	}
	return dst
}

// commaCSV appends what is between a column and the one before it, if there is one.
func (f *formatter) commaCSV(dst []byte, c Columns) []byte {
	if f.header&(c-1) == 0 {
		return dst
	}
	return append(dst, ',')
}

// inputCSV appends the column that says which input it is, if there is one.
func (f *formatter) inputCSV(dst []byte) []byte {
	if f.o.Input == "" {
		return dst
	}
	from := len(dst)
	return append(appendCSV(append(dst, f.o.Input...), from), ',')
}

func (p *Printer) endCSV(dst []byte, it item, set *stacks.Set) []byte {
	for _, c := range []Columns{Sym, DSO} {
		if p.header&c == 0 {
			continue
		}
		dst = p.commaCSV(dst, c)
		from := len(dst)
		switch {
		case it.kind.columns&c == 0 || it.kind.chains && it.n == 0:
		case c == Sym:
			dst = append(dst, symbolOf(set, p.leaf(it))...)
		default:
			dst = append(dst, objectOf(set, p.leaf(it))...)
		}
		dst = appendCSV(dst, from)
	}
	if p.o.Stacks {
		dst = append(dst, ',')
		from := len(dst)
		for i := it.n - 1; i >= 0; i-- {
			dst = append(dst, symbolOf(set, p.stack[it.from+i])...)
			if i > 0 {
				dst = append(dst, ';')
			}
		}
		dst = appendCSV(dst, from)
	}
	return append(dst, '\n')
}

// leaf is the location where an event was.
func (p *Printer) leaf(it item) uint32 {
	if it.kind.chains {
		return p.stack[it.from]
	}
	return it.loc
}

// lostCSV appends a loss, as a row with its CPU and time, if these are shown, and in place
// of the event how many were lost.
func (p *Printer) lostCSV(dst []byte, l samples.Loss) []byte {
	dst = p.inputCSV(dst)
	for c := Comm; c < lastColumn; c <<= 1 {
		if p.header&c == 0 {
			continue
		}
		dst = p.commaCSV(dst, c)
		switch {
		case c == CPU && l.CPU >= 0:
			dst = strconv.AppendInt(dst, int64(l.CPU), 10)
		case c == Time && l.Time != 0 && p.o.Times == Absolute:
			dst = appendSeconds(dst, l.Time, 9, 0)
		case c == EventName:
			dst = appendLost(dst, l)
		}
	}
	if p.o.Stacks {
		dst = append(dst, ',')
	}
	return append(dst, '\n')
}
