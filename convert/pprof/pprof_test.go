package pprof

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"

	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
)

// canon is a Set as text: what a profile says, without how it is numbered.
// has_functions is left out, as Write always sets it, and bytes that are not UTF-8 are as it
// writes them.
func canon(s *stacks.Set) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%d %d %v %d %s %s %s %s\n", quoted(s.Comments...), s.TimeNanos, s.DurationNanos, s.PeriodType,
		s.Period, quoted(s.DefaultType), quoted(s.DocURL), quoted(s.DropFrames), quoted(s.KeepFrames))
	for _, e := range s.Events {
		fmt.Fprintf(&b, "event %s %v\n", e.Name, e.Values)
	}
	rows := map[string][]int64{}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		if !slices.ContainsFunc(x.Values, func(v int64) bool { return v != 0 }) {
			continue
		}
		k := canonRow(s, x)
		if rows[k] == nil {
			rows[k] = make([]int64, len(x.Values))
		}
		for c, v := range x.Values {
			rows[k][c] += v
		}
	}
	sums := map[string][]stacks.BlockSum{}
	for _, x := range s.BlockSums {
		k := canonRow(s, s.Sample(int(x.Sample)))
		x.Sample = 0
		if i := slices.IndexFunc(sums[k], func(y stacks.BlockSum) bool { return y.Time == x.Time }); i >= 0 {
			sums[k][i].Count += x.Count
			sums[k][i].Value += x.Value
			continue
		}
		sums[k] = append(sums[k], x)
	}
	for _, k := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(&b, "%v %v %s\n", rows[k], sums[k], k)
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

func quoted(texts ...string) string {
	valid := slices.Clone(texts)
	for i, t := range texts {
		valid[i] = strings.ToValidUTF8(t, "\uFFFD")
	}
	return fmt.Sprintf("%q", valid)
}

