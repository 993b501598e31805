package trace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"kprof/convert/trace"
	"kprof/convert/trace/tracedat"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/tracetest"
)

const symbols = "ffffffff81000000 T _text\nffffffff81000000 T _stext\nffffffff81000100 T schedule\nffffffff81000200 T do_nanosleep\n" +
	"ffffffff81001000 T _etext\nffffffffc0000000 t module_code\t[mod]\nffffffffc0000f00 T more_code\t[mod]\n"

// file is a trace.dat of two CPUs and an instance, in all of which something happens.
func file(m tracetest.Machine, version int, compression string) *tracetest.Dat {
	return &tracetest.Dat{
		Machine: m, Version: version, Compression: compression, Chunk: 2,
		Ftrace:   []string{tracetest.Function, tracetest.KernelStack, tracetest.UserStack},
		Systems:  []tracetest.System{{Name: "test", Formats: []string{tracetest.Tick}}},
		Kallsyms: symbols, Cmdlines: "0 <idle>\n7 worker one\n8 other\n",
		Options: []tracetest.Option{
			{ID: 8, Data: m.Order.AppendUint32(nil, 2)},
			{ID: 5, Data: []byte("Linux box 6.1.0-test x86_64\x00")},
			{ID: 9, Data: []byte("3.1\x00")},
			{ID: 4, Data: []byte("[local] global\x00")},
			{ID: 7, Data: []byte("1000\x00")},
			{ID: 10, Data: []byte("8 1 other\n400000 500000 /bin/other\n\x00")},
			{ID: 999, Data: []byte("of a later version")},
		},
		Buffers: []tracetest.Instance{
			{Clock: "local", CPUs: [][][]byte{
				{
					m.Sub(1000, 0, m.Event(0, m.Tick(7, 1)), m.Event(20, m.Tick(7, 3)),
						m.Event(1, m.Stack(4, 7, 2, 0xffffffff81000110, 0xffffffffc0000010, 0xffffffff81000210))),
					// The stacks of the last event of a page are in the next one.
					m.Sub(1030, 0, m.Event(0, m.Tick(8, 5))),
					m.Sub(1031, 0, m.Event(0, m.Stack(4, 8, 8, 0xffffffff81000120, 0)), m.Event(1, m.Stack(13, 8, 6, 0x400100, 0x400200, 0)), m.Event(10, m.Tick(7, 8))),
				},
				{
					m.Sub(1010, 0, m.Event(0, m.Tick(0, 2)), m.Event(15, m.Tick(9, 4))),
					m.Sub(1040, 3, m.Event(0, m.Tick(9, 6)), m.Event(1, m.Stack(4, 10, 1, 0xffffffff81000100))),
				},
			}},
			{Name: "inst", Clock: "local", CPUs: [][][]byte{{m.Sub(1043, 0, m.Event(0, m.Tick(7, 9)))}, nil}},
		},
	}
}

// want are the records of file: names and maps, and events in the order of time.
const want = `mmap -1 ffffffff81000000-ffffffff81001000 [kernel.kallsyms]_text
mmap -1 ffffffffc0000000-ffffffffc0001000 [mod]
mmap 8 400000-500000 /bin/other
comm 0 <idle>
comm 7 worker one
comm 8 other
round
test:tick 7/7 [0] 2000 count=1 []
test:tick 0/0 [1] 2010 count=2 []
test:tick 7/7 [0] 2020 count=3 [K ffffffff81000110 ffffffffc0000010]
test:tick 9/9 [1] 2025 count=4 []
test:tick 6/8 [0] 2030 count=5 [K ffffffff81000120 U 400100 400200]
lost 3 [1] 2040
test:tick 9/9 [1] 2040 count=6 []
ftrace:kernel_stack 10/10 [1] 2041 [K ffffffff81000100]
test:tick 7/7 [0] 2042 count=8 []
test:tick@inst 7/7 [0] 2043 count=9 <none>
`

// records are the records of a reader as text.
func records(t testing.TB, r *perfdata.Reader) (string, error) {
	t.Helper()
	all, samples, err := text(t, r, r.Records())
	checkSideband(t, r, all, samples)
	return all, err
}

// checkSideband: the records that are no samples, and how many these are, are known without
// making any.
func checkSideband(t testing.TB, r *perfdata.Reader, all string, samples []uint64) {
	t.Helper()
	walk, known := r.Sideband()
	if walk == nil {
		return
	}
	if !slices.Equal(known, samples) {
		t.Errorf("samples %d, without making them %d", samples, known)
	}
	got, _, _ := text(t, r, walk)
	lines := func(s string) (found []string) {
		for line := range strings.Lines(s) {
			if word, _, _ := strings.Cut(line, " "); word == "mmap" || word == "comm" || word == "lost" {
				found = append(found, line)
			}
		}
		slices.Sort(found) // losses are told ring by ring
		return found
	}
	if a, b := lines(all), lines(got); !slices.Equal(a, b) {
		t.Errorf("the records that are no samples: %q, want %q", b, a)
	}
}

