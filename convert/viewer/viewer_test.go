package viewer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/folded"
	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
	"kprof/perfevent/livetest"
)

// oddName is hard to write as JSON; oddShown is what is left of it in a file that
// is UTF-8.
const (
	oddName  = "<script>alert(\"1\")</script>\\;\n\u2028é\xff"
	oddShown = "<script>alert(\"1\")</script>\\;\n\u2028é\ufffd"
)

const ms = 1_000_000

// exportSet is what three threads did: one that works, calls the kernel, recurses
// and sleeps, one that runs code without a file and is renamed, and one of another
// process whose stack is not known.
func exportSet(timed bool) *stacks.Set {
	s := stacks.New(stacks.Event{Name: "other", Values: stackstest.CountAndTime[:1]}, stackstest.OneEvent())
	add := func(kind stacks.Kind, file, name string) uint32 {
		m := s.AddMapping(stacks.Mapping{File: file, Kind: kind, BuildID: strings.Repeat("ab", len(file)/5)})
		l := s.AddLocation(m, uint64(len(s.Locations)), kind)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name})})
		return l
	}
	main, work := add(stacks.KindUser, "/bin/app", "main"), add(stacks.KindUser, "/bin/app", "work")
	read := add(stacks.KindKernel, "[kernel.kallsyms]", "sys_read")
	jit := add(stacks.KindAnon, "//anon", oddName)
	labels := func(comm string, pid, tid int64) stacks.LabelsID {
		return s.InternLabels([]stacks.Label{{Key: "comm", Str: comm}, {Key: "pid", Num: pid}, {Key: "tid", Num: tid}})
	}
	sample := func(time uint64, labels stacks.LabelsID, outermostFirst ...uint32) {
		stack := make([]uint32, 0, len(outermostFirst))
		for i := len(outermostFirst) - 1; i >= 0; i-- {
			stack = append(stack, outermostFirst[i])
		}
		row := s.Add(1, s.Intern(stack), labels, 1, ms)
		if timed {
			s.AddTimedSample(stacks.TimedSample{Time: 1e9 + time, Sample: uint32(row), Value: ms})
		}
	}
	app, app8, worker, idle := labels("app", 7, 7), labels("app", 7, 8), labels("worker", 7, 8), labels("idle", 9, 9)
	sample(0, app, main, work)
	sample(1*ms, app, main, work)
	sample(2*ms, app, main, read)
	sample(3*ms, app, main, work, work)
	sample(50*ms, app, main)
	sample(0.5*ms, app8, jit)
	sample(1.5*ms, worker, jit)
	sample(2.5*ms, idle)
	row := s.Add(0, s.Intern([]uint32{main}), app, 5) // of the other event
	if timed {
		s.AddTimedSample(stacks.TimedSample{Time: 1e9 - 1, Sample: uint32(row), Value: 5})
		s.SortTimedSamples()
	}
	s.TimeNanos = 1_700_000_000_123_000_000
	s.Comments = []string{"command: perf record", "kernel: 6.12 x86_64", "cpu: AMD", "warning: lost 5", "odd"}
	return s
}

var exportOptions = Options{Event: 1, Column: 1, Name: "perf.data"}

type exporter func(io.Writer, *stacks.Set, Options) error

func export(t *testing.T, f exporter, s *stacks.Set, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decode takes JSON apart strictly: there are no fields that v does not have.
func decode(t *testing.T, b []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in\n%s", err, b)
	}
}

