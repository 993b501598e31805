package replay

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kprof/convert/payload"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// Two tracepoints: kmem:kmalloc has a signed field, an unsigned one and a text,
// kmem:kfree has other fields.
func fieldFormats(o abi.Order) *perfdata.TracingData {
	const common = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	return &perfdata.TracingData{
		Version: "0.6", Order: o, LongSize: 8, PageSize: 4096, HeaderPage: "\n", HeaderEvent: "\n",
		Tracepoints: []perfdata.Tracepoint{
			{System: "kmem", Name: "kmalloc", ID: 1, Format: "name: kmalloc\nID: 1\nformat:\n" + common +
				"\tfield:s64 delta;\toffset:8;\tsize:8;\tsigned:1;\n\tfield:size_t bytes_alloc;\toffset:16;\tsize:8;\tsigned:0;\n" +
				"\tfield:char comm[4];\toffset:24;\tsize:4;\tsigned:0;\n\tfield:int ret;\toffset:28;\tsize:4;\tsigned:1;\n" +
				"\nprint fmt: \"%s %d\", __print_symbolic(REC->bytes_alloc, { 8, \"small\" }, { 64, \"large\" }), REC->ret\n"},
			{System: "kmem", Name: "kfree", ID: 2, Format: "name: kfree\nID: 2\nformat:\n" + common +
				"\tfield:void * ptr;\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n"},
		},
	}
}

// alloc is a sample of kmem:kmalloc.
type alloc struct {
	delta int64
	bytes uint64
	comm  string
	ret   int32
}

func (a alloc) raw(o abi.Order) string {
	b := o.AppendUint64(make([]byte, 8), uint64(a.delta))
	b = o.AppendUint64(b, a.bytes)
	b = append(b, (a.comm + "\x00\x00\x00\x00")[:4]...)
	return hex.EncodeToString(o.AppendUint32(b, uint32(a.ret)))
}

// fieldRecording has the samples of kmalloc, each of task 7 on stacks by turns, one of
// kmalloc that is too short for its fields, one of kfree, and one of a clock.
func fieldRecording(allocs []alloc, o abi.Order) *perftext.Recording {
	var b strings.Builder
	b.WriteString(`event kmem:kmalloc type=tracepoint config=1 period=1 ids=1 sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all
event kmem:kfree type=tracepoint config=2 period=1 ids=2 sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all
event cpu-clock type=software config=0 period=1 ids=3 sample=ip,tid,time,callchain,cpu,identifier flags=sample_id_all
comm t=1 pid=7 comm=seven
`)
	for i, a := range allocs {
		fmt.Fprintf(&b, "sample t=%d pid=7 cpu=%d id=1 raw=%s kernel %#x\n", 10+i, i%2, a.raw(o), 0xffffffff81000000+uint64(i%3))
	}
	fmt.Fprintf(&b, "sample t=500 pid=7 cpu=0 id=1 raw=%s kernel 0xffffffff81000009\n", alloc{}.raw(o)[:24])
	fmt.Fprintf(&b, "sample t=501 pid=7 cpu=0 id=2 raw=%s kernel 0xffffffff81000009\n", alloc{}.raw(o)[:32])
	b.WriteString("sample t=502 pid=7 cpu=0 id=3 kernel 0xffffffff81000009\n")
	rec := perftext.MustParse(b.String())
	rec.Features.TracingData = fieldFormats(o).AppendTo(nil)
	return rec
}

func mustExpr(t testing.TB, src string) *expr.Expr {
	t.Helper()
	if src == "" {
		return nil
	}
	x, err := expr.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// everyWay converts a recording as a file, from a pipe, and live, which must be equal.
func everyWay(t *testing.T, allocs []alloc, opts Options) (*stacks.Set, Stats) {
	t.Helper()
	var set *stacks.Set
	var st Stats
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		rec := fieldRecording(allocs, o)
		ways := map[string]func() (*stacks.Set, Stats, error){
			"live": func() (*stacks.Set, Stats, error) {
				live := opts
				live.Formats = payload.New(fieldFormats(o))
				return convertLive(rec, o, live)
			},
		}
		for _, f := range []perftext.Form{{Order: o}, {Order: o, Pipe: true}} {
			whole, err := rec.Assemble(f)
			if err != nil {
				t.Fatal(err)
			}
			ways[f.String()] = func() (*stacks.Set, Stats, error) { return convertBytes(whole, false, opts) }
			if f.Pipe {
				ways["a stream of "+f.String()] = func() (*stacks.Set, Stats, error) { return convertBytes(whole, true, opts) }
			}
		}
		for name, way := range ways {
			s, stats, err := way()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if set == nil {
				set, st = s, stats
			} else if got, want := rowsText(s), rowsText(set); got != want || !reflect.DeepEqual(stats.Samples, st.Samples) {
				t.Errorf("%s: %+v\n%s\nwant %+v\n%s", name, stats.Samples, got, st.Samples, want)
			}
		}
	}
	return set, st
}