// text are records as text, and how many are samples of each event.
func text(t testing.TB, r *perfdata.Reader, walk iter.Seq2[*perfdata.Record, error]) (_ string, samples []uint64, _ error) {
	t.Helper()
	var b strings.Builder
	var s abi.Sample
	samples = make([]uint64, len(r.Events.Events))
	for rec, err := range walk {
		if err != nil {
			return b.String(), samples, err
		}
		o := r.Order()
		switch rec.Type {
		case abi.RecordMmap:
			start := o.Uint64(rec.Payload[8:])
			fmt.Fprintf(&b, "mmap %d %x-%x %s\n", int32(o.Uint32(rec.Payload)), start, start+o.Uint64(rec.Payload[16:]), cstring(rec.Payload[32:]))
		case abi.RecordComm:
			fmt.Fprintf(&b, "comm %d %s\n", o.Uint32(rec.Payload), cstring(rec.Payload[8:]))
		case abi.RecordFinishedRound:
			b.WriteString("round\n")
		case abi.RecordLost:
			f, ok := r.Events.Events[0].Layout.DecodeTrailer(rec.Payload)
			if !ok {
				t.Fatal("a loss without its trailer")
			}
			fmt.Fprintf(&b, "lost %d [%d] %d\n", o.Uint64(rec.Payload[8:]), f.CPU, f.Time)
		case abi.RecordSample:
			e := r.Events.OfSample(rec.Payload)
			samples[e.Index]++
			if err := e.Layout.DecodeSample(&s, rec.Misc, rec.Payload); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %d/%d [%d] %d", e.Name, s.PID, s.TID, s.CPU, s.Time)
			if e.Attr.Config == 500 {
				fmt.Fprintf(&b, " count=%d", o.Uint32(s.Raw[8:]))
			}
			if !s.HasChain {
				b.WriteString(" <none>\n")
				continue
			}
			var words []string
			for _, a := range s.Callchain {
				switch a {
				case abi.ContextKernel:
					words = append(words, "K")
				case abi.ContextUser:
					words = append(words, "U")
				default:
					words = append(words, fmt.Sprintf("%x", a))
				}
			}
			fmt.Fprintf(&b, " %v\n", words)
		}
	}
	return b.String(), samples, nil
}