// speedscopeText writes a line for each sample, below one for its profile.
func speedscopeText(t *testing.T, b []byte) string {
	var f struct {
		Schema             string `json:"$schema"`
		Exporter, Name     string
		ActiveProfileIndex int
		Shared             struct {
			Frames []struct {
				Name, File string
				Line       int
			}
		}
		Profiles []struct {
			Type, Name, Unit     string
			StartValue, EndValue int64
			Samples              [][]int
			Weights              []int64
		}
	}
	decode(t, b, &f)
	var w strings.Builder
	for _, p := range f.Profiles {
		fmt.Fprintf(&w, "%s: %s %s %d to %d\n", p.Name, p.Type, p.Unit, p.StartValue, p.EndValue)
		if len(p.Samples) != len(p.Weights) {
			t.Fatalf("%d samples, %d weights", len(p.Samples), len(p.Weights))
		}
		for i, stack := range p.Samples {
			var names []string
			for _, id := range stack {
				names = append(names, f.Shared.Frames[id].Name)
			}
			fmt.Fprintf(&w, "  %s = %d\n", strings.ReplaceAll(strings.Join(names, " "), oddShown, "ODD"), p.Weights[i])
		}
	}
	return w.String()
}

func TestSpeedscope(t *testing.T) {
	const all = `
cpu-clock: sampled nanoseconds 0 to 8000000
  app main = 1000000
  app main work = 2000000
  app main work work = 1000000
  app main sys_read = 1000000
  app ODD = 1000000
  worker ODD = 1000000
  idle [unknown] = 1000000
`
	for timed, want := range map[bool]string{false: all, true: all + `app 7/7: sampled nanoseconds 0 to 5000000
  main work = 1000000
  main work = 1000000
  main sys_read = 1000000
  main work work = 1000000
  main = 1000000
worker 7/8: sampled nanoseconds 0 to 2000000
  ODD = 1000000
  ODD = 1000000
idle 9/9: sampled nanoseconds 0 to 1000000
  [unknown] = 1000000
`} {
		got := speedscopeText(t, export(t, Speedscope, exportSet(timed), exportOptions))
		if diff := cmp.Diff(want[1:], got); diff != "" {
			t.Errorf("times %t: %s", timed, diff)
		}
	}
}

// firefoxText writes a line for each sample, below one for its thread.
func firefoxText(t *testing.T, b []byte) string {
	type column = []json.RawMessage
	var f struct {
		Meta   map[string]any
		Libs   []map[string]any
		Shared struct {
			StackTable struct {
				Length int
				Frame  []int
				Prefix []*int
			}
			FrameTable struct {
				Length                                                                       int
				Func, Category                                                               []int
				Line, Address, Subcategory, InlineDepth, NativeSymbol, InnerWindowID, Column column
			}
			FuncTable struct {
				Length                                                int
				Name, Resource                                        []int
				Source, LineNumber, ColumnNumber, IsJS, RelevantForJS column
			}
			ResourceTable struct {
				Length     int
				Name, Lib  []int
				Type, Host column
			}
			Sources struct {
				Length       int
				ID, Filename column
			}
			NativeSymbols map[string]any
			StringArray   []string
		}
		Threads []struct {
			Name, ProcessName, ProcessType, Pid string
			Tid                                 int
			IsMainThread                        bool
			ProcessStartupTime, RegisterTime    float64
			ProcessShutdownTime, UnregisterTime any
			PausedRanges                        []any
			Markers                             struct {
				Length, Thread        int
				Name, Phase, Category []int
				StartTime             []float64
				EndTime               []any
				Data                  []struct {
					Type  string
					Cause struct {
						Time  float64
						Stack int
					}
				}
			}
			Samples struct {
				Length         int
				Stack          []*int
				Time, Weight   []float64
				WeightType     string
				ThreadCPUDelta []int64
			}
		}
	}
	decode(t, b, &f)
	sh := &f.Shared
	var w strings.Builder
	for _, k := range f.Threads {
		fmt.Fprintf(&w, "%s of %s %s/%d main %t: %s\n", k.Name, k.ProcessName, k.Pid, k.Tid, k.IsMainThread, k.Samples.WeightType)
		for i := range k.Samples.Length {
			var names []string
			for at := k.Samples.Stack[i]; at != nil; at = sh.StackTable.Prefix[*at] {
				frame := sh.StackTable.Frame[*at]
				fn := sh.FrameTable.Func[frame]
				name := sh.StringArray[sh.FuncTable.Name[fn]]
				if r := sh.FuncTable.Resource[fn]; r >= 0 {
					name = sh.StringArray[sh.ResourceTable.Name[r]] + "!" + name
				}
				category := f.Meta["categories"].([]any)[sh.FrameTable.Category[frame]].(map[string]any)["name"]
				names = append(names, fmt.Sprintf("%s (%s)", name, category))
			}
			fmt.Fprintf(&w, "  %v: %s = %v", k.Samples.Time[i], strings.ReplaceAll(strings.Join(names, " < "), oddShown, "ODD"), k.Samples.Weight[i])
			if k.Samples.ThreadCPUDelta != nil {
				fmt.Fprintf(&w, " cpu %d", k.Samples.ThreadCPUDelta[i])
			}
			w.WriteString("\n")
		}
		for i := range k.Markers.Length {
			m := k.Markers
			fmt.Fprintf(&w, "  %v at %v: %s, type %s, phase %d, end %v, stack of %v\n", m.Data[i].Cause.Time, m.StartTime[i], sh.StringArray[m.Name[i]],
				m.Data[i].Type, m.Phase[i], m.EndTime[i], sh.StringArray[sh.FuncTable.Name[sh.FrameTable.Func[sh.StackTable.Frame[m.Data[i].Cause.Stack]]]])
		}
	}
	return w.String()
}

