package trace_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/tracetest"
)

// Functions of symbols.
const (
	schedule    = 0xffffffff81000100
	doNanosleep = 0xffffffff81000200
	inModule    = 0xffffffffc0000f00
)

// graphFile is a trace.dat of two CPUs, between which a task moves while it is in a function.
func graphFile(m tracetest.Machine, exit string, leave func(pid int, fn uint64, depth int, began, ended uint64) []byte, lost int64) string {
	d := &tracetest.Dat{
		Machine: m, Version: 6,
		Ftrace:   []string{tracetest.GraphEntry, exit},
		Systems:  []tracetest.System{{Name: "test", Formats: []string{tracetest.Tick}}},
		Kallsyms: symbols, Cmdlines: "7 worker\n8 other\n",
		Options: []tracetest.Option{{ID: 8, Data: m.Order.AppendUint32(nil, 2)}},
		Buffers: []tracetest.Instance{{Clock: "local", CPUs: [][][]byte{
			{
				m.Sub(1000, 0, m.Event(0, m.Enter(7, doNanosleep, 0)), m.Event(10, m.Enter(7, inModule, 1)), m.Event(10, leave(7, inModule, 1, 1010, 1020)),
					m.Event(0, m.Enter(0, schedule, 0)), m.Event(5, m.Enter(7, schedule, 1))), // the idle task is in one of its own
				m.Sub(1050, lost, m.Event(0, m.Tick(8, 1)), m.Event(20, leave(0, schedule, 0, 1020, 1070)), m.Event(10, m.Enter(8, schedule, 0))),
			},
			{
				m.Sub(1030, 0, m.Event(0, m.Tick(7, 2)), m.Event(70, leave(7, schedule, 1, 1025, 1100)), m.Event(100, leave(7, doNanosleep, 0, 1000, 1200)),
					m.Event(10, leave(8, inModule, 1, 1205, 1210))),
			},
		}}},
	}
	return string(d.Bytes())
}

// TestCalls: calls are made of begins and ends, whichever CPU they are on, and have their own
// time; with or without times in the ends.
func TestCalls(t *testing.T) {
	want := "[do_nanosleep 115 do_nanosleep;more_code 10 do_nanosleep;schedule 75 schedule 50 schedule;more_code 5]"
	for _, m := range []tracetest.Machine{{Order: abi.LittleEndian, Long: 8, Page: 512}, {Order: abi.BigEndian, Long: 8, Page: 512}} {
		timed := written(t, graphFile(m, tracetest.GraphExit, m.Leave, 0))
		if got := fmt.Sprint(folded(t, timed, "ftrace:function_graph", 1, convert.Options{})); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if got, want := warnings(t, timed), "left out 1 span of ftrace:function_graph, whose end was not seen\n1 end of ftrace:function_graph without a start, which was before the recording or not seen"; got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		untimed := written(t, graphFile(m, tracetest.GraphExitUntimed, func(pid int, fn uint64, depth int, _, ended uint64) []byte {
			return m.LeaveUntimed(pid, fn, depth, ended)
		}, 0))
		if got, want := fmt.Sprint(folded(t, untimed, "ftrace:function_graph", 1, convert.Options{})), strings.Replace(want, ";more_code 5", ";more_code 0", 1); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		p := listing.PrinterOptions{}
		got := strings.Split(list(t, timed, listing.Options{}, p), "\n")
		if len(got) != 13 || !strings.HasSuffix(got[0], "funcgraph_entry: --> do_nanosleep (0)") || !strings.HasSuffix(got[10], "funcgraph_exit: <-- do_nanosleep (0) (start: 3e8  end: 4b0) over: 0") {
			t.Errorf("%q", got)
		}
	}
}