// rowsText is the events and rows of a Set, sorted.
func rowsText(s *stacks.Set) string {
	lines := []string{}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		var addrs []string
		for _, loc := range s.Stack(x.Stack) {
			addrs = append(addrs, fmt.Sprintf("%x", s.Locations[loc].Addr))
		}
		lines = append(lines, fmt.Sprintln(s.Events[x.Event].Name, addrs, s.Labels(x.Labels), x.Values))
	}
	slices.Sort(lines)
	return fmt.Sprintf("%v\n%s", s.Events, strings.Join(lines, ""))
}

// TestValue: the sums of an expression are those that the numbers have which went into
// the recording.
func TestValue(t *testing.T) {
	allocs := []alloc{{-5, 8, "a", 0}, {7, 64, "b", -2}, {-1 << 40, 1 << 40, "a", 3}, {3, 8, "a", -2}, {0, 0, "", 0}}
	sums := func(of func(alloc) int64) (by [3]int64) {
		for i, a := range allocs {
			by[i%3] += of(a)
		}
		return by
	}
	for _, c := range []struct {
		value, unit string
		want        stacks.ValueType
		sums        [3]int64 // by stack
	}{
		{"bytes_alloc", "", stacks.ValueType{Type: "bytes_alloc", Unit: "bytes"}, sums(func(a alloc) int64 { return int64(a.bytes) })},
		{"delta", "", stacks.ValueType{Type: "delta", Unit: "count"}, sums(func(a alloc) int64 { return a.delta })},
		{"delta*2 + ret", "pages", stacks.ValueType{Type: "delta*2 + ret", Unit: "pages"}, sums(func(a alloc) int64 { return 2*a.delta + int64(a.ret) })},
		{"kmalloc.bytes_alloc + 1", "", stacks.ValueType{Type: "kmalloc.bytes_alloc + 1", Unit: "bytes"}, sums(func(a alloc) int64 { return int64(a.bytes) + 1 })},
	} {
		set, st := everyWay(t, allocs, Options{Selection: Selection{Value: mustExpr(t, c.value), Unit: c.unit, Times: true}})
		if len(set.Events) != 1 || set.Events[0].Name != "kmem:kmalloc" || set.Events[0].Values[1] != c.want {
			t.Fatalf("%s: events %v, want %v", c.value, set.Events, c.want)
		}
		got := map[uint64][2]int64{}
		for i := range set.NumSamples() {
			x := set.Sample(i)
			got[set.Locations[set.Stack(x.Stack)[0]].Addr-0xffffffff81000000] = [2]int64(x.Values)
		}
		want := map[uint64][2]int64{0: {2, c.sums[0]}, 1: {2, c.sums[1]}, 2: {1, c.sums[2]}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", c.value, got, want)
		}
		var moments int64
		for _, m := range set.TimedSamples {
			moments += m.Value
		}
		if total := c.sums[0] + c.sums[1] + c.sums[2]; moments != total || len(set.TimedSamples) != len(allocs) {
			t.Errorf("%s: single samples %d of %d, want %d of %d", c.value, len(set.TimedSamples), moments, len(allocs), total)
		}
		for i, want := range []uint64{1, 1, 1} { // the short one, kfree, the clock
			if e := st.Samples[i]; e.Valueless != want || (len(e.NoValue) > 0) != (i > 0) || e.Unmatched != 0 {
				t.Errorf("%s: %+v, want %d without value", c.value, e, want)
			}
		}
	}
}