func TestFirefox(t *testing.T) {
	livetest.Table(t, func(timed bool) string {
		return "\n" + firefoxText(t, export(t, Firefox, exportSet(timed), exportOptions))
	}, map[bool]string{true: `
app of app 7/7 main true: tracing-ms
  0: app!work (User) < app!main (User) = 1 cpu 1000000
  1: app!work (User) < app!main (User) = 1 cpu 1000000
  2: [kernel.kallsyms]!sys_read (Kernel) < app!main (User) = 1 cpu 1000000
  3: app!work (User) < app!work (User) < app!main (User) = 1 cpu 1000000
  50: app!main (User) = 1 cpu 1000000
worker of worker 7/8 main false: tracing-ms
  0.5: anon!ODD (JIT) = 1 cpu 1000000
  1.5: anon!ODD (JIT) = 1 cpu 1000000
idle of idle 9/9 main true: tracing-ms
  2.5: [unknown] (Other) = 1 cpu 1000000
`, false: `
app of app 7/7 main true: tracing-ms
  0: app!main (User) = 1
  1: app!work (User) < app!main (User) = 2
  3: app!work (User) < app!work (User) < app!main (User) = 1
  4: [kernel.kallsyms]!sys_read (Kernel) < app!main (User) = 1
worker of worker 7/8 main false: tracing-ms
  0: anon!ODD (JIT) = 1
  1: anon!ODD (JIT) = 1
idle of idle 9/9 main true: tracing-ms
  0: [unknown] (Other) = 1
`})
}

// TestFirefoxMeta: what the recording says of itself, where the format has it.
// TestFirefoxInstants: samples of what has no length end at once, and are markers too.
func TestFirefoxInstants(t *testing.T) {
	s := exportSet(true)
	s.Events[1].Name, s.Events[1].Instants = "kmem:kmalloc", true
	got := firefoxText(t, export(t, Firefox, s, exportOptions))
	worker, _, _ := strings.Cut(got[strings.Index(got, "worker of"):], "idle of")
	want := `
worker of worker 7/8 main false: tracing-ms
  0.5: anon!ODD (JIT) = 1
  0.500001:  = 0
  1.5: anon!ODD (JIT) = 1
  1.500001:  = 0
  0.5 at 0.5: kmem:kmalloc, type kprof, phase 0, end <nil>, stack of ODD
  1.5 at 1.5: kmem:kmalloc, type kprof, phase 0, end <nil>, stack of ODD
`
	if diff := cmp.Diff(want[1:], strings.ReplaceAll(worker, oddShown, "ODD")); diff != "" {
		t.Errorf("%s", diff)
	}
}