func cstring(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

func open(t testing.TB, b []byte) *perfdata.Reader {
	t.Helper()
	r, err := trace.OpenDat(context.Background(), bytes.NewReader(b), int64(len(b)), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TestDat: the same trace in each form of the file makes the same records, twice.
func TestDat(t *testing.T) {
	for _, version := range []int{6, 7} {
		for _, compression := range []string{"none", "zstd"} {
			for _, order := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
				for _, page := range []int{4096, 16384} {
					if version == 6 && compression != "none" {
						continue
					}
					t.Run(fmt.Sprint(version, compression, order, page), func(t *testing.T) {
						m := tracetest.Machine{Order: order, Long: 8, Page: page}
						r := open(t, file(m, version, compression).Bytes())
						for range 2 {
							got, err := records(t, r)
							if err != nil || got != want {
								t.Fatalf("%v\n%s\nwant\n%s", err, got, want)
							}
						}
						if h := &r.Features.Host; h.Hostname != "box" || h.OSRelease != "6.1.0-test" || h.Arch != "x86_64" || h.CPUs.Online != 2 {
							t.Errorf("host %+v", h)
						}
						if st := r.Features.SampleTime; st.First != 2000 || st.Last != 2043 {
							t.Errorf("from %d to %d", st.First, st.Last)
						}
						if k, err := r.KernelSymbols(); err != nil || k == nil || string(k.Kallsyms) != symbols {
							t.Errorf("symbols %v, %v", k, err)
						}
						if d, err := perfdata.DecodeTracingData(r.Features.TracingData); err != nil || len(d.Tracepoints) != 2 {
							t.Errorf("formats %+v, %v", d, err)
						}
					})
				}
			}
		}
	}
}

// TestSubBuffers: version 6 says in its header how large pages are, and the kernel's
// header_page that a sub-buffer has several of them.
func TestSubBuffers(t *testing.T) {
	m := tracetest.Machine{Long: 8, Page: 16384}
	b := file(m, 6, "none").Bytes()
	copy(b[14:], m.Order.AppendUint32(nil, 4096)) // magic, version, order, long
	got, err := records(t, open(t, b))
	if err != nil || got != want {
		t.Fatalf("%v\n%s", err, got)
	}
}

// TestSeparatedStacks: a stack that an interrupt's events separate from its own event is that
// event's, also where an interrupt interrupts another, and stacks of the interrupts are theirs.
func TestSeparatedStacks(t *testing.T) {
	const hardirq, softirq, nmi = 0x08, 0x10, 0x40
	m := tracetest.Machine{Long: 8, Page: 4096}
	in := func(flags byte, event []byte) []byte { event[2] = flags; return m.Event(1, event) }
	tick := func(flags byte, count int) []byte { return in(flags, m.Tick(7, count)) }
	kernel := func(flags byte, at uint64) []byte { return in(flags, m.Stack(4, 7, 1, at)) }
	user := func(at uint64) []byte { return in(0, m.Stack(13, 7, 7, at)) }
	for _, tt := range []struct {
		name   string
		events [][]byte
		want   string
	}{
		{"one", [][]byte{tick(0, 0), kernel(0, 0x9), tick(1, 1), tick(hardirq, 2), kernel(hardirq|1, 0xb), tick(hardirq, 3), kernel(1, 0xa), tick(0, 4), kernel(0, 0xc)},
			"0 [K 9], 1 [K a], 2 [K b], 3 [], 4 [K c]"},
		{"in each other", [][]byte{tick(0, 0), kernel(0, 0x9), tick(0, 1), tick(softirq, 2), tick(hardirq, 3), tick(nmi|hardirq, 4), kernel(nmi|hardirq, 0xd), kernel(hardirq, 0xc), kernel(softirq, 0xb), kernel(0, 0xa), tick(0, 5)},
			"0 [K 9], 1 [K a], 2 [K b], 3 [K c], 4 [K d], 5 []"},
		{"of the user", [][]byte{tick(0, 0), kernel(0, 0x9), user(0x8), tick(0, 1), tick(hardirq, 2), kernel(hardirq, 0xb), kernel(0, 0xa), tick(hardirq, 3), user(0xe), tick(0, 4), tick(hardirq, 5), kernel(0, 0xf), user(0x7)},
			"0 [K 9 U 8], 1 [K a U e], 2 [K b], 3 [], 4 [K f U 7], 5 []"},
		// Those of another level than the event before are not its own.
		{"of no event", [][]byte{tick(0, 0), kernel(0, 0x9), tick(0, 1), tick(hardirq, 2), tick(0, 3), tick(hardirq, 4), kernel(0, 0xa), kernel(0, 0xb)},
			"0 [K 9], 1 [], 2 [], 3 [K a], 4 [], stack [K b]"},
		{"of another task", [][]byte{tick(0, 0), kernel(0, 0x9), tick(0, 1), tick(hardirq, 2), m.Event(1, m.Stack(4, 8, 1, 0xa))},
			"0 [K 9], 1 [], 2 [], stack [K a]"},
	} {
		d := file(m, 7, "none")
		d.Buffers = []tracetest.Instance{{CPUs: [][][]byte{{m.Sub(5, 0, tt.events...)}}}}
		got, err := records(t, open(t, d.Bytes()))
		var found []string
		for line := range strings.Lines(got) {
			line = strings.TrimSpace(line)
			if _, event, ok := strings.Cut(line, " count="); ok {
				found = append(found, event)
			} else if strings.HasPrefix(line, "ftrace:kernel_stack") {
				found = append(found, "stack "+line[strings.Index(line, "[K"):])
			}
		}
		if s := strings.Join(found, ", "); s != tt.want || err != nil {
			t.Errorf("%s: %v\n%s, want\n%s", tt.name, err, s, tt.want)
		}
	}
}

// TestFunction: what the function tracer wrote has the function and its caller, or the
// stack behind it, without the mark of the tracer's own trampoline.
func TestFunction(t *testing.T) {
	m := tracetest.Machine{Long: 8, Page: 4096}
	d := file(m, 7, "none")
	call := func(delta uint32, ip, parent uint64) []byte {
		return m.Event(delta, m.Order.AppendUint64(m.Order.AppendUint64(m.Common(1, 7), ip), parent))
	}
	d.Buffers = []tracetest.Instance{{CPUs: [][][]byte{{m.Sub(5, 0, call(0, 0xffffffff81000100, 0xffffffff81000205),
		call(1, 0xffffffff81000100, 0xffffffff81000205), m.Event(0, m.Stack(4, 7, 4, 0x7fffffff, 0xffffffff81000104, 0xffffffff81000205, 0xffffffffc0000001)))}}}}
	got, err := records(t, open(t, d.Bytes()))
	if _, got, _ = strings.Cut(got, "round\n"); err != nil || got != "ftrace:function 7/7 [0] 1005 [K ffffffff81000100 ffffffff81000205]\nftrace:function 7/7 [0] 1006 [K ffffffff81000104 ffffffff81000205 ffffffffc0000001]\n" {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestScale: times of a clock that does not count ns.
func TestScale(t *testing.T) {
	m := tracetest.Machine{Long: 8, Page: 4096}
	d := file(m, 7, "none")
	scale := m.Order.AppendUint64(m.Order.AppendUint32(m.Order.AppendUint32(nil, 3<<20), 21), 0)
	d.Options = []tracetest.Option{{ID: 14, Data: scale}, {ID: 1, Data: []byte("0x10\x00")}}
	got, err := records(t, open(t, d.Bytes()))
	if !strings.Contains(got, fmt.Sprintf("[0] %d count=1 ", 1000*3/2+16*1000)) || err != nil {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestTicks: times of a clock that does not count ns are told to be its ticks, unless the file
// says what makes ns of them.
func TestTicks(t *testing.T) {
	m := tracetest.Machine{Long: 8, Page: 4096}
	scale := tracetest.Option{ID: 14, Data: m.Order.AppendUint64(m.Order.AppendUint32(m.Order.AppendUint32(nil, 3<<20), 21), 0)}
	for _, version := range []int{6, 7} {
		for _, tt := range []struct {
			clock string
			more  []tracetest.Option
			want  string
		}{
			{"x86-tsc", nil, "x86-tsc"}, {"counter", nil, "counter"}, {"uptime", nil, "uptime"},
			{"x86-tsc", []tracetest.Option{scale}, ""},
			{"local", nil, ""}, {"tai", nil, ""}, {"", nil, ""},
		} {
			d := file(m, version, "none")
			d.Options = append(tt.more, tracetest.Option{ID: 4, Data: append([]byte("local ["+tt.clock+"]"), 0)}, tracetest.Option{ID: 8, Data: m.Order.AppendUint32(nil, 2)})
			for i := range d.Buffers {
				d.Buffers[i].Clock = tt.clock
			}
			if clock, ticks := open(t, d.Bytes()).Ticks(); clock != tt.want || ticks != (tt.want != "") {
				t.Errorf("version %d, %+v: %q, %v", version, tt, clock, ticks)
			}
		}
	}
}

// TestTicksOfInstance: whether times of an instance are ticks, the statistics of its CPUs tell, as trace-cmd
// writes the clock of the top buffer for all of them, and as that of the file the one of the first.
func TestTicksOfInstance(t *testing.T) {
	m := tracetest.Machine{Long: 8, Page: 4096}
	stats := func(text string) tracetest.Option { return tracetest.Option{ID: 2, Data: []byte(text + "\x00")} }
	ns, ticks := stats("CPU: 0\nentries: 1\noldest event ts:  2147.645596\nnow ts:  2153.000001\n"), stats("CPU: 0\nentries: 1\noldest event ts: 125\nnow ts: 2309\n")
	top, inst := stats("\nBuffer: top\n"), stats("\nBuffer: inst\n\n")
	for _, version := range []int{6, 7} {
		for i, tt := range []struct {
			clock string // of the file
			stats []tracetest.Option
			want  string
			ticks bool
		}{
			{"local", []tracetest.Option{ns, inst, ticks}, "", true},
			{"counter", []tracetest.Option{inst, ticks}, "counter", true},
			{"counter", nil, "counter", true},
			{"local", []tracetest.Option{ns, inst, ns}, "", false},
			{"counter", []tracetest.Option{inst, ns}, "", false},
			{"local", []tracetest.Option{ns, top, ticks}, "", false},
		} {
			d := file(m, version, "none")
			d.Options = append(tt.stats, tracetest.Option{ID: 4, Data: append([]byte("local ["+tt.clock+"]"), 0)}, tracetest.Option{ID: 8, Data: m.Order.AppendUint32(nil, 2)})
			if tt.clock != "local" {
				d.Buffers[0].CPUs = make([][][]byte, 2) // recorded of the instance alone
			}
			if clock, ticks := open(t, d.Bytes()).Ticks(); clock != tt.want || ticks != tt.ticks {
				t.Errorf("version %d, file %d: %q, %v", version, i, clock, ticks)
			}
		}
	}
}

// TestCut: a file that ends anywhere gives the events that are there, in order, and says
// that something is missing, or is no trace.dat.
func TestCut(t *testing.T) {
	all := strings.Split(want, "\n")
	for _, form := range []struct {
		version     int
		compression string
	}{{6, "none"}, {7, "none"}, {7, "zstd"}} {
		m := tracetest.Machine{Long: 8, Page: 512}
		b := file(m, form.version, form.compression).Bytes()
		some := false
		for n := len(b) - 1; n >= 0; n -= 13 {
			r, err := trace.OpenDat(context.Background(), bytes.NewReader(b[:n]), int64(n), false)
			if err != nil {
				if !errors.Is(err, tracedat.ErrFormat) {
					t.Fatalf("%v at %d: %v", form, n, err)
				}
				continue
			}
			got, err := records(t, r)
			r.Close()
			var cut *perfdata.TruncatedError
			if !errors.As(err, &cut) && n < len(b)-m.Page {
				t.Fatalf("%v at %d of %d: %v\n%s", form, n, len(b), err, got)
			}
			lines := strings.Split(got, "\n")
			some = some || len(lines) > 10 && len(lines) < len(all)
			for _, l := range lines {
				l, _, _ = strings.Cut(l, " [K")
				l = strings.TrimSuffix(strings.TrimSuffix(l, " []"), " <none>")
				if name, rest, ok := strings.Cut(l, " ["); ok && strings.HasPrefix(name, "test:") {
					l = " [" + rest // what is lost may have told the process
				}
				if !slices.ContainsFunc(all, func(a string) bool { return strings.Contains(a, l) }) && !strings.HasPrefix(l, "unknown:") && !strings.HasPrefix(l, "lost") {
					t.Fatalf("%v at %d: %s", form, n, l)
				}
			}
		}
		if !some {
			t.Errorf("%v: no cut left a part", form)
		}
	}
}

// TestDamagedPages are counted.
func TestDamagedPages(t *testing.T) {
	m := tracetest.Machine{Long: 8, Page: 512}
	d := file(m, 7, "none")
	copy(d.Buffers[0].CPUs[1][0][16+16:], m.LongEvent(1, []byte("x"))[:4])
	copy(d.Buffers[0].CPUs[1][0][16+16+4:], m.Order.AppendUint32(nil, 1<<30))
	got, err := records(t, open(t, d.Bytes()))
	if err == nil || !strings.Contains(err.Error(), "1 page is damaged") || strings.Contains(got, "count=4") || !strings.Contains(got, "count=8") {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestAllocs(t *testing.T) {
	m := tracetest.Machine{Long: 8, Page: 65536}
	var entries [][]byte
	const n = 1000
	for i := range n {
		entries = append(entries, m.Event(1, m.Tick(7, i)), m.Event(0, m.Stack(4, 7, 1, 0xffffffff81000100)))
	}
	d := file(m, 7, "none")
	d.Buffers = []tracetest.Instance{{CPUs: [][][]byte{{m.Sub(5, 0, entries[:600]...), m.Sub(1005, 0, entries[600:1200]...), m.Sub(2005, 0, entries[1200:]...)}}}}
	r := open(t, d.Bytes())
	seen := 0
	allocs := testing.AllocsPerRun(3, func() {
		seen = 0
		for _, err := range r.Records() {
			if err != nil {
				t.Fatal(err)
			}
			seen++
		}
	})
	if seen < n || allocs > n/4 {
		t.Errorf("%v allocations for %d records", allocs, seen)
	}
}

// FuzzOpenDat looks for what panics, does not end or takes much memory.
func FuzzOpenDat(f *testing.F) {
	for _, m := range []tracetest.Machine{{Order: abi.LittleEndian, Long: 8, Page: 512}, {Order: abi.BigEndian, Long: 8, Page: 512}} {
		f.Add(file(m, 6, "none").Bytes())
		f.Add(file(m, 7, "none").Bytes())
		f.Add(file(m, 7, "zstd").Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := trace.OpenDat(context.Background(), bytes.NewReader(b), int64(len(b)), false)
		if err != nil {
			return
		}
		defer r.Close()
		decode(t, r)
	})
}

// decode decodes all samples of a recording that may be any.
func decode(t *testing.T, r *perfdata.Reader) {
	t.Helper()
	var s abi.Sample
	for rec, err := range r.Records() {
		if err != nil {
			break
		}
		if rec.Type == abi.RecordSample {
			e := r.Events.OfSample(rec.Payload)
			if e == nil {
				t.Fatal("a sample of no event")
			}
			if err := e.Layout.DecodeSample(&s, rec.Misc, rec.Payload); err != nil {
				t.Fatal(err)
			}
		}
	}
}