// TestCallsReturned: calls have a field with what functions returned where the kernel tells that, and else none.
func TestCallsReturned(t *testing.T) {
	m := tracetest.Machine{Order: abi.LittleEndian, Long: 8, Page: 512}
	for _, tt := range []struct {
		exit  string
		leave []byte
		want  bool
	}{{tracetest.GraphExit, m.Leave(7, schedule, 0, 5000, 8000), false}, {tracetest.GraphExitUntimed, m.LeaveUntimed(7, schedule, 0, 0), true}} {
		r := open(t, (&tracetest.Dat{
			Machine: m, Version: 7, Compression: "none", Ftrace: []string{tracetest.GraphEntry, tt.exit}, Kallsyms: symbols,
			Buffers: []tracetest.Instance{{Clock: "local", CPUs: [][][]byte{{m.Sub(1000, 0, m.Event(0, m.Enter(7, schedule, 0)), m.Event(12000, tt.leave))}}}},
		}).Bytes())
		d, err := perfdata.DecodeTracingData(r.Features.TracingData)
		if err != nil || len(d.Tracepoints) != 1 {
			t.Fatal(err, d)
		}
		f, err := format.Parse(d.Tracepoints[0].Format, format.Machine{LongSize: 8})
		if err != nil || f.Field("depth") == nil || (f.Field("retval") != nil) != tt.want {
			t.Errorf("%v: %s", err, d.Tracepoints[0].Format)
		}
	}
}

// TestCallsScaled: the times in the ends of calls are ns, also where those of the buffer's clock are
// to be scaled.
func TestCallsScaled(t *testing.T) {
	m := tracetest.Machine{Order: abi.LittleEndian, Long: 8, Page: 512}
	scale := m.Order.AppendUint64(m.Order.AppendUint32(m.Order.AppendUint32(nil, 1<<20), 22), 0) // ns are a quarter
	for _, tt := range []struct {
		exit  string
		leave []byte
	}{{tracetest.GraphExit, m.Leave(7, schedule, 0, 5000, 8000)}, {tracetest.GraphExitUntimed, m.LeaveUntimed(7, schedule, 0, 0)}} {
		name := written(t, string((&tracetest.Dat{
			Machine: m, Version: 6, Ftrace: []string{tracetest.GraphEntry, tt.exit}, Kallsyms: symbols, Cmdlines: "7 worker\n",
			Options: []tracetest.Option{{ID: 8, Data: m.Order.AppendUint32(nil, 1)}, {ID: 4, Data: []byte("local [x86-tsc]\x00")}, {ID: 14, Data: scale}},
			Buffers: []tracetest.Instance{{CPUs: [][][]byte{{m.Sub(100000, 0, m.Event(0, m.Enter(7, schedule, 0)), m.Event(12000, tt.leave))}}}},
		}).Bytes()))
		if got, want := fmt.Sprint(folded(t, name, "ftrace:function_graph", 1, convert.Options{})), "[schedule 3000]"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestCallsLost: in what functions a task is, is not known behind a loss on its CPU, or where
// it comes from another since one.
func TestCallsLost(t *testing.T) {
	m := tracetest.Machine{Order: abi.LittleEndian, Long: 8, Page: 512}
	name := written(t, graphFile(m, tracetest.GraphExit, m.Leave, 3))
	want := "[do_nanosleep 125 do_nanosleep;more_code 10 schedule 125 schedule;more_code 5]"
	if got := fmt.Sprint(folded(t, name, "ftrace:function_graph", 1, convert.Options{})); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := warnings(t, name); !strings.Contains(got, "left out 3 spans of ftrace:function_graph, whose end may be among what was lost") {
		t.Errorf("%s", got)
	}
}

// TestCallsOfReports: calls of real files are those of what trace-cmd report -N says of them.
func TestCallsOfReports(t *testing.T) {
	compared := 0
	for _, name := range livetest.Traces(t, "*.dat") {
		report := strings.TrimSuffix(name, ".dat") + ".report.txt"
		text, err := os.ReadFile(report)
		if err != nil || !strings.Contains(string(text), "funcgraph_exit:") {
			continue
		}
		compared++
		for column := range 2 {
			ours := folded(t, name, "ftrace:function_graph", column, convert.Options{})
			theirs := folded(t, report, "ftrace:function_graph", column, convert.Options{})
			if len(ours) == 0 || !slices.Equal(ours, theirs) {
				t.Errorf("%s: %q\nreport: %q", name, ours, theirs)
			}
		}
	}
	if compared == 0 {
		t.Skip("needs files of function_graph in ../shared/corpus/traces, or in KPROF_TRACES, with their reports")
	}
}
