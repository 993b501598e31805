package convert_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/zstd"

	"kprof/convert"
	"kprof/convert/folded"
	"kprof/convert/locate"
	"kprof/convert/replay"
	"kprof/convert/sniff"
	"kprof/convert/span"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
	"kprof/symbolize"
)

// foldedText is a profile's main event as folded stacks.
func foldedText(t *testing.T, p *convert.Profile) string {
	t.Helper()
	var b bytes.Buffer
	event, column := p.MainEvent()
	if err := folded.Write(&b, p.Set, folded.Options{Event: event, Column: column}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// demo are the names of the recording testdata/demo.data.
func demo() convert.Options {
	return convert.Options{Symbols: symbolize.Options{KallsymsPath: "../testdata/demo.kallsyms", Root: "../testdata/symfs"}}
}

// TestRead: a recording is the same profile from a file, from a reader of what is
// compressed, and where it says what it is by nothing but its content.
func TestRead(t *testing.T) {
	want, err := os.ReadFile("../testdata/demo.folded")
	if err != nil {
		t.Fatal(err)
	}
	p, err := convert.Open(t.Context(), "../testdata/demo.data", demo())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), foldedText(t, p)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if p.Header == nil || p.Header.OSRelease != "6.18.44-fc-v657" || p.Source != "../testdata/demo.data" || p.Set.TimeNanos == 0 {
		t.Errorf("source %q, header %+v, start %d", p.Source, p.Header, p.Set.TimeNanos)
	}
	if !slices.Contains(p.Set.Comments, "kernel: 6.18.44-fc-v657 x86_64") || !slices.Contains(p.Set.Comments, "event: cpu-clock") {
		t.Errorf("comments %q", p.Set.Comments)
	}

	data, err := os.ReadFile("../testdata/demo.data")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, in := range []io.Reader{&packed, strings.NewReader(string(want))} {
		p, err := convert.Read(t.Context(), in, demo())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), foldedText(t, p)); diff != "" {
			t.Errorf("from a reader: -want +got:\n%s", diff)
		}
	}
}

