package trace

import (
	"context"
	"fmt"
	"io"
	"strings"

	"kprof/convert/trace/ftracetext"
	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/perfdata"
)

// Text of a trace has names in place of addresses, and values in place of bytes. It is read
// twice: first to know which events there are, with which fields, and which functions. Each
// event then has a format of its own, made of what its fields were, and each function an
// address of its own, which only says that it is another one.

// TextOptions says what the text of a trace is in, and how to take it.
type TextOptions struct {
	Form TextForm
	// Lines takes lines of function_graph as events by themselves: the begins and the ends
	// of functions, as they stand. Else each call of a function is an event, with its callers
	// and the time that was its own.
	Lines bool
}

// OpenText opens the text of the kernel's tracer in the first size bytes of r, which must
// stay open as long as the Reader.
func OpenText(ctx context.Context, r io.ReaderAt, size int64, o TextOptions) (*perfdata.Reader, error) {
	t := &textTrace{
		in: r, size: size, form: o.Form, lines: o.Lines,
		kinds: map[kindName]*textKind{}, names: map[string]uint64{}, told: map[int32]string{}, ordered: true,
	}
	if err := t.survey(ctx); err != nil {
		return nil, err
	}
	data := perfdata.TracingData{Version: "0.6", LongSize: 8, PageSize: 4096}
	var events []abi.Event
	for i, k := range t.order {
		k.id = uint64(i) + 1
		k.place()
		data.Tracepoints = append(data.Tracepoints, perfdata.NewTracepoint(k.system, k.text()))
		events = append(events, k.event(t))
	}
	src := &perfdata.Source{
		Events: events, Tracer: true, Addressless: true, Ticks: t.ticks, Records: t.records,
		Features: perfdata.Features{Events: events, TracingData: data.AppendTo(nil), SampleTime: perfdata.SampleTime{First: t.first, Last: t.last}},
		Kernel:   &perfdata.KernelSymbols{Kallsyms: t.kallsyms()},
		Duration: func(e *perfdata.Event) bool { return t.order[e.Index].graph },
		Gaps:     func() perfdata.Gaps { return t.gaps }, Late: t.findLate(),
	}
	return perfdata.NewSourceReader(src), nil
}

// textTrace is the text of a trace.
type textTrace struct {
	in    io.ReaderAt
	size  int64
	form  TextForm
	lines bool

	kinds map[kindName]*textKind
	order []*textKind
	names map[string]uint64 // addresses of functions
	list  []string          // their names

	timed       bool             // events have times
	ticks       bool             // which are no ns
	tasked      bool             // and tasks
	starts      map[int32]task   // by CPU, who ran on it before the first line that tells
	told        map[int32]string // names of tasks, by tid, as events tell them
	placed      bool             // and CPUs
	ordered     bool             // and come in their order
	rings       map[int32]*textRing
	overwritten bool // the head says that events were
	annotated   bool // where a ring begins is told
	first, last uint64
	gaps        perfdata.Gaps
}

// kindName is the name of an event, in a buffer.
type kindName struct{ name, buffer string }

// textKind is an event.
type textKind struct {
	id           uint64
	system, name string
	buffer       string
	fields       []textField
	index        map[string]int // of fields
	end          int            // where the place of the whole text is
	chains       bool
	graph        bool // calls of functions with their times
}

// textField is a field: text unless all its values are numbers.
type textField struct {
	name                string
	text, hex, unsigned bool
	negative            bool // a value is a decimal number below 0
	offset              int
}

// numeral says how a value is a number.
type numeral uint8

const (
	noNumeral numeral = iota
	decimal
	negative // decimal
	unsigned // decimal, and too large for an int64
	hexadecimal
)

// numeralOf says how the value of a field is a number.
func numeralOf(f *ftracetext.Field) numeral {
	v, number := f.Number()
	switch {
	case !number:
		return noNumeral
	case f.Hex():
		return hexadecimal
	case f.Unsigned():
		return unsigned
	case v < 0:
		return negative
	}
	return decimal
}

// Bounds of what is kept of a text.
const (
	maxTextKinds  = 1 << 12
	maxTextFields = 1 << 6
	maxTextNames  = 1 << 22
)