// TestSaturated: values that an int64 does not hold are cut, as is their sum.
func TestSaturated(t *testing.T) {
	for _, c := range []struct {
		value string
		in    []alloc
		sum   int64
		cut   uint64
	}{
		{"bytes_alloc", []alloc{{bytes: math.MaxUint64}}, math.MaxInt64, 1},
		{"bytes_alloc", []alloc{{bytes: math.MaxInt64}}, math.MaxInt64, 0},
		{"bytes_alloc", []alloc{{bytes: 1 << 62}, {bytes: 1 << 62}, {bytes: 5}}, math.MaxInt64, 2},
		{"delta", []alloc{{delta: math.MinInt64}}, -math.MaxInt64, 1},
		{"delta", []alloc{{delta: -1 << 62}, {delta: -1 << 62}}, -math.MaxInt64, 1},
		{"delta", []alloc{{delta: -4}, {delta: 9}}, 5, 0},
	} {
		set, st := everyWay(t, c.in, Options{Selection: Selection{Value: mustExpr(t, c.value)}})
		if got := set.Totals(0)[1]; got != c.sum || st.Samples[0].Saturated != c.cut {
			t.Errorf("%s of %v: %d with %d cut, want %d with %d", c.value, c.in, got, st.Samples[0].Saturated, c.sum, c.cut)
		}
	}
}

// TestWhere: samples that match, and those for which nobody can tell.
func TestWhere(t *testing.T) {
	allocs := []alloc{{-5, 8, "a", 0}, {7, 64, "b", -2}, {0, 128, "a", 3}, {3, 8, "a", -2}}
	for _, c := range []struct {
		where     string
		taken     int64    // of all events
		unmatched []uint64 // by event
	}{
		{"bytes_alloc >= 64", 2, []uint64{1, 1, 1}},
		{"delta < 0", 1, []uint64{1, 1, 1}},
		{"field.comm == 'a' && comm == 'seven'", 3, []uint64{1, 1, 1}},
		{"comm == 'seven'", 7, []uint64{0, 0, 0}},
		{"cpu == 1", 2, []uint64{0, 0, 0}},
		{"time >= 500ns", 3, []uint64{0, 0, 0}},
		{"event == 'kfree' || bytes_alloc > 100", 2, []uint64{1, 0, 1}},
		{"event ~ 'kmem:*'", 6, []uint64{0, 0, 0}},
	} {
		set, st := everyWay(t, allocs, Options{Selection: Selection{Where: mustExpr(t, c.where)}})
		var taken int64
		for _, n := range set.SampleCounts() {
			taken += n
		}
		var unmatched []uint64
		for _, e := range st.Samples {
			unmatched = append(unmatched, e.Unmatched)
		}
		if taken != c.taken || !slices.Equal(unmatched, c.unmatched) {
			t.Errorf("%s: %d samples, and none can tell of %v; want %d and %v", c.where, taken, unmatched, c.taken, c.unmatched)
		}
		if slices.ContainsFunc(set.SampleCounts(), func(n int64) bool { return n == 0 }) {
			t.Errorf("%s: events without samples: %v of %v", c.where, set.SampleCounts(), set.Events)
		}
	}
	_, st := everyWay(t, allocs, Options{Selection: Selection{Where: mustExpr(t, "bytes_alloc == 1"), PIDs: []int32{8}}})
	if l := st.LeftOut; l == nil || l.Samples != 7 || l.Matching != 0 || l.Unmatched != 3 {
		t.Errorf("left out %+v", l)
	}
	set, _ := everyWay(t, allocs, Options{Selection: Selection{Events: []string{"kmalloc"}, Where: mustExpr(t, "ret < 0"), Value: mustExpr(t, "bytes_alloc")}})
	if got := set.Totals(0); !slices.Equal(got, []int64{2, 72}) {
		t.Errorf("both: %v", got)
	}
}

// TestFieldLabels: labels say what the event itself prints of flags and symbols, names of
// errors, and numbers with their unit.
func TestFieldLabels(t *testing.T) {
	allocs := []alloc{{-5, 8, "a", 0}, {7, 64, "b", -2}, {0, 7, "a\xff", 3}, {3, 64, "", -2}, {3, 64, "", -1 << 30}}
	set, st := everyWay(t, allocs, Options{Selection: Selection{FieldLabels: []string{"delta", "kmalloc.bytes_alloc", "ret", "field.comm", "common_pid", "ptr"}}})
	got := map[string]int64{}
	for i := range set.NumSamples() {
		x := set.Sample(i)
		var text string
		for _, l := range set.Labels(x.Labels)[2:] {
			text += fmt.Sprintf("%s=%s%d%s ", l.Key, l.Str, l.Num, l.Unit)
		}
		got[text] += x.Values[0]
	}
	want := map[string]int64{
		"delta=-5 kmalloc.bytes_alloc=small0 ret=0 field.comm=a0 common_pid=0 ":             1,
		"delta=7 kmalloc.bytes_alloc=large0 ret=ENOENT0 field.comm=b0 common_pid=0 ":        1,
		"delta=0 kmalloc.bytes_alloc=0x70 ret=3 field.comm=a\uFFFD0 common_pid=0 ":          1,
		"delta=3 kmalloc.bytes_alloc=large0 ret=ENOENT0 field.comm=\"\"0 common_pid=0 ":     1,
		"delta=3 kmalloc.bytes_alloc=large0 ret=-1073741824 field.comm=\"\"0 common_pid=0 ": 1,
		"common_pid=0 ":          1, // too short for the others
		"common_pid=0 ptr=0x00 ": 1,
		"":                       1,
	}
	if !reflect.DeepEqual(got, want) || len(st.OverflowLabels) > 0 {
		t.Errorf("%v\nwant %v, %v", got, want, st.OverflowLabels)
	}
}

