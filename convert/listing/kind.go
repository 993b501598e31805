package listing

import (
	"strings"
	"sync"

	"kprof/convert"
	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/format/printfmt"
	"kprof/perfevent/perfdata"
)

// Kind is an event of the recording: what all of its samples have in common.
type Kind struct {
	Event *perfdata.Event
	Name  string // as recorded: "sched:sched_switch"

	// Format describes the payloads, nil where the recording does not.
	Format *format.Format
	// Fields are those of Format that are not common to all events.
	Fields []Field

	address          bool // Options.Address asks for it
	text             bool // the payload may have text, which may be anything
	printer          *printfmt.Printer
	code             *kernelCode
	program          *expr.Program // of Options.Where
	matched, unknown uint64
	names            map[uint64][]string // of registers, by their mask
}

// Field is a field of a Kind.
type Field struct {
	*format.Field
	Code bool // it is the address of kernel code

	symbolic *printfmt.Symbolic
}

// kind returns the Kind of an event, which it makes when it is first seen.
func (l *Lister) kind(e *perfdata.Event) *Kind {
	for len(l.kinds) <= e.Index {
		l.kinds = append(l.kinds, nil)
	}
	if k := l.kinds[e.Index]; k != nil {
		return k
	}
	k := &Kind{Event: e, Name: e.Name, code: &l.code}
	if l.code.lister == nil {
		l.code.begin(l)
	}
	l.kinds[e.Index] = k
	k.address = l.o.Address != nil && l.o.Address(k)
	var err error
	if k.Format, err = l.formats.Of(&e.Attr); err != nil {
		l.warn(convert.Warning{Kind: convert.UnreadFormats, Event: e.Name, Err: err})
	}
	if k.Format == nil {
		k.Format = probeFormat(e, &l.from.features.Host, format.Machine{Order: l.from.events.Order})
	}
	if l.where != nil {
		if k.program, err = l.where.Of(e); err != nil {
			l.whereErr = err
		}
	}
	if k.Format == nil {
		return k
	}
	k.compile()
	if p := k.printer.Problem(); p != nil {
		l.warn(convert.Warning{Kind: convert.UnprintedEvent, Event: e.Name, Err: p})
	}
	return k
}

// compile makes what prints payloads.
func (k *Kind) compile() {
	k.printer = k.code.lister.formats.Printer(k.Format, k.code.symbol)
	own := k.Format.Own()
	k.Fields = make([]Field, len(own))
	for i := range own {
		f := Field{Field: &own[i], symbolic: k.printer.Symbolic(own[i].Name)}
		f.Code = format.CodeAddress(f.Name) && f.Scalar() && f.Elem == k.Format.LongSize
		k.Fields[i] = f
		k.text = k.text || f.Text() || f.Kind == format.Pointer || f.Kind == format.Opaque
	}
}

// clone returns a Kind that prints the same, for another goroutine.
func (k *Kind) clone() *Kind {
	c := *k
	if c.Format != nil {
		c.compile()
	}
	return &c
}

// AppendText appends what the kernel's print fmt makes of a payload.
func (k *Kind) AppendText(dst, raw []byte) []byte { return k.printer.AppendTo(dst, raw) }

// AppendFields appends the fields of a payload as name=value pairs with a blank between:
// flags and symbols by name, and addresses of code as the functions there.
func (k *Kind) AppendFields(dst, raw []byte) []byte {
	for i := range k.Fields {
		f := &k.Fields[i]
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(append(dst, f.Name...), '=')
		dst = k.AppendValue(dst, f, raw)
	}
	return dst
}

// AppendValue appends the value of one of Fields, as AppendFields does.
func (k *Kind) AppendValue(dst []byte, f *Field, raw []byte) []byte {
	if f.Code {
		if addr, ok := f.Uint(raw); ok {
			if named, ok := k.code.append(dst, addr); ok {
				return named
			}
		}
	}
	if f.symbolic != nil {
		return f.symbolic.AppendTo(dst, raw)
	}
	return f.AppendValue(dst, raw)
}

// kernelCode names addresses of the kernel's code. Its symbols are read when the first is
// asked for.
type kernelCode struct {
	lister *Lister
	once   sync.Once
	image  stacks.Mapping // the kernel's, as of the first event
	find   func(addr uint64) (name string, offset uint64, ok bool)
}

// symbol may be called by several goroutines.
func (c *kernelCode) symbol(addr uint64) (name string, offset uint64, ok bool) {
	c.once.Do(c.load)
	if c.find == nil {
		return "", 0, false
	}
	return c.find(addr)
}

// begin notes where the recorded kernel is.
func (c *kernelCode) begin(l *Lister) {
	c.lister, c.image = l, replay.KernelImage(l.tl, l.from.features.BuildIDs)
}

// load reads the symbols of the recorded kernel.
func (c *kernelCode) load() {
	if !c.lister.o.Unnamed {
		c.find, _ = c.lister.symbolizer().KernelCode(c.image) // numbers tell as much as they did
	}
}

// append appends a function and the offset in it: "do_sys_open+0x1a".
func (c *kernelCode) append(dst []byte, addr uint64) ([]byte, bool) {
	name, offset, ok := c.symbol(addr)
	if !ok {
		return dst, false
	}
	dst = append(append(dst, name...), "+0x"...)
	return appendHex(dst, offset, 0), true
}

// Formats of the probes that the PMUs of probes make, which have no text in tracefs:
// struct kprobe_trace_entry_head and its like of kernel/trace/trace_probe.h.
var (
	entryFormat = format.Text("probe", 0, `	field:unsigned long __probe_ip;	offset:8;	size:8;	signed:0;
`, `"(%pS)", REC->__probe_ip`)
	returnFormat = format.Text("probe", 0, `	field:unsigned long __probe_func;	offset:8;	size:8;	signed:0;
	field:unsigned long __probe_ret_ip;	offset:16;	size:8;	signed:0;
`, `"(%pS <- %pS)", REC->__probe_ret_ip, REC->__probe_func`)
)

// probeFormat is the format of a probe of the PMUs kprobe and uprobe, which are 64 bits
// wide here; nil for other events. Bit 0 of the config says that it is a return probe.
func probeFormat(e *perfdata.Event, host *perfdata.Host, m format.Machine) *format.Format {
	if e.Attr.SampleType&abi.SampleRaw == 0 || e.Attr.Type <= abi.TypeBreakpoint {
		return nil
	}
	pmu := ""
	for _, p := range host.PMUs {
		if p.Type == e.Attr.Type {
			pmu = p.Name
		}
	}
	kernel := pmu == "kprobe" || pmu == "" && (strings.HasPrefix(e.Name, "kprobe:") || strings.HasPrefix(e.Name, "kretprobe:"))
	user := pmu == "uprobe" || pmu == "" && (strings.HasPrefix(e.Name, "uprobe:") || strings.HasPrefix(e.Name, "uretprobe:"))
	if !kernel && !user {
		return nil
	}
	text := entryFormat
	if e.Attr.Config&1 != 0 {
		text = returnFormat
	}
	if user {
		text = strings.ReplaceAll(text, "%pS", "0x%lx")
	}
	f, err := format.Parse(text, m)
	if err != nil {
		return nil
	}
	return f
}