func TestFirefoxMeta(t *testing.T) {
	var f struct {
		Meta map[string]any
		Libs []struct{ Name, Path, CodeID string }
	}
	if err := json.Unmarshal(export(t, Firefox, exportSet(true), exportOptions), &f); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"product": "perf.data", "startTime": 1_700_000_000_123.0, "interval": 1.0, "symbolicated": true,
		"arguments": "perf record", "oscpu": "Linux 6.12 x86_64", "CPUName": "AMD",
	}
	for k, v := range want {
		if f.Meta[k] != v {
			t.Errorf("%s is %v, not %v", k, f.Meta[k], v)
		}
	}
	libs := fmt.Sprint(f.Libs)
	if want := "[{app /bin/app ab} {[kernel.kallsyms] [kernel.kallsyms] ababab} {anon //anon ab}]"; libs != want {
		t.Errorf("libs are %s, not %s", libs, want)
	}
}

// TestExportFolded: samples without pid, threads and times.
func TestExportFolded(t *testing.T) {
	s, err := folded.Read(strings.NewReader("a;main;f 3\na;main;g 5\nb;main 2\n"), folded.ReadOptions{Comm: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		export exporter
		text   func(*testing.T, []byte) string
		want   string
	}{
		"speedscope": {Speedscope, speedscopeText, `
samples: sampled none 0 to 10
  b main = 2
  a main g = 5
  a main f = 3
`},
		"firefox": {Firefox, firefoxText, `
a of a a/0 main true: samples
  0: g (Other) < main (Other) = 5
  5: f (Other) < main (Other) = 3
b of b b/0 main true: samples
  0: main (Other) = 2
`},
		"chrome": {Chrome, chromeText, `
0/1: thread_name a
0/1: process_name a
0/1: main (Other) 0-0.008
0/1:   g (Other) 0-0.005
0/1:   f (Other) 0.005-0.008
0/2: thread_name b
0/2: process_name b
0/2: main (Other) 0-0.002
`},
	} {
		if diff := cmp.Diff(c.want[1:], c.text(t, export(t, c.export, s, Options{}))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestExportErrors(t *testing.T) {
	for name, f := range map[string]exporter{"speedscope": Speedscope, "firefox": Firefox, "chrome": Chrome} {
		for _, o := range []Options{{Event: 2}, {Event: -1}, {Column: 1}, {Column: -1}} {
			if err := f(io.Discard, exportSet(true), o); err == nil || !strings.HasPrefix(err.Error(), "write "+name+": no ") {
				t.Errorf("%s of %+v: %v", name, o, err)
			}
		}
		if err := f(&stackstest.Failing{N: 100}, exportSet(true), exportOptions); err == nil || !strings.HasPrefix(err.Error(), "write "+name+": disk full") {
			t.Errorf("%s to a full disk: %v", name, err)
		}
		b := export(t, f, stacks.New(stackstest.OneEvent()), Options{})
		if !json.Valid(b) {
			t.Errorf("%s of nothing: %s", name, b)
		}
	}
}

func TestAppendMillionths(t *testing.T) {
	livetest.Table(t, func(n int64) string { return string(appendMillionths(nil, n)) }, map[int64]string{
		0: "0", 1: "0.000001", 1_500_000: "1.5", -1: "-0.000001", -2_000_010: "-2.00001", 7_000_000: "7",
		-1 << 63: "-9223372036854.775808",
	})
}

// TestExportIdle: what several CPUs did while idle is not mixed, while a thread that
// moves is one.
func TestExportIdle(t *testing.T) {
	s := stacks.New(stackstest.OneEvent())
	l := s.AddLocation(stacks.NoMapping, 1, stacks.KindKernel)
	sample := func(time uint64, comm string, id, cpu int64) {
		labels := s.InternLabels([]stacks.Label{{Key: "comm", Str: comm}, {Key: "pid", Num: id}, {Key: "tid", Num: id}, {Key: "cpu", Num: cpu}})
		s.AddTimedSample(stacks.TimedSample{Time: time, Sample: uint32(s.Add(0, s.Intern([]uint32{l}), labels, 1, 1)), Value: 1})
	}
	sample(1, "swapper", 0, 0)
	sample(2, "swapper", 0, 1)
	sample(3, "swapper", 0, 1)
	sample(4, "app", 5, 0)
	sample(5, "app", 5, 1)
	s.SortTimedSamples()
	want := []string{"app 5/5 2", "swapper/1 2", "swapper/0 1"}
	var got []string
	tracks := newTracks(s, 0, 0, nil, nil)
	for i := range tracks.list {
		got = append(got, fmt.Sprint(tracks.list[i].name(), " ", tracks.list[i].weight))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestExportSource: source files and lines, where they are known; a function on
// two of its lines is one, and an inlined one is called by what it is inlined into.
func TestExportSource(t *testing.T) {
	s := stacks.New(stackstest.OneEvent())
	m := s.AddMapping(stacks.Mapping{File: "/bin/app", Kind: stacks.KindUser})
	outer := s.AddFunction(stacks.Function{Name: "outer", File: "/src/app.c", StartLine: 10})
	inner := s.AddFunction(stacks.Function{Name: "inner", File: "/src/app.h", StartLine: 3})
	a, b := s.AddLocation(m, 1, stacks.KindUser), s.AddLocation(m, 2, stacks.KindUser)
	s.SetLines(a, stacks.Line{Function: inner, Line: 4}, stacks.Line{Function: outer, Line: 12})
	s.SetLines(b, stacks.Line{Function: outer, Line: 15})
	s.Add(0, s.Intern([]uint32{a}), 0, 2, 2)
	s.Add(0, s.Intern([]uint32{b}), 0, 1, 1)

	var sp struct {
		Shared struct {
			Frames []struct {
				Name, File string
				Line       int
			}
		}
	}
	if err := json.Unmarshal(export(t, Speedscope, s, Options{}), &sp); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(sp.Shared.Frames), "[{inner /src/app.h 3} {outer /src/app.c 10}]"; got != want {
		t.Errorf("speedscope has %s, not %s", got, want)
	}

	var f struct {
		Shared struct {
			StackTable  struct{ Frame []int }
			FrameTable  struct{ Func, Line []int }
			FuncTable   struct{ Name, Source, LineNumber []int }
			Sources     struct{ Filename []int }
			StringArray []string
		}
	}
	if err := json.Unmarshal(export(t, Firefox, s, Options{}), &f); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, frame := range f.Shared.StackTable.Frame {
		fn := f.Shared.FrameTable.Func[frame]
		got = append(got, fmt.Sprintf("%s from %s:%d at %d", f.Shared.StringArray[f.Shared.FuncTable.Name[fn]],
			f.Shared.StringArray[f.Shared.Sources.Filename[f.Shared.FuncTable.Source[fn]]],
			f.Shared.FuncTable.LineNumber[fn], f.Shared.FrameTable.Line[frame]))
	}
	want := []string{"outer from /src/app.c:10 at 12", "inner from /src/app.h:3 at 4", "outer from /src/app.c:10 at 15"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("firefox: %s", diff)
	}
	if n := len(f.Shared.FuncTable.Name); n != 2 {
		t.Errorf("firefox has %d functions", n)
	}
}

// TestExportLargeSum: times that follow each other go on to more than these formats can say.
func TestExportLargeSum(t *testing.T) {
	s := stackstest.SetOf([]stackstest.Row{
		stackstest.NewRow("", 1, 1<<62, "leaf", "/bin/x", "main", "/bin/x"),
		stackstest.NewRow("", 1, 1<<62, "other", "/bin/x", "main", "/bin/x"),
	})
	for name, write := range map[string]exporter{"speedscope": Speedscope, "firefox": Firefox, "chrome": Chrome} {
		var large *stacks.TooLargeSumError
		if err := write(io.Discard, s, Options{}); !errors.As(err, &large) {
			t.Errorf("%s: the sum of 2^62 twice was written: %v", name, err)
		}
	}
}
