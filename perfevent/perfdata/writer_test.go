package perfdata

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

// sampleAt is a SAMPLE record with identifier, ip, pid and tid, and time.
func sampleAt(time uint64) []byte {
	o := abi.LittleEndian
	b := abi.Header{Type: abi.RecordSample, Misc: abi.MiscUser, Size: 40}.AppendTo(nil, o)
	for _, v := range []uint64{7, 0x1234, 42, time} {
		b = o.AppendUint64(b, v)
	}
	return b
}

func testEvents() []abi.Event {
	const trailer = abi.SampleIdentifier | abi.SampleTID | abi.SampleTime
	return []abi.Event{
		{
			Name: "cpu-clock", IDs: []uint64{7, 8},
			Attr: abi.Attr{
				Size: 128, Type: abi.TypeSoftware, SamplePeriod: 4000,
				SampleType: trailer | abi.SampleIP,
				Flags:      abi.FlagFreq | abi.FlagSampleIDAll,
			},
		},
		{
			Name: "dummy", IDs: []uint64{9},
			Attr: abi.Attr{
				Size: 128, Type: abi.TypeSoftware, Config: abi.SWDummy, SampleType: trailer, Flags: abi.FlagSampleIDAll,
			},
		},
	}
}

func tempFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "perf.data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// recording is what a file of file mode holds.
type recording struct {
	header   fileHeader
	events   []abi.Event
	features Features
	times    []uint64 // of samples
	rounds   int
}

// parseFile reads a file strictly: everything must lie within it, and records
// must fill the data exactly, but for a FINISHED_ROUND whose header ends it.
func parseFile(t *testing.T, file []byte) (r recording) {
	t.Helper()
	var err error
	if r.header, err = readFileHeader(bytes.NewReader(file), abi.LittleEndian, int64(len(file))); err != nil {
		t.Fatal(err)
	}
	if r.events, err = readAttrs(bytes.NewReader(file), r.header, int64(len(file))); err != nil {
		t.Fatal(err)
	}
	set := FeatureSet(r.header.features)
	bodies := fileFeatures(file)
	for id := range set.All() {
		body, ok := bodies[id]
		if !ok {
			t.Fatalf("feature %v lies outside the file", id)
		}
		if err := r.features.Decode(id, body, abi.LittleEndian); err != nil {
			t.Fatal(err)
		}
	}
	data := file[r.header.data.off:][:r.header.data.size]
	for len(data) > 0 {
		h := abi.DecodeHeader(data, abi.LittleEndian)
		switch h.Type {
		case abi.RecordSample:
			r.times = append(r.times, abi.LittleEndian.Uint64(data[32:]))
		case abi.RecordFinishedRound:
			r.rounds++
			if len(data) == abi.HeaderSize {
				return r
			}
		default:
			t.Fatalf("record %v", h)
		}
		data = data[h.Size:]
	}
	return r
}