// TestMemoryLabels: labels say in perf's words what an access to memory was, and where its data was
// found.
func TestMemoryLabels(t *testing.T) {
	keys := []string{"mem_op", "mem_lvl", "data_src", "weight", "ins_lat", "data_page_size", "addr"}
	l := newFieldLabels((&Options{Selection: Selection{FieldLabels: keys}}).labelKeys())
	e := perfdata.NewEventSet(abi.LittleEndian, []abi.Event{{Name: "cpu/mem-loads/P", Attr: abi.Attr{
		Type: 4, SampleType: abi.SampleAddr | abi.SampleWeightStruct | abi.SampleDataSrc | abi.SampleDataPageSize,
	}}}).Events[0]
	fields := l.of(e, payload.New(nil))
	sample := expr.Sample{DataSrc: 0x182820042, Weight: 7, InsLat: 8, DataPageSize: 2 << 20, Addr: 0x1000}
	_, list := l.listOf(fields, &sample)
	want := []stacks.Label{
		{Key: "mem_op", Str: "LOAD"}, {Key: "mem_lvl", Str: "I/O hit"},
		{Key: "data_src", Str: "|OP LOAD|LVL I/O hit|SNP HitM|TLB Walker or Fault|LCK Yes|BLK  N/A"},
		{Key: "weight", Num: 7, Unit: "count"}, {Key: "ins_lat", Num: 8, Unit: "count"}, {Key: "data_page_size", Str: "2M"}, {Key: "addr", Str: "0x1000"},
	}
	if !slices.Equal(list, want) {
		t.Errorf("%v, want %v", list, want)
	}
	if n := testing.AllocsPerRun(100, func() { l.listOf(fields, &sample) }); n != 0 {
		t.Errorf("%v allocations for a sample like another", n)
	}
	sample.Without = expr.OwnDataSrc
	if _, list := l.listOf(fields, &sample); !slices.Equal(list, want[3:]) {
		t.Errorf("without data_src: %v, want %v", list, want[3:])
	}
}

// TestFieldLabelBounds: a key with more values than are told apart, and more lists of
// values than are.
func TestFieldLabelBounds(t *testing.T) {
	l := newFieldLabels((&Options{Selection: Selection{FieldLabels: []string{"bytes_alloc", "delta"}}}).labelKeys())
	formats := payload.New(fieldFormats(abi.LittleEndian))
	e := perfdata.NewEventSet(abi.LittleEndian, []abi.Event{{Name: "kmem:kmalloc", Attr: abi.Attr{Type: abi.TypeTracepoint, Config: 1}}}).Events[0]
	fields := l.of(e, formats)
	raw := make([]byte, 32)
	lists := len(l.first())
	take := func(bytes, delta uint64) {
		binary.LittleEndian.PutUint64(raw[16:], bytes)
		binary.LittleEndian.PutUint64(raw[8:], delta)
		id, list := l.listOf(fields, &expr.Sample{Raw: raw})
		if list != nil {
			lists++
		}
		if int(id) >= lists {
			t.Fatalf("list %d of %d", id, lists)
		}
	}
	const values = maxValues + 100
	for i := range uint64(values) {
		take(i, 0)
	}
	if got := l.overflows(); !slices.Equal(got, []LabelOverflow{{"bytes_alloc", 100}}) {
		t.Errorf("%v", got)
	}
	for i := range uint64(maxLists) {
		take(i%300, i/300)
	}
	if len(l.lists) != maxLists || l.overflow == 0 || len(l.values) > 2*maxValues+5 || lists != maxLists+2 {
		t.Errorf("%d lists, %d beyond, %d values", len(l.lists), l.overflow, len(l.values))
	}
}