// TestUncompressedPprof: a profile is the same compressed and not, whatever its first field is,
// and has what google/pprof finds in it. Go's heap profiles begin with the type of the period.
func TestUncompressedPprof(t *testing.T) {
	kept := make([]byte, 8<<20)
	inputs := map[string][]byte{}
	for _, name := range []string{"heap", "goroutine", "threadcreate"} {
		var packed bytes.Buffer
		if err := pprof.Lookup(name).WriteTo(&packed, 0); err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(&packed)
		if err != nil {
			t.Fatal(err)
		}
		if inputs[name], err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	runtime.KeepAlive(kept)
	var cpu []byte
	for _, w := range []uint64{0, 3, 0, 10000, 0, 7, 2, 0x42ef04, 0x42ee00, 5, 1, 0x42ef04, 0, 1, 0} {
		cpu = binary.LittleEndian.AppendUint64(cpu, w)
	}
	inputs["gperftools' CPU"] = append(cpu, "00400000-004d1000 r-xp 00000000 08:01 1 /usr/bin/bench\n"...)
	for name, data := range inputs {
		ref, err := profile.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		var want int64
		for _, s := range ref.Sample {
			want += s.Value[len(s.Value)-1]
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, in := range [][]byte{data, packed.Bytes()} {
			p, err := convert.Read(t.Context(), bytes.NewReader(in), convert.Options{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var sum int64
			for i := range p.Set.NumSamples() {
				v := p.Set.Sample(i).Values
				sum += v[len(v)-1]
			}
			if sum != want {
				t.Errorf("%s: %d, want %d", name, sum, want)
			}
			texts = append(texts, foldedText(t, p))
		}
		if diff := cmp.Diff(texts[1], texts[0]); diff != "" {
			t.Errorf("%s: -compressed +not:\n%s", name, diff)
		}
	}
}

// TestReadErrors: why there is no profile is a value.
func TestReadErrors(t *testing.T) {
	var unreadable *convert.UnreadableError
	_, err := convert.Read(t.Context(), strings.NewReader("<svg xmlns=\"http://www.w3.org/2000/svg\">"), convert.Options{})
	if !errors.As(err, &unreadable) || unreadable.Kind != sniff.SVG {
		t.Errorf("a picture: %v", err)
	}
	_, err = convert.Read(t.Context(), strings.NewReader(""), convert.Options{})
	if !errors.As(err, &unreadable) || unreadable.Kind != sniff.Empty {
		t.Errorf("nothing: %v", err)
	}
	_, err = convert.Read(t.Context(), strings.NewReader("\nhello world\n"), convert.Options{})
	if !errors.As(err, &unreadable) || unreadable.Kind != sniff.OtherText || unreadable.Line != "hello world" {
		t.Errorf("text: %v", err)
	}

	var unknown *convert.UnknownEventError
	o := demo()
	o.Events = []string{"cycles"}
	if _, err = convert.Open(t.Context(), "../testdata/demo.data", o); !errors.As(err, &unknown) || unknown.Pattern != "cycles" || unknown.Have != "cpu-clock (199)" {
		t.Errorf("another event: %v", err)
	}
	if _, err = convert.Read(t.Context(), strings.NewReader("a;b 1\n"), o); !errors.As(err, &unknown) || unknown.Have != "samples (1)" {
		t.Errorf("another event of folded stacks: %v", err)
	}

	var times *convert.TimeError
	for in, want := range map[string]convert.TimeReason{
		"a;b 1\n":                           convert.NoTimes,
		"a 1 1.0: e: \n\t 400000 f (x)\n\n": convert.PercentOfPipedText,
	} {
		r, err := convert.ParseTimeRange("1%,")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = convert.Read(t.Context(), strings.NewReader(in), convert.Options{Time: r}); !errors.As(err, &times) || times.Reason != want {
			t.Errorf("times of %q: %v", in, err)
		}
	}

	var empty *convert.EmptyError
	p, err := convert.Open(t.Context(), "../testdata/demo.data", convert.Options{Selection: convert.Selection{Comms: []string{"nobody"}}})
	if !errors.As(err, &empty) || p == nil || p.Stats.Samples[0].Samples != 199 {
		t.Errorf("nothing of that comm: %v, %+v", err, p)
	}
	if _, err := convert.Open(t.Context(), "nowhere", convert.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if p, err := convert.Open(ctx, "../testdata/demo.data", demo()); !errors.Is(err, context.Canceled) || p != nil {
		t.Errorf("cancelled: %v, %v", p, err)
	}
}

// TestWarnings: what is lost and missing is counted, and in the comments.
func TestWarnings(t *testing.T) {
	name := perftext.WriteFile(t, `event cpu-clock type=software config=0
comm t=1 pid=7 comm=x
mmap2 t=1 pid=7 addr=0x1000 len=0x1000 file=/gone/prog buildid=0123456789abcdef0123456789abcdef01234567
sample t=2 pid=7 user 0x1010
sample t=3 pid=7 user 0x1020
sample t=4 pid=8 user 0x7000
lost t=5 count=12
record type=70 data=0300000000000000
`)
	p, err := convert.Open(t.Context(), name, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	find := func(kind convert.WarningKind) (found convert.Warning) {
		for _, w := range p.Warnings {
			if w.Kind == kind {
				found = w
			}
		}
		return found
	}
	if w := find(convert.LostRecords); w.Count != 12 || !w.Kind.IsLoss() {
		t.Errorf("lost: %+v", p.Warnings)
	}
	if w := find(convert.UnnamedThreads); w.Count != 1 {
		t.Errorf("unnamed threads: %+v", p.Warnings)
	}
	if w := find(convert.HardwareTrace); w.Trace.Kind != "CoreSight" || !strings.Contains(w.String(), "a hardware trace (CoreSight), which") {
		t.Errorf("trace: %+v", p.Warnings)
	}
	w := find(convert.MissingNames)
	if w.File != "/gone/prog" || w.Reason != convert.ReasonForeignFile || int(100*w.Share) != 66 || !w.Shown() || w.Kind.IsLoss() {
		t.Errorf("missing names: %+v", p.Warnings)
	}
	if !errors.Is(w.Err, symbolize.ErrForeign) {
		t.Errorf("for want of %v", w.Err)
	}
	for _, c := range []string{
		"66.7% of samples have frames without a name in /gone/prog: recorded on another machine or boot",
		"warning: the recording holds a hardware trace (CoreSight), which is not decoded; ordinary samples alone are shown; " +
			"lost 12 records while recording; 1 sample of threads whose name was never recorded",
	} {
		if !slices.Contains(p.Set.Comments, c) {
			t.Errorf("no comment %q in %q", c, p.Set.Comments)
		}
	}

	// In words of the caller's.
	p, err = convert.Open(t.Context(), name, convert.Options{Wording: func(w *convert.Warning) string {
		if w.Kind == convert.MissingNames {
			return "ask for " + w.File
		}
		return w.String()
	}})
	if err != nil || !slices.Contains(p.Set.Comments, "ask for /gone/prog") {
		t.Errorf("%v, %q", err, p.Set.Comments)
	}

	// What is cut is told with its place.
	b, err := os.ReadFile("../testdata/demo.data")
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.data")
	livetest.WriteFile(t, cut, b[:len(b)/2])
	p, err = convert.Open(t.Context(), cut, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var truncated *perfdata.TruncatedError
	if w := find(convert.TruncatedRecording); !errors.As(w.Err, &truncated) || w.File != cut {
		t.Errorf("cut: %+v", p.Warnings)
	}
	for _, w := range p.Warnings {
		if s := w.String(); strings.Contains(s, "--") || strings.Contains(s, "(-") {
			t.Errorf("a library that speaks of flags: %q", s)
		}
	}
}

// TestLossWords: all counts of a recording have words, one and many.
func TestLossWords(t *testing.T) {
	told := map[string]bool{}
	for kind := convert.LostRecords; kind.IsLoss() && kind != convert.TruncatedRecording; kind++ {
		one, many := convert.Warning{Kind: kind, Count: 1}, convert.Warning{Kind: kind, Count: 2}
		if s := one.String(); strings.HasPrefix(s, "warning ") || !strings.Contains(s, "1 ") || strings.Contains(s, "%!") || told[s] {
			t.Errorf("kind %d: %q", kind, s)
		} else if m := many.String(); !strings.Contains(m, "2 ") || m == strings.Replace(s, "1 ", "2 ", 1) {
			t.Errorf("kind %d: two are as one: %q", kind, m)
		}
		told[one.String()] = true
	}
	st := replay.Stats{
		Lost: 1, LostSamples: 1, Throttled: 1, UnknownEvent: 1, BadSamples: 1, BadRecords: 1, Unnamed: 1, Exited: 1, UnknownTask: 1, Guest: 1, Hypervisor: 1,
		UnwalkedStacks: 1, TruncatedStacks: 1, MissingDeferredChains: 1, UnfinishedWaits: 1, OverflowTasks: 1, OverflowFrames: 1, AbandonedLookups: 1,
		Cut: []locate.Cut{{Frames: 127, Stacks: 1}, {Frames: 50, Stacks: 2}},
	}
	l := convert.Losses(&st)
	if len(l) != 20 {
		t.Errorf("%d of 20 losses: %+v", len(l), l)
	}
	var cut []string
	for _, w := range l {
		if w.Kind == convert.CutStacks {
			cut = append(cut, w.String())
		}
	}
	if want := []string{"1 stack cut at 127 frames: their outermost callers were not recorded", "2 stacks cut at 50 frames: their outermost callers were not recorded"}; !slices.Equal(cut, want) {
		t.Errorf("%q", cut)
	}
	for lost, want := range []string{
		"left out 3 times off the CPU, whose end was not recorded",
		"left out 3 times off the CPU, whose end may be among what was lost",
	} {
		st := replay.Stats{LostSamples: uint64(lost), OffCPU: span.OffStats{Lost: 3}}
		if l := convert.Losses(&st); l[len(l)-1].String() != want {
			t.Errorf("%d lost: %q, want %q", lost, l[len(l)-1].String(), want)
		}
	}
}

// TestNamingEnds: when the context of naming ends, the rest of the profile is there, and
// what ended it is told.
func TestNamingEnds(t *testing.T) {
	why := errors.New("enough")
	ended := false
	o := demo()
	o.Naming = func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(why)
		return ctx, func() { ended = true }
	}
	p, err := convert.Open(t.Context(), "../testdata/demo.data", o)
	if err != nil || !ended {
		t.Fatalf("%v, ended %v", err, ended)
	}
	if len(p.Warnings) == 0 || p.Warnings[0].Kind != convert.NamingEnded || !errors.Is(p.Warnings[0].Err, why) {
		t.Errorf("%+v", p.Warnings)
	}
	if n := p.Set.SampleCounts()[0]; n != 199 {
		t.Errorf("%d samples", n)
	}
}

// TestParseTimeRange: what there is to say of times, and what is nothing of the kind.
func TestParseTimeRange(t *testing.T) {
	seconds := func(s float64) convert.TimeBound { return convert.TimeBound{Given: true, Nanos: uint64(s * 1e9)} }
	later := func(s float64) convert.TimeBound {
		return convert.TimeBound{Given: true, Relative: true, Nanos: uint64(s * 1e9)}
	}
	share := func(s float64) convert.TimeBound { return convert.TimeBound{Given: true, Percent: true, Share: s} }
	for in, want := range map[string]convert.TimeRange{
		"1,2.5":     {From: seconds(1), To: seconds(2.5)},
		",2":        {To: seconds(2)},
		"3,":        {From: seconds(3)},
		"+1,+3":     {From: later(1), To: later(3)},
		"10%,20%":   {From: share(.1), To: share(.2)},
		"10%-20%":   {From: share(.1), To: share(.2)},
		"25%/2":     {From: share(.25), To: share(.5)},
		"+1,4":      {From: later(1), To: seconds(4)},
		"5,+1":      {From: seconds(5), To: later(1)},
		"0.000001,": {From: seconds(.000001)},
	} {
		if got, err := convert.ParseTimeRange(in); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{"", ",", "1", "2,1", "+2,+1", "20%,10%", "x,", "1,y", "101%,", "0%/1", "25%/5", "-1,"} {
		if got, err := convert.ParseTimeRange(in); err == nil {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

// TestOpenRecording: what a recording says of itself is there without its records being
// read, also where it is compressed; a profile is none.
func TestOpenRecording(t *testing.T) {
	const name = "../testdata/demo.data"
	r, err := convert.OpenRecordingFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(name); err != nil || r.Features.OSRelease != "6.18.44-fc-v657" || !r.Written.Equal(st.ModTime()) {
		t.Errorf("%q, written %v, %v", r.Features.OSRelease, r.Written, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if _, err := convert.OpenRecording(strings.NewReader("a;b 1\n")); !errors.Is(err, convert.ErrNoRecording) {
		t.Errorf("folded stacks: %v", err)
	}
	if _, err := convert.OpenRecordingFile("nowhere"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestUnreadFeatures: what of a header cannot be read is told, but for what a recording that
// ended early has not.
func TestUnreadFeatures(t *testing.T) {
	b, err := os.ReadFile("../testdata/demo.data")
	if err != nil {
		t.Fatal(err)
	}
	// struct perf_file_header: the data section stands at 40, the bits of the features at 72.
	// The table of their sections lies behind the data.
	table := binary.LittleEndian.Uint64(b[40:]) + binary.LittleEndian.Uint64(b[48:])
	features := bits.OnesCount64(binary.LittleEndian.Uint64(b[72:]))
	warnings := func(b []byte) []convert.Warning {
		name := filepath.Join(t.TempDir(), "x.data")
		livetest.WriteFile(t, name, b)
		p, err := convert.Open(t.Context(), name, demo())
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(p.Warnings, func(w convert.Warning) bool { return w.Kind != convert.UnreadFeatures })
	}
	if w := warnings(b); len(w) > 0 {
		t.Errorf("of a whole recording: %v", w)
	}
	if w := warnings(b[:table-8]); len(w) > 0 {
		t.Errorf("of one that ended early: %v", w)
	}
	for i := range 2 { // the size of the last, and of the one before it
		binary.LittleEndian.PutUint64(b[table+uint64(features-1-i)*16+8:], 1<<40)
	}
	w := warnings(b)
	if len(w) != 1 || w[0].Count != 2 || w[0].Err == nil || !strings.Contains(w[0].String(), "could not read 2 features of the recording's header") {
		t.Errorf("%v; want one warning of two features", w)
	}
}

// TestMixedEvents: where two events of a recording count the same, and their samples have the
// same fields, Linux 6.3 and later has told one as the other.
func TestMixedEvents(t *testing.T) {
	const plain, all = "ip,tid,time,identifier", "sample_id_all"
	for _, tt := range []struct {
		release, fields string
		config          int
		first, second   string // flags
		want            string
	}{
		{"6.3.0", plain, 2, all, all, "samples of first and second may be mixed up: the kernel (6.3 and later) takes one for the other"},
		{"7.0-rc1", plain, 2, all, all, "samples of first and second"},
		{"6.18.44-x", plain, 2, all, all + ",exclude_kernel", "samples of first and second"},
		{"6.18.44-x", plain, 2, all + ",exclude_user", all + ",exclude_user", "samples of first and second"},
		{"6.18.44-x", plain, 2, all + ",exclude_user", all + ",exclude_kernel", ""}, // none in common
		{"6.2.16", plain, 2, all, all, ""},
		{"5.19.0", plain, 2, all, all, ""},
		{"", plain, 2, all, all, ""},
		{"6.18.44-x", "ip,tid,time,addr,identifier", 2, all, all, ""}, // told apart by their size
		{"6.18.44-x", plain, 3, all, all, ""},
		{"6.18.44-x", plain, 0, all, all, ""}, // a clock
	} {
		rec := perftext.MustParse(fmt.Sprintf("event first type=software config=%d ids=1 sample=%s flags=%s\n"+
			"event second type=software config=2 ids=2 sample=%s flags=%s\n"+
			"comm t=1 pid=7 comm=seven\nsample t=2 pid=7 id=1 user 0x1000\n", tt.config, plain, tt.first, tt.fields, tt.second))
		rec.Features.OSRelease = tt.release
		b, err := rec.Assemble(perftext.Form{})
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "x.data")
		livetest.WriteFile(t, name, b)
		p, err := convert.Open(t.Context(), name, convert.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, w := range p.Warnings {
			if w.Kind == convert.MixedEvents {
				got = w.String()
			}
		}
		if !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}