// Addresses of functions: what is called has one in the middle of it.
const (
	nameBase = 0xffffffff00000000
	nameStep = 16
)

// address returns the address of a function.
func (t *textTrace) address(name string) uint64 {
	if a, ok := t.names[name]; ok {
		return a
	}
	if len(t.list) >= maxTextNames {
		return nameBase + nameStep/2
	}
	name = strings.Clone(name)
	t.list = append(t.list, name)
	a := nameBase + nameStep*uint64(len(t.list)) + nameStep/2
	t.names[name] = a
	return a
}

// unknownFunction is the name of a function whose end alone is in a trace, without a name.
const unknownFunction = "[unknown]"

// kallsyms are the functions as /proc/kallsyms has them.
func (t *textTrace) kallsyms() []byte {
	var b []byte
	add := func(addr uint64, name string) {
		b = fmt.Appendf(b, "%016x T %s\n", addr, name)
	}
	add(nameBase, "_text")
	add(nameBase, "_stext")
	for i, name := range t.list {
		add(nameBase+nameStep*uint64(i+1), strings.ReplaceAll(name, " ", "_"))
	}
	add(nameBase+nameStep*uint64(len(t.list)+1), "_etext")
	return b
}

// kind returns an event by its name, nil where there are too many.
func (t *textTrace) kind(name, buffer string) *textKind {
	if k := t.kinds[kindName{name, buffer}]; k != nil {
		return k
	}
	if len(t.order) >= maxTextKinds {
		return nil
	}
	n := kindName{strings.Clone(name), strings.Clone(buffer)}
	k := &textKind{system: systemOf(n.name), name: n.name, buffer: n.buffer, index: map[string]int{}}
	t.kinds[n] = k
	t.order = append(t.order, k)
	return k
}

// note takes up a field that an event has.
func (k *textKind) note(name string, n numeral) {
	i, ok := k.index[name]
	if !ok {
		if len(k.fields) >= maxTextFields || strings.HasPrefix(name, "common_") || name == wholeText {
			return
		}
		i = len(k.fields)
		name = strings.Clone(name)
		k.fields = append(k.fields, textField{name: name})
		k.index[name] = i
	}
	x := &k.fields[i]
	x.text, x.hex, x.unsigned = x.text || n == noNumeral, x.hex || n == hexadecimal, x.unsigned || n == unsigned
	x.negative = x.negative || n == negative
}

// wholeText is the field that holds all of an event's text.
const wholeText = "text"

const textHead = 8 // the common fields

// place says where fields are: numbers first, of 8 bytes each, then the places of texts, and
// that of the whole text.
func (k *textKind) place() {
	k.end = textHead
	for _, text := range []bool{false, true} {
		for i := range k.fields {
			if f := &k.fields[i]; f.text == text {
				f.offset = k.end
				k.end += 8
				if text {
					k.end -= 4
				}
			}
		}
	}
}

// text is the text of the event's format.
func (k *textKind) text() string {
	var b strings.Builder
	for _, f := range k.fields {
		switch {
		case f.text:
			fmt.Fprintf(&b, "\tfield:__data_loc char[] %s;\toffset:%d;\tsize:4;\tsigned:1;\n", f.name, f.offset)
		case f.hex && !f.negative:
			fmt.Fprintf(&b, "\tfield:unsigned long %s;\toffset:%d;\tsize:8;\tsigned:0;\n", f.name, f.offset)
		case f.unsigned:
			fmt.Fprintf(&b, "\tfield:u64 %s;\toffset:%d;\tsize:8;\tsigned:0;\n", f.name, f.offset)
		default:
			fmt.Fprintf(&b, "\tfield:s64 %s;\toffset:%d;\tsize:8;\tsigned:1;\n", f.name, f.offset)
		}
	}
	fmt.Fprintf(&b, "\tfield:__data_loc char[] %s;\toffset:%d;\tsize:4;\tsigned:1;\n", wholeText, k.end)
	return format.Text(k.name, k.id, b.String(), fmt.Sprintf(`"%%s", __get_str(%s)`, wholeText))
}