// TestFieldErrors: what no event has is an error, before anything is converted.
func TestFieldErrors(t *testing.T) {
	rec := fieldRecording([]alloc{{}}, abi.LittleEndian)
	for _, selected := range []Selection{
		{Where: mustExpr(t, "bytes_allot > 1")}, {Value: mustExpr(t, "bytes_allot")}, {Where: mustExpr(t, "ptr > 1"), Events: []string{"kmalloc"}},
		{Where: mustExpr(t, "field.comm > 5")}, {FieldLabels: []string{"bytes_allot"}}, {FieldLabels: []string{"kfree.bytes_alloc"}},
	} {
		opts := Options{Selection: selected}
		is := func(err error) bool {
			if len(opts.FieldLabels) > 0 {
				return errors.As(err, new(*UnknownFieldError))
			}
			return errors.As(err, new(*expr.Error))
		}
		for _, f := range []perftext.Form{{}, {Pipe: true}} {
			whole, err := rec.Assemble(f)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := convertBytes(whole, f.Pipe, opts); !is(err) {
				t.Errorf("%v: %v", f, err)
			}
		}
		opts.Formats = payload.New(fieldFormats(abi.LittleEndian))
		c := NewCollector(abi.LittleEndian, rec.Events, opts)
		if err := c.Check(); !is(err) {
			t.Errorf("live: %v", err)
		}
	}
}

// fieldRound is roundOf of samples with fields.
func fieldRound(tb testing.TB, opts Options, n int) (*Collector, []byte, int) {
	var b strings.Builder
	b.WriteString("event kmem:kmalloc type=tracepoint config=1 sample=ip,tid,time,callchain,raw\ncomm t=0 pid=7 comm=x\n")
	for i := range n {
		fmt.Fprintf(&b, "sample t=%d pid=7 raw=%s kernel", i+1, alloc{int64(i), uint64(i), "abc", int32(-i % 5)}.raw(abi.LittleEndian))
		for k := range 20 {
			fmt.Fprintf(&b, " %#x", 0xffffffff81000010+uint64(0x100*(i%500+k)))
		}
		b.WriteByte('\n')
	}
	opts.Formats = payload.New(fieldFormats(abi.LittleEndian))
	return roundWith(tb, b.String(), opts)
}

// TestFieldsNoAllocation: neither does what its fields say.
func TestFieldsNoAllocation(t *testing.T) {
	for name, opts := range fieldOptions(t) {
		c, round, n := fieldRound(t, opts, 500)
		for range 4 {
			c.replayRound(t, round)
		}
		if allocs := testing.AllocsPerRun(10, func() { c.replayRound(t, round) }); allocs > 5 {
			t.Errorf("%s: %v allocations for %d samples", name, allocs, n)
		}
	}
}

func fieldOptions(tb testing.TB) map[string]Options {
	return map[string]Options{
		"periods": {},
		"label":   {Selection: Selection{FieldLabels: []string{"ret"}}},
		"labels":  {Selection: Selection{FieldLabels: []string{"ret", "field.comm"}}},
		"value":   {Selection: Selection{Value: mustExpr(tb, "bytes_alloc")}},
		"where":   {Selection: Selection{Where: mustExpr(tb, `bytes_alloc >= 0 && field.comm ~ "a*" && comm == "x"`)}},
	}
}

func BenchmarkFields(b *testing.B) {
	for name, opts := range fieldOptions(b) {
		b.Run(name, func(b *testing.B) {
			c, round, n := fieldRound(b, opts, 2000)
			b.ReportAllocs()
			for b.Loop() {
				c.replayRound(b, round)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/sample")
		})
	}
}

// TestFieldNamesOfRules: what a rule of spans calls its labels is named beside the fields.
func TestFieldNamesOfRules(t *testing.T) {
	b, err := syscallRecording(abi.LittleEndian).recording().Assemble(perftext.Form{})
	if err != nil {
		t.Fatal(err)
	}
	var unknown *UnknownFieldError
	if _, _, err := convertBytes(b, false, Options{Selection: Selection{Spans: mustRules(t, "span:syscalls"), FieldLabels: []string{"sycall"}}}); !errors.As(err, &unknown) {
		t.Fatal(err)
	}
	if want := []string{"error", "id", "kprof_sp", "ret", "syscall"}; !slices.Equal(unknown.Fields, want) || !slices.Equal(unknown.Near, []string{"syscall"}) {
		t.Errorf("%v, near %v; want %v", unknown.Fields, unknown.Near, want)
	}
}