func canonRow(s *stacks.Set, x stacks.Sample) string {
	var b strings.Builder
	labels := slices.Clone(s.Labels(x.Labels))
	for i := range labels {
		l := &labels[i]
		l.Key, l.Unit = strings.ToValidUTF8(l.Key, "\uFFFD"), strings.ToValidUTF8(l.Unit, "\uFFFD")
		if l.Unit == l.Key { // is what no unit means
			l.Unit = ""
		}
	}
	sortLabels(labels)
	fmt.Fprintf(&b, "event %d %+v", x.Event, labels)
	for _, l := range s.Stack(x.Stack) {
		loc := s.Locations[l]
		fmt.Fprintf(&b, "\n\t%#x", loc.Addr)
		if loc.Mapping >= 0 {
			m := s.Mappings[loc.Mapping]
			m.HasFunctions = true
			m.PID = 0
			fmt.Fprintf(&b, " %+v", m)
		}
		for _, y := range s.Lines(l) {
			fmt.Fprintf(&b, "\n\t\t%+v:%d:%d", s.Functions[y.Function], y.Line, y.Column)
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

var (
	samplesCount = stacks.ValueType{Type: "samples", Unit: "count"}
	cpuNanos     = stacks.ValueType{Type: "cpu", Unit: "nanoseconds"}
)

func oneEvent() []stacks.Event {
	return []stacks.Event{{Name: "cpu", Values: []stacks.ValueType{samplesCount, cpuNanos}}}
}

func threeEvents() []stacks.Event {
	return []stacks.Event{
		{Name: "sched:sched_switch", Values: []stacks.ValueType{{Type: "sched:sched_switch.samples", Unit: "count"}}},
		{Name: "cycles", Values: []stacks.ValueType{{Type: "cycles.samples", Unit: "count"}, {Type: "cycles", Unit: "cycles"}}},
		{Name: "x.samples", Values: []stacks.ValueType{{Type: "x.samples.samples", Unit: "count"}}},
	}
}

// randomSet makes a Set that uses everything a profile can hold.
func randomSet(seed uint64, events []stacks.Event) *stacks.Set {
	r := rand.New(rand.NewPCG(seed, 1))
	s := stacks.New(events...)
	s.Comments = []string{"kprof record -a", "", "lost: 0"}[:r.IntN(4)]
	s.TimeNanos, s.DurationNanos = r.Int64(), r.Int64N(1e12)
	s.PeriodType, s.Period = cpuNanos, r.Int64N(1e9)
	s.DefaultType = events[0].Values[0].Type
	s.DocURL = "https://example.org/"[:r.IntN(2)*20]
	s.DropFrames, s.KeepFrames = "drop.*"[:r.IntN(2)*6], "keep"[:r.IntN(2)*4]
	if r.IntN(8) > 0 {
		s.AddMapping(stacks.Mapping{Start: 0xffffffff81000000, Limit: 0xffffffffc0000000, File: "[kernel.kallsyms]", BuildID: "0a1b", Kind: stacks.KindKernel})
		s.AddMapping(stacks.Mapping{Start: 0xffffffffc0100000, Limit: 0xffffffffc0200000, File: "[ext4]", Kind: stacks.KindModule})
		for i := range 1 + r.IntN(5) {
			s.AddMapping(stacks.Mapping{Start: 0x400000 + uint64(i)<<20, Limit: 0x500000 + uint64(i)<<20, Offset: uint64(r.IntN(2)) << 12,
				File: fmt.Sprintf("/tmp/no/such dir/lib%d.so (deleted)", i), BuildID: fmt.Sprintf("%040x", i), Kind: stacks.KindUser,
				HasFilenames: r.IntN(2) == 0, HasLineNumbers: r.IntN(2) == 0, HasInlineFrames: r.IntN(2) == 0})
		}
	}
	for i := range r.IntN(40) {
		l := s.AddLocation(stacks.NoMapping, r.Uint64(), stacks.KindUnknown)
		if n := len(s.Mappings); n > 0 && r.IntN(5) > 0 {
			m := int32(r.IntN(n))
			l = s.AddLocation(m, s.Mappings[m].Start+r.Uint64N(1<<20), s.Mappings[m].Kind)
		}
		var lines []stacks.Line
		for range r.IntN(4) {
			f := s.AddFunction(stacks.Function{Name: fmt.Sprintf("f%d", r.IntN(50)), SystemName: fmt.Sprintf("_Zf%d", i), File: "f.c"[:r.IntN(2)*3], StartLine: r.Int64N(3)})
			lines = append(lines, stacks.Line{Function: f, Line: r.Int64N(1000), Column: r.Int64N(2)})
		}
		s.SetLines(l, lines...)
	}
	labels := []stacks.LabelsID{0}
	for range r.IntN(9) {
		labels = append(labels, s.InternLabels([]stacks.Label{
			{Key: "comm", Str: fmt.Sprintf("c%d", r.IntN(3))},
			{Key: "pid", Num: r.Int64N(3)},
			{Key: "bytes", Num: r.Int64N(3) - 1, Unit: "bytes"},
		}[r.IntN(3):]))
	}
	for range r.IntN(500) {
		var chain []uint32
		if n := len(s.Locations); n > 0 {
			for range r.IntN(6) {
				chain = append(chain, r.Uint32N(uint32(n)))
			}
		}
		e := r.IntN(len(events))
		v := make([]int64, len(events[e].Values))
		for i := range v {
			v[i] = r.Int64N(1<<r.IntN(53)+1) - 5 // all of which add up to less than 63 bits hold
		}
		s.Add(e, s.Intern(chain), labels[r.IntN(len(labels))], v...)
	}
	return s
}

func encode(t testing.TB, s *stacks.Set) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, s, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	for seed := range uint64(150) {
		events := oneEvent()
		if seed%2 == 1 {
			events = threeEvents()
		}
		s := randomSet(seed, events)
		data := encode(t, s)
		p, err := profile.ParseData(data)
		if err != nil {
			t.Fatalf("seed %d: google/pprof: %v", seed, err)
		}
		if len(p.Sample) != s.NumSamples() {
			t.Errorf("seed %d: %d samples written, want %d", seed, len(p.Sample), s.NumSamples())
		}
		got, err := Read(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(canon(s), canon(got)); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if again := encode(t, s); !bytes.Equal(again, data) {
			t.Errorf("seed %d: two writes differ", seed)
		}
		if diff := cmp.Diff(googleText(t, data), googleText(t, encode(t, got))); diff != "" {
			t.Errorf("seed %d: written again: %s", seed, diff)
		}
	}
}

// googleText is what google/pprof has in a profile, samples in one order.
func googleText(t *testing.T, data []byte) string {
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	return p.Compact().String()
}

func TestReadsForeignProfiles(t *testing.T) {
	f := &profile.Function{ID: 7, Name: "main.f", SystemName: "main.f", Filename: "f.go", StartLine: 3}
	m := &profile.Mapping{ID: 90, Start: 0x1000, Limit: 0x2000, File: "/bin/x"}
	l := &profile.Location{ID: 1 << 40, Mapping: m, Address: 0x1234, Line: []profile.Line{{Function: f, Line: 5}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"},
		Mapping:    []*profile.Mapping{m}, Function: []*profile.Function{f}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{
			{Location: []*profile.Location{l, l}, Value: []int64{1, 2}, NumLabel: map[string][]int64{"bytes": {16, 32}}, NumUnit: map[string][]string{"bytes": {"bytes", "bytes"}}},
			{Location: []*profile.Location{l}, Value: []int64{0, 0}, Label: map[string][]string{"a": {"x", "y"}}},
		},
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	s, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Events) != 1 || s.Events[0].Name != "inuse_space" || s.NumSamples() != 2 {
		t.Errorf("events %v, %d samples", s.Events, s.NumSamples())
	}
	want := [][]stacks.Label{{{Key: "bytes", Num: 16}, {Key: "bytes", Num: 32}}, {{Key: "a", Str: "x"}, {Key: "a", Str: "y"}}}
	got := [][]stacks.Label{s.Labels(s.Sample(0).Labels), s.Labels(s.Sample(1).Labels)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	m.HasFunctions = true // as Write has it
	if diff := cmp.Diff(p.Compact().String(), googleText(t, encode(t, s))); diff != "" {
		t.Error(diff)
	}
}

func TestEvents(t *testing.T) {
	count := func(names ...string) (v []stacks.ValueType) {
		for _, n := range names {
			v = append(v, stacks.ValueType{Type: n, Unit: "count"})
		}
		return v
	}
	for _, c := range []struct {
		columns []stacks.ValueType
		want    string
	}{
		{nil, ""},
		{count("samples"), "samples 1"},
		{count("samples", "cpu"), "cpu 2"},
		{count("a.samples", "a", "b.samples"), "a 2, b 1"},
		{count("a.samples", "b"), "a 1, b 1"},
		{count("cpu.samples", "cpu", "heap.objects", "heap.space", "heap", "goroutine"), "cpu 2, heap 3, goroutine 1"},
		{count("heap.objects", "heap", "a.samples", "a.size"), "heap 2, a 2"},
		{count("heap.objects", "heap", "heap"), "heap 3"},
		{count("heap.objects", "goroutine"), "goroutine 2"},
		{count("goroutine", "heap"), "heap 2"},
		{count("a", "a.samples"), "a.samples 2"},
		{count("a.samples", "a.samples"), "a.samples 2"},
		{count(".samples", ""), " 2"},
		{[]stacks.ValueType{{Type: "a.samples", Unit: "bytes"}}, "a.samples 1"},
	} {
		var got []string
		for _, e := range Events(c.columns) {
			got = append(got, fmt.Sprintf("%s %d", e.Name, len(e.Values)))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%v: events %q, want %q", c.columns, s, c.want)
		}
	}
}

func TestNumericZeroSurvives(t *testing.T) {
	s := stacks.New(oneEvent()...)
	s.Add(0, s.Intern(nil), s.InternLabels([]stacks.Label{{Key: "pid"}}), 1, 2)
	p, err := profile.ParseData(encode(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Sample[0].NumLabel["pid"]; !slices.Equal(got, []int64{0}) {
		t.Errorf("pid 0 reads as %v", got)
	}
	if units, ignored := p.NumLabelUnits(); units["pid"] != "pid" || len(ignored) != 0 {
		t.Errorf("units %v, ignored %v", units, ignored)
	}
}

// failing takes n bytes and then fails.
type failing struct{ n int }

var errFull = errors.New("disk full")

func (f *failing) Write(b []byte) (int, error) {
	if len(b) > f.n {
		n := f.n
		f.n = 0
		return n, errFull
	}
	f.n -= len(b)
	return len(b), nil
}

func TestWriteErrors(t *testing.T) {
	s := wide(20_000, 30, 5000)
	whole := len(encode(t, s))
	for _, n := range []int{0, 5, 10, 4096, whole / 2, whole - 9, whole - 1} {
		if err := Write(&failing{n}, s, WriteOptions{}); !errors.Is(err, errFull) {
			t.Errorf("error after %d of %d bytes: %v", n, whole, err)
		}
	}
	if err := Write(&failing{whole}, s, WriteOptions{}); err != nil {
		t.Error(err)
	}
	if err := Write(io.Discard, s, WriteOptions{Level: 10}); err == nil {
		t.Error("level 10 was taken")
	}
	none := stacks.New(stacks.Event{})
	none.Add(0, none.Intern(nil), 0)
	if err := Write(io.Discard, none, WriteOptions{}); err == nil {
		t.Error("samples without a value were written")
	}
}

func TestReadRefuses(t *testing.T) {
	pack := func(b []byte) []byte {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		w.Write(b)
		w.Close()
		return z.Bytes()
	}
	good := encode(t, randomSet(3, oneEvent()))
	deep := stacks.New(oneEvent()...)
	deep.AddLocation(stacks.NoMapping, 1, 0)
	deep.Add(0, deep.Intern(make([]uint32, stacks.MaxDepth)), 0, 1, 1)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":            {nil, "empty input file"},
		"text":             {[]byte("hello\n"), "unrecognized"},
		"truncated":        {good[:len(good)/2], "unexpected EOF"},
		"checksum":         {append(slices.Clone(good[:len(good)-8]), make([]byte, 8)...), "checksum"},
		"twice compressed": {pack(good), "compressed twice"},
		"large":            {make([]byte, 1<<20+1), "larger than 1 MiB"},
	} {
		if _, err := (ReadOptions{}).read(bytes.NewReader(c.data), 1<<20); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	if s, err := Read(bytes.NewReader(encode(t, deep))); err != nil || len(s.Stack(0)) != stacks.MaxDepth {
		t.Errorf("deepest stack: %v", err)
	}
}

// TestConcurrently runs several writes at once for the race detector.
func TestConcurrently(t *testing.T) {
	s := randomSet(9, threeEvents())
	want := encode(t, s)
	done := make(chan []byte)
	for range 4 {
		go func() { done <- encode(t, s) }()
	}
	for range 4 {
		if got := <-done; !bytes.Equal(got, want) {
			t.Error("concurrent writes of one Set differ")
		}
	}
}

// wide makes n distinct stacks over a number of named locations, half kernel and
// half user, which share their outer half in groups of 16.
func wide(n, depth, locations int) *stacks.Set {
	r := rand.New(rand.NewPCG(3, 4))
	s := stacks.New(oneEvent()...)
	k := s.AddMapping(stacks.Mapping{Start: 0xffffffff81000000, Limit: 0xffffffffc0000000, File: "[kernel.kallsyms]", Kind: stacks.KindKernel})
	u := s.AddMapping(stacks.Mapping{Start: 0x400000, Limit: 0x4000000, File: "/usr/bin/postgres", BuildID: "abcd", Kind: stacks.KindUser})
	for i := range locations {
		m, addr := k, 0xffffffff81000000+r.Uint64N(0x2000000)
		if i%2 == 1 {
			m, addr = u, 0x400000+r.Uint64N(0x1000000)
		}
		f := s.AddFunction(stacks.Function{Name: fmt.Sprintf("function_%d", i/3), SystemName: fmt.Sprintf("function_%d", i/3)})
		s.SetLines(s.AddLocation(m, addr, s.Mappings[m].Kind), stacks.Line{Function: f})
	}
	stackstest.AddStacks(s, r, n, depth)
	return s
}

// TestUnnamed: a location without a function has one for google/pprof, called by what
// holds it, and none again when it is read.
func TestUnnamed(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "samples", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	gzip := s.AddMapping(stacks.Mapping{File: "/bin/gzip", Kind: stacks.KindUser})
	own := s.AddFunction(stacks.Function{Name: "[gzip]"}) // as somebody else's profile may have it
	file := s.AddFunction(stacks.Function{Name: "[gzip]", File: "gzip.c"})
	stack := []uint32{
		s.AddLocation(gzip, 1, stacks.KindUser), s.AddLocation(gzip, 2, stacks.KindUser),
		s.AddLocation(stacks.NoMapping, 3, stacks.KindUnknown), s.AddLocation(gzip, 4, stacks.KindUser), s.AddLocation(gzip, 5, stacks.KindUser),
	}
	s.SetLines(stack[3], stacks.Line{Function: file, Line: 7})
	s.SetLines(stack[4], stacks.Line{Function: own, Line: 8})
	s.Add(0, s.Intern(stack), 0, 1)
	data := encode(t, s)
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range p.Sample[0].Location {
		f := l.Line[0].Function
		got = append(got, fmt.Sprintf("%s %s:%d", f.Name, f.Filename, l.Line[0].Line))
	}
	want := []string{"[gzip] :0", "[gzip] :0", "[unknown] :0", "[gzip] gzip.c:7", "[gzip] :8"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	again, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(canon(s), canon(again)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(data, encode(t, again)); diff != "" {
		t.Error("what was read is written otherwise")
	}
}

// TestReadDrop reads profiles without some labels: rows that only these told apart are one.
func TestReadDrop(t *testing.T) {
	s := stacks.New(oneEvent()...)
	stack := s.Intern([]uint32{s.AddLocation(stacks.NoMapping, 7, stacks.KindUnknown)})
	for pid := range int64(3) {
		labels := s.InternLabels([]stacks.Label{{Key: "comm", Str: "dd"}, {Key: "host", Str: fmt.Sprint(pid)}, {Key: "pid", Num: pid}})
		s.Add(0, stack, labels, make([]int64, len(s.Events[0].Values))...)
	}
	for _, c := range []struct {
		drop []string
		rows int
		keys []string
	}{
		{nil, 3, []string{"comm", "host", "pid"}},
		{[]string{"pid"}, 3, []string{"comm", "host"}},
		{[]string{"pid", "host", "tid"}, 1, []string{"comm"}},
	} {
		got, err := ReadOptions{Drop: c.drop}.Read(bytes.NewReader(encode(t, s)))
		if err != nil {
			t.Fatal(err)
		}
		if keys := got.LabelKeys(); got.NumSamples() != c.rows || !slices.Equal(keys, c.keys) {
			t.Errorf("without %q: %d rows with %q, want %d with %q", c.drop, got.NumSamples(), keys, c.rows, c.keys)
		}
	}
}
