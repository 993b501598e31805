package replay

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprof/convert/naming"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
	"kprof/symbolize"
)

// simpleperfFile assembles a recording as simpleperf writes it, with what it says of
// itself.
func simpleperfFile(t *testing.T, text, metaInfo string) *perfdata.Reader {
	t.Helper()
	rec, err := perftext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	rec.Features.Unknown = []perfdata.RawFeature{{ID: perfdata.FeatureSimpleperfMetaInfo, Body: []byte(metaInfo)}}
	return rec.Reader(t, perftext.Form{})
}

func dumpReader(r *perfdata.Reader, opts Options) string {
	return dump(File(context.Background(), r, opts))
}

// words are the payload of a record in hex.
func words(w ...uint64) string {
	var b []byte
	for _, v := range w {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return hex.EncodeToString(b)
}

// TestSimpleperfExact: callchains hold addresses of calls.
func TestSimpleperfExact(t *testing.T) {
	const text = `
event cycles type=hardware
mmap t=0 pid=7 addr=0x1000 len=0x1000 file=/a
sample t=1 pid=7 kernel 0xffffffff81000010 0xffffffff81000020 user 0x1010 0x1020
`
	const chain = "kernel? 0xffffffff81000010 < kernel? %#x < /a+0x10 < /a+%#x"
	for _, c := range []struct {
		meta string
		want string
	}{
		{"simpleperf_version\x001\x00", fmt.Sprintf(chain, uint64(0xffffffff81000020), 0x20)},
		{"", fmt.Sprintf(chain, uint64(0xffffffff8100001f), 0x1f)},
	} {
		rec := perftext.MustParse(text)
		if c.meta != "" {
			rec.Features.Unknown = []perfdata.RawFeature{{ID: perfdata.FeatureSimpleperfMetaInfo, Body: []byte(c.meta)}}
		}
		b, err := rec.Assemble(perftext.Form{})
		if err != nil {
			t.Fatal(err)
		}
		if got := dump(convertBytes(b, false, Options{})); !strings.Contains(got, c.want) {
			t.Errorf("%q: got\n%swant %s", c.meta, got, c.want)
		}
	}
}

// TestSimpleperfJIT: files with one function each, all of them at the same offset of
// files of the same name, are told apart, and named by where the code was.
func TestSimpleperfJIT(t *testing.T) {
	r := simpleperfFile(t, `
event cycles type=hardware
mmap2 t=0 pid=7 addr=0x1000 len=0x100 off=0x40 prot=0x4000 file=jit_cache
mmap2 t=0 pid=7 addr=0x1100 len=0x100 off=0x40 prot=0x4000 file=jit_cache
mmap2 t=0 pid=7 addr=0x2000 len=0x100 off=0x40 file=/lib.so
sample t=1 pid=7 user 0x1010 0x1110 0x2010
`, "simpleperf_version\x001\x00")
	set, _, err := File(t.Context(), r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	symbols := []perfdata.FileSymbol{{VAddr: 0x1000, Len: 0x100, Name: "first"}, {VAddr: 0x1100, Len: 0x100, Name: "second"}}
	naming.Recorded(set, []perfdata.FileSymbols{
		{Path: "jit_cache", Kind: perfdata.FileELF, VAddr: 0x9000, Offset: 0x10, HasOffset: true, Symbols: symbols},
		{Path: "/lib.so", Kind: perfdata.FileELF, HasOffset: true, Symbols: []perfdata.FileSymbol{{VAddr: 0x50, Len: 1, Name: "third"}}},
	}, symbolize.DemangleSimple)
	if got := namesOf(set); got != "first second third" {
		t.Errorf("named %q", got)
	}
}

// namesOf are the names on the only stack of a Set.
func namesOf(set *stacks.Set) string {
	var names []string
	for _, loc := range set.Stack(set.Sample(0).Stack) {
		name := "?"
		if l := set.Lines(loc); len(l) > 0 {
			name = set.Functions[l[0].Function].Name
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// TestSimpleperfOffCPU: a scheduler switch weighs the time until the thread is seen
// on a CPU again, by a sample or by a record that says so.
func TestSimpleperfOffCPU(t *testing.T) {
	const trailer = "0700000007000000" // pid and tid
	in := func(time uint64) string {   // SWITCH of thread 7, with id 1 and CPU 0
		return fmt.Sprintf("record type=14 data=%s%s\n", trailer, words(time, 0, 1))
	}
	text := `
event cpu-clock type=software ids=1
event sched:sched_switch type=tracepoint config=5 ids=2
sample t=100 id=1 pid=7 period=50 user 0x1000
sample t=200 id=2 pid=7 period=1 user 0x2000
sample t=210 id=2 pid=8 period=1 user 0x3000
sample t=250 id=1 pid=9 period=50 user 0x1000
record type=14 misc=0x2000 data=` + trailer + words(260, 0, 1) + "\n" + in(300) + `
sample t=600 id=2 pid=7 period=1 user 0x2000
sample t=900 id=2 pid=7 period=1 user 0x2000
sample t=1000 id=1 pid=8 period=50 user 0x1000
`
	const traced = "trace_offcpu\x00true\x00"
	want := `cpu-clock :7/7: ? 0x1000 = 1 50
cpu-clock :8/8: ? 0x1000 = 1 50
cpu-clock :9/9: ? 0x1000 = 1 50
sched:sched_switch :7/7: ? 0x2000 = 3 400
sched:sched_switch :8/8: ? 0x3000 = 1 790
`
	for i := range 2 {
		r := simpleperfFile(t, text, traced)
		set, st, err := File(t.Context(), r, Options{})
		if got := dump(set, st, err); !strings.HasPrefix(got, want) {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		if st.UnfinishedWaits != 1 {
			t.Errorf("%d threads never came back, want 1", st.UnfinishedWaits)
		}
		e := set.Events[1]
		if c := WeightColumn(set, 1, &r.Events.Events[1].Attr); c != 1 || e.Values[1].Unit != "nanoseconds" {
			t.Errorf("column %d of %v weighs", c, e.Values)
		}
		if i == 0 { // the order of the file does not matter
			lines := strings.Split(strings.TrimSpace(text), "\n")
			lines[4], lines[10] = lines[10], lines[4]
			text = strings.Join(lines, "\n") + "\n"
		}
	}
	got := dumpReader(simpleperfFile(t, text, "trace_offcpu\x00false\x00"), Options{})
	if !strings.Contains(got, "sched:sched_switch :7/7: ? 0x2000 = 3 3") {
		t.Errorf("without times, got\n%s", got)
	}
	set, _, err := File(t.Context(), simpleperfFile(t, text, traced), Options{Selection: Selection{Events: []string{"sched:sched_switch"}, Times: true}})
	if err != nil || len(set.TimedSamples) != 4 || set.TimedSamples[0].Value != 100 || set.Period != 0 {
		t.Errorf("moments %+v, period %d, %v", set.TimedSamples, set.Period, err)
	}
}

// TestSimpleperfTraceOffCPU: of a process alone, nothing tells when its threads come back but what
// they do next: a sample, or leaving again, or that another thread of it leaves for them.
func TestSimpleperfTraceOffCPU(t *testing.T) {
	text := `event cpu-clock type=software period=1 ids=9 sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all
event sched:sched_switch type=tracepoint config=1 period=1 ids=1 sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all
comm t=1 pid=7 comm=seven
comm t=1 pid=7 tid=8 comm=eight
`
	left := func(t, tid, next uint32) {
		o := abi.LittleEndian
		raw := o.AppendUint32(o.AppendUint64(o.AppendUint32(o.AppendUint32(nil, 0), tid), 1), next)
		text += fmt.Sprintf("sample t=%d pid=7 tid=%d id=1 raw=%x kernel %#x\n", t, tid, raw, 0xffffffff81000000+uint64(t))
	}
	left(10, 7, 0)
	text += "sample t=25 pid=7 id=9 user 0x1000\n"
	left(30, 7, 0)
	left(40, 7, 99)
	left(50, 8, 7)
	text += "sample t=60 pid=7 id=9 user 0x1000\n"
	rec := withSwitches(abi.LittleEndian, text)
	rec.Features.Unknown = []perfdata.RawFeature{{ID: perfdata.FeatureSimpleperfMetaInfo, Body: []byte("trace_offcpu\x00true\x00")}}
	set, st, err := File(t.Context(), rec.Reader(t, perftext.Form{}), Options{Selection: Selection{OffCPU: true}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0x1e seven interruptible [1 10 0 0 10]", "0x28 seven interruptible [1 10 0 0 10]",
		"0x32 eight interruptible [1 0 0 10 0]", "0xa seven interruptible [1 15 0 0 15]",
	}
	if got := stateRows(set); !slices.Equal(got, want) || st.OffCPU.Lost != 0 || st.LatePoints != 0 {
		t.Errorf("%q, want %q, %+v", got, want, st.OffCPU)
	}
	rec.Features.TracingData = nil // as of older ones
	if _, _, err := File(t.Context(), rec.Reader(t, perftext.Form{}), Options{Selection: Selection{OffCPU: true}}); !errors.Is(err, ErrNoSwitchFields) {
		t.Errorf("without fields: %v", err)
	}
}

// TestSimpleperfJoinedChain: a joined callchain continues the user part of the sample
// behind it.
func TestSimpleperfJoinedChain(t *testing.T) {
	chain := func(typ uint64, time uint64, ips ...uint64) string {
		w := append([]uint64{7<<32 | 7, typ, time, uint64(len(ips))}, ips...)
		w = append(w, make([]uint64, len(ips))...) // stack pointers
		return fmt.Sprintf("record type=32775 data=%s\n", words(w...))
	}
	text := "event cycles type=hardware\n" +
		chain(0, 10, 0x1, 0x2, 0x3, 0x4) + // as it was
		chain(2, 10, 0x1000, 0x2000, 0x3000) +
		"sample t=10 pid=7 kernel 0xffffffff81000000 user 0x1000 0x2000\n" +
		"sample t=11 pid=7 user 0x1000 0x2000\n" + // at another time
		chain(2, 12, 0x5000) + // no longer than what is there
		"sample t=12 pid=7 user 0x1000 0x2000\n" +
		"sample t=12 pid=8 tid=9 user 0x6000\n" +
		"record type=32775 data=0700\n" +
		"record type=32775 data=" + words(7<<32|7, 2, 13, 1<<60) + "\n" +
		"sample t=13 pid=7 user 0x7000\n"
	want := `cycles :7/7: ? 0x1000 < ? 0x2000 = 2 2
cycles :7/7: ? 0x7000 = 1 1
cycles :7/7: kernel? 0xffffffff81000000 < ? 0x1000 < ? 0x2000 < ? 0x3000 = 1 1
cycles :9/8: ? 0x6000 = 1 1
`
	if got := dumpReader(simpleperfFile(t, text, "a\x00b\x00"), Options{}); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// FuzzSimpleperfRecords reads records of simpleperf that may be damaged.
func FuzzSimpleperfRecords(f *testing.F) {
	f.Add(uint16(32775), uint16(0), words(7<<32|7, 2, 10, 1, 0x1000, 0))
	f.Add(uint16(32777), uint16(1), "04000000aabbccdd")
	f.Add(uint16(32774), uint16(0), words(1, 0, 9))
	f.Add(uint16(66), uint16(0), "04000000aabbccdd")
	f.Add(uint16(14), uint16(0), words(7<<32|7, 10, 0, 1))
	f.Fuzz(func(t *testing.T, typ, misc uint16, data string) {
		raw, err := hex.DecodeString(data)
		if err != nil || len(raw) > 1<<12 {
			return
		}
		b, err := perftext.MustParse(fmt.Sprintf(`
event cpu-clock type=software ids=1
event sched:sched_switch type=tracepoint config=5 ids=2
sample t=10 id=2 pid=7 user 0x1000
record type=%d misc=%d data=%x
sample t=20 id=2 pid=7 user 0x1000
`, typ, misc, raw)).Assemble(perftext.Form{})
		if err != nil {
			return
		}
		r, err := perfdata.NewReaderAt(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		r.Features.MetaInfo = []perfdata.KeyValue{{Key: "trace_offcpu", Value: "true"}}
		set, st, err := File(t.Context(), r, Options{})
		if err == nil && st.Truncated == nil && set.NumSamples() == 0 && st.Records[abi.RecordSample] > 0 && st.BadSamples+st.UnknownEvent == 0 {
			t.Errorf("samples are lost: %+v", st)
		}
	})
}