// event is the event of the recording.
func (k *textKind) event(t *textTrace) abi.Event {
	name := k.system + ":" + k.name
	if k.buffer != "" {
		name += "@" + k.buffer
	}
	e := abi.Event{Name: name, IDs: []uint64{k.id}, Attr: abi.Attr{
		Type: abi.TypeTracepoint, Size: abi.AttrSizeVer8, Config: k.id, SamplePeriod: 1,
		SampleType: abi.SampleIdentifier | abi.SampleRaw, Flags: abi.FlagSampleIDAll,
	}}
	if t.tasked {
		e.Attr.SampleType |= abi.SampleTID
	}
	if t.placed {
		e.Attr.SampleType |= abi.SampleCPU
	}
	if t.timed {
		e.Attr.SampleType |= abi.SampleTime
	}
	if k.chains {
		e.Attr.SampleType |= abi.SampleIP | abi.SampleCallchain
	}
	if k.graph {
		e.Attr.SampleType |= callSample
	}
	return e
}

// systems are those of events that are asked for by name, by what the names begin with; the first
// holds. The text does not tell them.
var systems = []struct{ prefix, system string }{
	{"kfree_skb", "skb"}, {"kvm_mmu_", "kvmmmu"}, {"kvm_tdp_mmu_", "kvmmmu"}, {"thermal_apic_", "irq_vectors"},
	{"softirq_noise", "osnoise"}, {"irq_noise", "osnoise"}, {"thread_noise", "osnoise"}, {"nmi_noise", "osnoise"}, {"sample_threshold", "osnoise"},
	{"osnoise_sample", "osnoise"}, {"timerlat_sample", "osnoise"},
	{"sched_", "sched"}, {"irq_handler_", "irq"}, {"softirq_", "irq"}, {"tasklet_", "irq"},
	{"hrtimer_", "timer"}, {"timer_", "timer"}, {"itimer_", "timer"}, {"tick_stop", "timer"},
	{"sys_enter_", "syscalls"}, {"sys_exit_", "syscalls"}, {"sys_enter", "raw_syscalls"}, {"sys_exit", "raw_syscalls"}, {"sys_", "syscalls"},
	{"block_", "block"}, {"workqueue_", "workqueue"}, {"rwmmio_", "rwmmio"}, {"rcu_", "rcu"}, {"signal_", "signal"},
	{"kmalloc", "kmem"}, {"kfree", "kmem"}, {"kmem_", "kmem"}, {"mm_page_", "kmem"}, {"rss_stat", "kmem"},
	{"mm_compaction_", "compaction"}, {"mm_vmscan_", "vmscan"}, {"mm_filemap_", "filemap"},
	{"cpu_", "power"}, {"power_", "power"}, {"clock_", "power"}, {"suspend_resume", "power"},
	{"contention_", "lock"}, {"page_fault_", "exceptions"}, {"task_", "task"}, {"net_", "net"}, {"netif_", "net"}, {"napi_poll", "napi"},
	{"skb_", "skb"}, {"consume_skb", "skb"}, {"tcp_", "tcp"}, {"ext4_", "ext4"}, {"xfs_", "xfs"}, {"btrfs_", "btrfs"},
	{"writeback_", "writeback"}, {"binder_", "binder"}, {"module_", "module"}, {"kvm_", "kvm"}, {"ipi_", "ipi"}, {"thermal_", "thermal"},
	{"function_graph", "ftrace"}, {"funcgraph_", "ftrace"}, {"function", "ftrace"}, {"func_repeats", "ftrace"}, {"print", "ftrace"}, {"kernel_stack", "ftrace"}, {"user_stack", "ftrace"}, {"tracing_mark_write", "ftrace"},
}

func systemOf(event string) string {
	if ftracetext.OfTracer(event) {
		return "ftrace"
	}
	if event != "" && event[0] >= '0' && event[0] <= '9' {
		return "unknown" // an event that the kernel did not print, by its number, as of a trace.dat
	}
	for _, s := range systems {
		if strings.HasPrefix(event, s.prefix) {
			return s.system
		}
	}
	return "trace"
}