func TestWriter(t *testing.T) {
	f := tempFile(t)
	early := Features{Version: "1", TracingData: []byte("seven b")}
	early.Hostname = "box"
	w, err := NewWriter(f, testEvents(), early, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	steps := []error{
		w.FinishRound(), // nothing to finish
		w.Write(sampleAt(20), nil),
		w.Write(sampleAt(30)[:12], sampleAt(30)[12:]), // wraps inside a record
		w.Write(nil, nil),
		w.FinishRound(), w.FinishRound(),
		w.Write(sampleAt(10), nil), // older, as rounds allow
		w.Write(sampleAt(50), nil),
		w.FinishRound(),
		w.Write(sampleAt(40), nil),
	}
	var late Features
	late.OSRelease, late.Hostname = "6.1", "renamed"
	steps = append(steps, w.Close(late), w.Close(Features{}))
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(sampleAt(1), nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
	file, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	r := parseFile(t, file)
	if d := cmp.Diff([]uint64{20, 30, 10, 50, 40}, r.times); d != "" {
		t.Errorf("samples -want +got\n%s", d)
	}
	if r.rounds != 4 { // one at the start, three with records
		t.Errorf("%d rounds", r.rounds)
	}
	want := Features{
		Version: "1", TracingData: []byte("seven b"), Events: testEvents(), SampleTime: SampleTime{First: 10, Last: 50},
	}
	want.Hostname, want.OSRelease = "renamed", "6.1"
	if d := cmp.Diff(want, r.features); d != "" {
		t.Errorf("features -want +got\n%s", d)
	}
	for i, e := range testEvents() {
		e.Name = "" // not in the attributes
		e.Attr.Size = 112
		if d := cmp.Diff(e, r.events[i]); d != "" {
			t.Errorf("event %d -want +got\n%s", i, d)
		}
	}
}

// Whatever a killed writer leaves behind is a file with every committed sample
// and the early features: each state of the header before the final one, with the
// file cut anywhere behind what that header speaks of.
func TestWriterKilled(t *testing.T) {
	f := tempFile(t)
	early := Features{Version: "1", TracingData: []byte("tracing")}
	w, err := NewWriter(f, testEvents(), early, WriterOptions{BatchBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	read := func() []byte {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	type state struct {
		header  []byte
		samples int // committed
		min     int // the file may end here
	}
	var states []state
	sure := 0
	note := func(samples int) {
		header := read()[:fileHeaderSize]
		if n := len(states); n > 0 && bytes.Equal(states[n-1].header, header) {
			return
		}
		sure = samples
		states = append(states, state{header, samples, int(w.committed) + len(w.table)})
	}
	note(0)
	for i := range 60 {
		if err := w.Write(sampleAt(uint64(100+i)), nil); err != nil {
			t.Fatal(err)
		}
		note(sure) // not a commit
		if i%3 == 0 {
			if err := w.FinishRound(); err != nil {
				t.Fatal(err)
			}
			note(i + 1)
		}
	}
	if len(states) < 15 {
		t.Fatalf("only %d commits", len(states))
	}
	if err := w.Close(Features{}); err != nil {
		t.Fatal(err)
	}
	final := read()
	for _, s := range states {
		for end := s.min; end <= len(final); end++ {
			file := append(bytes.Clone(s.header), final[fileHeaderSize:end]...)
			r := parseFile(t, file)
			if len(r.times) != s.samples {
				t.Fatalf("%d samples of %d committed in %d bytes", len(r.times), s.samples, end)
			}
			if r.features.Version != "1" || string(r.features.TracingData) != "tracing" || len(r.features.Events) != 2 {
				t.Fatalf("early features lost: %+v", r.features)
			}
		}
	}
	if r := parseFile(t, final); len(r.times) != 60 || r.features.SampleTime != (SampleTime{100, 159}) {
		t.Errorf("%d samples in the end, times %v", len(r.times), r.features.SampleTime)
	}
}

func TestWriterCommitsInTime(t *testing.T) {
	f := tempFile(t)
	w, err := NewWriter(f, testEvents(), Features{}, WriterOptions{CommitEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(sampleAt(5), nil), w.FinishRound()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Millisecond)
	if err := w.FinishRound(); err != nil { // without new records
		t.Fatal(err)
	}
	file, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	if r := parseFile(t, file); len(r.times) != 1 {
		t.Errorf("%d samples committed", len(r.times))
	}
}

// Samples that come in many rounds, with large rounds and rounds without samples.
func TestWriterSampleTime(t *testing.T) {
	f := tempFile(t)
	w, err := NewWriter(f, testEvents(), Features{}, WriterOptions{BatchBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	comm := abi.Header{Type: abi.RecordComm, Size: 32}.AppendTo(nil, abi.LittleEndian)
	comm = append(comm, make([]byte, 24)...)
	for round := range maxRounds + 100 {
		if err := w.Write(comm, nil); err != nil {
			t.Fatal(err)
		}
		if round == 10 {
			big := bytes.Repeat(sampleAt(1000), 500)
			if err := w.Write(big, sampleAt(900)); err != nil {
				t.Fatal(err)
			}
		}
		if round == 11 {
			if err := errors.Join(w.Write(sampleAt(800), nil), w.Write(sampleAt(1100), nil)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.FinishRound(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := w.sampleTimeAfterFlush(), (SampleTime{First: 800, Last: 1100}); got != want {
		t.Errorf("times %v, want %v", got, want)
	}
}

func (w *Writer) sampleTimeAfterFlush() SampleTime {
	w.flush()
	return w.sampleTime()
}

func TestTimeFinder(t *testing.T) {
	attr := func(st abi.SampleType) abi.Attr { return abi.Attr{SampleType: st} }
	mixed := []abi.Event{
		{Attr: attr(abi.SampleIdentifier | abi.SampleTime), IDs: []uint64{1}},
		{Attr: attr(abi.SampleIdentifier | abi.SampleIP | abi.SampleTime), IDs: []uint64{7}},
	}
	find := newTimeFinder(mixed)
	rec := sampleAt(3) // identifier 7; what is meant as pid and tid is the time
	if at, ok := find.time(rec, abi.LittleEndian); !ok || at != 42 {
		t.Errorf("time %d, %v", at, ok)
	}
	mixed[0].Attr.SampleType = abi.SampleTime
	if newTimeFinder(mixed) != nil {
		t.Error("found times of events that cannot be told apart")
	}
	if newTimeFinder(testEvents()[1:]) != nil {
		t.Error("found times of a dummy")
	}
}

// limitedWriter fails after n bytes.
type limitedWriter struct {
	n int
	bytes.Buffer
}

var errFull = errors.New("full")

func (l *limitedWriter) Write(b []byte) (int, error) {
	if l.Len()+len(b) > l.n {
		return 0, errFull
	}
	return l.Buffer.Write(b)
}

func TestStreamWriter(t *testing.T) {
	var out bytes.Buffer
	early := Features{Version: "1", TracingData: []byte("tracing"), Stat: true}
	s, err := NewStreamWriter(&out, testEvents(), early, WriterOptions{BatchBytes: 64})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Write(sampleAt(1), nil), s.FinishRound(), s.FinishRound(), s.Write(sampleAt(2), sampleAt(3)), s.Close(Features{}), s.Close(Features{})); err != nil {
		t.Fatal(err)
	}
	b := out.Bytes()
	if int64(len(b)) != s.Size() {
		t.Errorf("%d bytes, Size says %d", len(b), s.Size())
	}
	if o, pipe, err := headerOrder(b); o != abi.LittleEndian || !pipe || err != nil {
		t.Fatalf("%v, %v, %v", o, pipe, err)
	}
	var types []string
	for b = b[pipeHeaderSize:]; len(b) > 0; {
		h := abi.DecodeHeader(b, abi.LittleEndian)
		types = append(types, h.Type.String())
		if h.Type == abi.RecordHeaderTracingData {
			b = b[abi.LittleEndian.Uint32(b[8:]):]
		}
		b = b[h.Size:]
	}
	want := []string{
		"ATTR", "ATTR", "FEATURE", "FEATURE", "TRACING_DATA", "EVENT_UPDATE", "EVENT_UPDATE",
		"SAMPLE", "FINISHED_ROUND", "SAMPLE", "SAMPLE", "FINISHED_ROUND",
	}
	if d := cmp.Diff(want, types); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// Attributes are as small as what they hold allows: perf refuses a file with larger ones than it
// knows. The sizes are those of struct perf_event_attr up to each field (perf_event.h). In pipe
// mode perf 5.13 to 6.6 finds ids behind 128 bytes alone.
func TestAttrSizes(t *testing.T) {
	for _, c := range []struct {
		attr       abi.Attr
		file, pipe uint64
	}{
		{abi.Attr{ClockID: 1, SampleRegsIntr: 1, AuxWatermark: 1, SampleMaxStack: 1}, 112, 128},
		{abi.Attr{AuxSampleSize: 1}, 120, 128},
		{abi.Attr{AuxAction: 1}, 120, 128},
		{abi.Attr{SigData: 1}, 128, 128},
		{abi.Attr{Config3: 1}, 136, 136},
		{abi.Attr{Config3: 1, SigData: 1}, 136, 136},
		{abi.Attr{Config4: 1}, 144, 144},
	} {
		for _, events := range [][]abi.Event{{{Attr: c.attr}, {}}, {{}, {Attr: c.attr}}} {
			f := tempFile(t)
			if _, err := NewWriter(f, events, Features{}, WriterOptions{}); err != nil {
				t.Fatal(err)
			}
			var b [24]byte
			if _, err := f.ReadAt(b[:], 0); err != nil {
				t.Fatal(err)
			}
			if size := abi.LittleEndian.Uint64(b[16:]) - 16; size != c.file {
				t.Errorf("%+v: %d bytes in a file, not %d", c.attr, size, c.file)
			}
			var pipe bytes.Buffer
			if _, err := NewStreamWriter(&pipe, events, Features{}, WriterOptions{}); err != nil {
				t.Fatal(err)
			}
			if h := abi.DecodeHeader(pipe.Bytes()[pipeHeaderSize:], abi.LittleEndian); uint64(h.Size) != abi.HeaderSize+c.pipe {
				t.Errorf("%+v: record of %d bytes in a pipe, not %d", c.attr, h.Size, abi.HeaderSize+c.pipe)
			}
		}
	}
}

func TestStreamWriterErrors(t *testing.T) {
	events := testEvents()
	events[0].IDs = make([]uint64, 9000)
	if _, err := NewStreamWriter(io.Discard, events, Features{}, WriterOptions{}); err == nil {
		t.Error("an attribute larger than a record was accepted")
	}
	l := &limitedWriter{n: 4000}
	s, err := NewStreamWriter(l, testEvents(), Features{}, WriterOptions{BatchBytes: 64})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		err = errors.Join(s.Write(sampleAt(1), nil), s.FinishRound())
	}
	if !errors.Is(err, errFull) || !errors.Is(s.Close(Features{}), errFull) {
		t.Errorf("error %v", err)
	}
}

func TestWriterAllocs(t *testing.T) {
	w, err := NewWriter(tempFile(t), testEvents(), Features{}, WriterOptions{BatchBytes: 4096, CommitEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	rec := sampleAt(1)
	if n := testing.AllocsPerRun(5000, func() { _ = w.Write(rec, rec) }); n != 0 {
		t.Errorf("%v allocations a write", n)
	}
}

func BenchmarkWriter(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "perf.data"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w, err := NewWriter(f, testEvents(), Features{}, WriterOptions{})
	if err != nil {
		b.Fatal(err)
	}
	chunk := bytes.Repeat(sampleAt(1), 4<<10)
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		if err := errors.Join(w.Write(chunk, nil), w.FinishRound()); err != nil {
			b.Fatal(err)
		}
		if w.off > 256<<20 {
			w.off, w.committed = w.dataOff, w.dataOff // once more over the same pages
		}
	}
}

// TestDataOffset: the data begin behind the first page of any machine that may read them with perf,
// however little is said of the recording before; TestWriterKilledPerf shows what else happens. What
// is looked for right before them is there all the same.
func TestDataOffset(t *testing.T) {
	symbols := blockOf(t, &someKernelSymbols, abi.LittleEndian)
	for _, opts := range []WriterOptions{{}, {KernelSymbols: symbols}, {KernelSymbols: symbols, Rules: []string{"rule"}}} {
		f := tempFile(t)
		w, err := NewWriter(f, oneEvent, Features{}, opts)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(Features{}); err != nil {
			t.Fatal(err)
		}
		r := livetest.Open(t, Open, f.Name())
		if off := w.dataOff; off < 64<<10 {
			t.Errorf("the data begin at %d", off)
		}
		got, err := r.KernelSymbols()
		if (got != nil) != (opts.KernelSymbols != nil) || err != nil {
			t.Errorf("kernel symbols %v, %v", got, err)
		}
		if rules, err := r.Rules(); !slices.Equal(rules, opts.Rules) || err != nil {
			t.Errorf("rules %q, %v, want %q", rules, err, opts.Rules)
		}
	}
}
