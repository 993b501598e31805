// Package payload finds the fields of a recording's events and binds expressions to them.
//
// Tracepoints and probes of tracefs have fields. Their formats are in the recording
// (perfdata.TracingData), or in tracefs while it is made: perfdata.ReadTracingData makes
// the one of the other. They are parsed when they are first asked for, once an event.
//
//	Formats            the text of all formats, by number
//	   │ Of(event)
//	   ▼
//	format.Format      the fields of an event
//	   │ Bind(expression)
//	   ▼
//	Bound.Of(event)    an expr.Program over them, evaluated on a Sample
package payload

import (
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/format/printfmt"
	"kprof/perfevent/perfdata"
)

// Formats are the formats of the events of a recording. They are not for several
// goroutines at once: the first look at an event parses its format.
type Formats struct {
	machine format.Machine
	texts   map[uint64]perfdata.Tracepoint
	parsed  map[uint64]parsed
	printk  string
	strings map[uint64]string

	// PageSize is how many bytes a page of memory has on the machine, 0 where that is not
	// told.
	PageSize uint32
	// Arch is the machine of the recording, as uname -m or Go calls it: it says what registers are
	// called. "" stands for not known.
	Arch string
}

type parsed struct {
	format *format.Format
	err    error
}

// New returns the formats that tracing data hold. Nil is none.
func New(t *perfdata.TracingData) *Formats {
	f := &Formats{texts: map[uint64]perfdata.Tracepoint{}, parsed: map[uint64]parsed{}}
	if t == nil {
		return f
	}
	f.machine, f.printk = format.Machine{Order: t.Order, LongSize: int(t.LongSize)}, t.Printk
	f.PageSize = t.PageSize
	for _, tp := range t.Tracepoints {
		if _, twice := f.texts[tp.ID]; !twice {
			f.texts[tp.ID] = tp
		}
	}
	return f
}

// Decode returns the formats that a TRACING_DATA feature holds; of a damaged one those
// before the damage, with the error.
func Decode(feature []byte) (*Formats, error) {
	if len(feature) == 0 {
		return New(nil), nil
	}
	t, err := perfdata.DecodeTracingData(feature)
	return New(t), err
}

// Of returns the format of an event, nil when it has none: it is no tracepoint, or the
// recording does not describe it. A format that cannot be read is an error, of type
// *format.SyntaxError, each time it is asked for.
func (f *Formats) Of(a *abi.Attr) (*format.Format, error) {
	if a.Type != abi.TypeTracepoint {
		return nil, nil
	}
	if p, ok := f.parsed[a.Config]; ok {
		return p.format, p.err
	}
	tp, ok := f.texts[a.Config]
	if !ok {
		return nil, nil
	}
	var p parsed
	if p.format, p.err = format.Parse(tp.Format, f.machine); p.err == nil {
		p.format.System = tp.System
	}
	f.parsed[a.Config] = p
	return p.format, p.err
}

// Machine is the kernel that wrote the payloads.
func (f *Formats) Machine() format.Machine { return f.machine }

// Printer returns what prints the records of a format as the kernel does, with the
// strings of the kernel that the recording has. symbol names addresses of its code, and
// may be nil.
func (f *Formats) Printer(of *format.Format, symbol func(addr uint64) (name string, offset uint64, ok bool)) *printfmt.Printer {
	if f.strings == nil {
		f.strings = printfmt.ParseStrings(f.printk)
	}
	return printfmt.Compile(of, printfmt.Options{
		Symbol:       symbol,
		KernelString: func(addr uint64) (string, bool) { s, ok := f.strings[addr]; return s, ok },
	})
}

// EventName is what an event is called in expressions: "sched:sched_switch" without the
// modifiers behind it, and a probe as it was asked for.
func EventName(recorded string, f *format.Format) string {
	if f == nil {
		return recorded
	}
	full := f.System + ":" + f.Name
	if recorded == "" || strings.HasPrefix(recorded, full) {
		return full
	}
	return recorded
}
