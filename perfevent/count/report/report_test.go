package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

var update = flag.Bool("update", false, "rewrite the expected texts")

func soft(config uint64) abi.Attr { return abi.Attr{Type: abi.TypeSoftware, Config: config} }
func hard(config uint64) abi.Attr { return abi.Attr{Type: abi.TypeHardware, Config: config} }

// lsReport is a run of ls, with the counts that perf 6.1 printed on a machine without a
// PMU.
func lsReport() Report {
	const ran = 1678651
	row := func(event string, attr abi.Attr, value float64) Row {
		return Row{Event: event, Attr: attr, Value: value, Whole: true, Enabled: ran, Running: ran}
	}
	clock := row("task-clock", soft(abi.SWTaskClock), 1.678651)
	clock.Unit, clock.Whole = "msec", false
	rep := Report{Elapsed: 7143196, User: 2503 * time.Microsecond, Rows: []Row{
		clock,
		row("context-switches", soft(abi.SWContextSwitches), 1),
		row("cpu-migrations", soft(abi.SWCPUMigrations), 0),
		row("page-faults", soft(abi.SWPageFaults), 102),
		{Event: "cycles", Attr: hard(abi.HWCPUCycles), Status: NotSupported, Whole: true},
	}}
	return rep
}

// perfFields is what perf 6.1 printed for it with -x,.
const perfFields = `1.68,msec,task-clock,1678651,100.00,0.235,CPUs utilized
1,,context-switches,1678651,100.00,595.716,/sec
0,,cpu-migrations,1678651,100.00,0.000,/sec
102,,page-faults,1678651,100.00,60.763,K/sec
<not supported>,,cycles,0,100.00,,
`

func TestFieldsAreThoseOfPerf(t *testing.T) {
	rep := lsReport()
	rep.Derive()
	var b bytes.Buffer
	if err := rep.WriteFields(&b, ","); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(perfFields, b.String()); diff != "" {
		t.Errorf("-perf +kprof\n%s", diff)
	}
}

// TestMoreFields has the fields that only some reports have, where perf has them.
func TestMoreFields(t *testing.T) {
	switches := Row{Event: "cs", Attr: soft(abi.SWContextSwitches), Value: 218, Whole: true, Enabled: 220315815, Running: 220315815}
	clock := Row{Event: "cpu-clock", Attr: soft(abi.SWCPUClock), Value: 220.317968, Unit: "msec", Enabled: 220317968, Running: 220317968}
	inCgroup := switches
	inCgroup.Cgroup = "/"
	faults := Row{Event: "page-faults", Attr: soft(abi.SWPageFaults), Value: 148.0 / 3, Whole: true, Enabled: 745156, Running: 745156, Runs: []float64{49, 50, 49}}
	never := Row{Event: "cs", Attr: soft(abi.SWContextSwitches), Place: "sleep-11738", Status: NotCounted}
	half := Row{Event: "cycles", Attr: hard(abi.HWCPUCycles), Value: 2e9, Whole: true, Enabled: 4e8, Running: 1e8}
	onCPU := func(r Row) Row { r.Place = "CPU0"; return r }
	for _, tt := range []struct {
		name string
		rep  Report
		want string
	}{
		{"CPUs", Report{Elapsed: 218333333, Rows: []Row{onCPU(clock), onCPU(switches)}},
			"CPU0,220.32,msec,cpu-clock,220317968,100.00,1.009,CPUs utilized\nCPU0,218,,cs,220315815,100.00,989.479,/sec\n"},
		{"interval", Report{At: 103528838, Elapsed: 1e8, Rows: []Row{switches}}, "     0.103528838,218,,cs,220315815,100.00,,\n"},
		{"cgroup", Report{Elapsed: 1e8, Rows: []Row{inCgroup}}, "218,,cs,/,220315815,100.00,,\n"},
		{"runs", Report{Elapsed: 1e8, Times: []float64{1, 1, 1}, Rows: []Row{faults}}, "49,,page-faults,0.68%,745156,100.00,,\n"},
		{"not counted", Report{Elapsed: 1e8, Rows: []Row{never}}, "sleep-11738,<not counted>,,cs,0,100.00,,\n"},
		{"turns", Report{Elapsed: 1e8, Rows: []Row{half}}, "2000000000,,cycles,100000000,25.00,,\n"},
	} {
		tt.rep.Derive()
		var b bytes.Buffer
		if err := tt.rep.WriteFields(&b, ","); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, b.String()); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}

// hardware is a run with a PMU whose events took turns.
func hardwareReport() Report {
	row := func(event string, attr abi.Attr, value float64) Row {
		return Row{Event: event, Attr: attr, Value: value, Whole: true, Enabled: 1e9, Running: 5e8}
	}
	clock := row("task-clock", soft(abi.SWTaskClock), 1000)
	clock.Unit, clock.Whole, clock.Running = "msec", false, 1e9
	l1 := func(event string, config uint64, value float64) Row {
		return row(event, abi.Attr{Type: abi.TypeHWCache, Config: config}, value)
	}
	user := row("instructions:u", hard(abi.HWInstructions), 1e9)
	user.Attr.Flags |= abi.FlagExcludeKernel
	hit := row("sched:sched_switch", abi.Attr{Type: abi.TypeTracepoint, Config: 300}, 20000)
	hit.RecordCost = 2500
	joules := row("power/energy-pkg/", abi.Attr{Type: 20}, 12.5)
	joules.Unit, joules.Whole = "Joules", false
	return Report{Elapsed: 2e9, Rows: []Row{
		clock,
		row("cycles", hard(abi.HWCPUCycles), 3e9),
		row("instructions", hard(abi.HWInstructions), 4.5e9),
		user,
		row("branches", hard(abi.HWBranchInstructions), 1e9),
		row("branch-misses", hard(abi.HWBranchMisses), 2.5e7),
		l1("L1-dcache-loads", 0, 2e9), l1("L1-dcache-load-misses", 1<<16, 1e8),
		hit, joules,
	}}
}

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		livetest.WriteFile(t, file, got)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: -want +got\n%s", file, diff)
	}
}

func TestText(t *testing.T) {
	ls, hardware := lsReport(), hardwareReport()
	again := lsReport()
	again.Rows[0].Value, again.Rows[3].Value, again.Elapsed = 1.7, 103, 8e6
	runs := Merge([]Report{lsReport(), again, lsReport()})
	interval := lsReport()
	interval.At = 1000 * time.Millisecond
	for i := range interval.Rows {
		interval.Rows[i].Place = "CPU10"
	}
	for name, rep := range map[string]*Report{"ls": &ls, "hardware": &hardware, "runs": &runs} {
		rep.Derive()
		var b bytes.Buffer
		if err := rep.WriteText(&b, TextOptions{Title: "'ls /'"}); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", b.Bytes())
	}
	interval.Derive()
	var b bytes.Buffer
	if err := interval.WriteIntervalText(&b, true); err != nil {
		t.Fatal(err)
	}
	golden(t, "interval.txt", b.Bytes())
}

// TestMetrics states the ratios in numbers that one sees to be right.
func TestMetrics(t *testing.T) {
	rep := hardwareReport()
	rep.Derive()
	want := []Metric{
		{0.5, 3, "CPUs utilized"}, {3, 3, "GHz"}, {1.5, 2, "insn per cycle"},
		{1000, 3, "M/sec"}, // user instructions are not to be divided by all cycles
		{1000, 3, "M/sec"}, {2.5, 2, "% of all branches"},
		{2, 3, "G/sec"}, {5, 2, "% of all L1-dcache accesses"},
		{20, 3, "K/sec"}, {},
	}
	for i, r := range rep.Rows {
		if diff := cmp.Diff(want[i], r.Metric); diff != "" {
			t.Errorf("%s: -want +got\n%s", r.Event, diff)
		}
	}
}

// TestMetricsOfHybrid: instructions are beside the cycles of the same kind of CPU.
func TestMetricsOfHybrid(t *testing.T) {
	row := func(pmu, config uint64, value float64) Row {
		return Row{Attr: hard(pmu<<32 | config), Value: value, Whole: true, Enabled: 1, Running: 1}
	}
	rep := Report{Elapsed: 1e9, Rows: []Row{
		row(4, abi.HWCPUCycles, 100), row(10, abi.HWCPUCycles, 1000),
		row(4, abi.HWInstructions, 200), row(10, abi.HWInstructions, 500),
	}}
	rep.Derive()
	for i, want := range []Metric{{2, 2, "insn per cycle"}, {0.5, 2, "insn per cycle"}} {
		if got := rep.Rows[2+i].Metric; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestInterval compares with the table of Student's t in any textbook: two degrees of
// freedom, 95 %, 4.3027; four, 2.7764.
func TestInterval(t *testing.T) {
	if got, want := interval([]float64{49, 50, 49}), 4.3027/3; math.Abs(got-want) > 1e-4 {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := interval([]float64{1, 2, 3, 4, 5}), 2.7764*math.Sqrt(2.5/5); math.Abs(got-want) > 1e-4 {
		t.Errorf("%v, want %v", got, want)
	}
	if got := interval([]float64{1}); !math.IsInf(got, 1) {
		t.Errorf("of one run: %v", got)
	}
	runs := []float64{3, 1, 2}
	interval(runs)
	if runs[0] != 3 {
		t.Error("the runs have been sorted")
	}
}

func TestJSON(t *testing.T) {
	rep := Merge([]Report{lsReport(), lsReport()})
	rep.Derive()
	var b bytes.Buffer
	if err := rep.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != len(rep.Rows) {
		t.Fatalf("%d lines, want %d\n%s", len(lines), len(rep.Rows), b.String())
	}
	var faults, cycles map[string]any
	if err := json.Unmarshal([]byte(lines[3]), &faults); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(lines[4]), &cycles); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"event": "page-faults", "status": "counted", "value": 102.0, "enabled_ns": 1678651.0, "running_ns": 1678651.0,
		"metric_unit": "K/sec", "interval95": 0.0, "runs": []any{102.0, 102.0},
	} {
		if diff := cmp.Diff(want, faults[key]); diff != "" {
			t.Errorf("%s: -want +got\n%s", key, diff)
		}
	}
	if value, there := cycles["value"]; !there || value != nil || cycles["status"] != "not supported" {
		t.Errorf("what cannot be counted: %s", lines[4])
	}
}

// TestHostileNames: the names of tasks and cgroups are their owners' to choose.
// TestWideNames counts columns of a terminal: characters of East Asia take two each, what is put
// onto another one takes none.
func TestWideNames(t *testing.T) {
	names := []string{"/\u691c\u7d22", "/cafe\u0301", "/plain"}
	rep := Report{}
	for _, name := range names {
		rep.Rows = append(rep.Rows, Row{Event: name, Cgroup: name, Place: name, Value: 1, Whole: true, Metric: Metric{Value: 1, Unit: "/sec"}})
	}
	var b strings.Builder
	if err := rep.WriteIntervalText(&b, false); err != nil {
		t.Fatal(err)
	}
	want := "/\u691c\u7d22 " + strings.Repeat(" ", 18) + "1      /\u691c\u7d22" + strings.Repeat(" ", 28) + "/\u691c\u7d22  #        1 /sec\n" +
		"/cafe\u0301 " + strings.Repeat(" ", 18) + "1      /cafe\u0301" + strings.Repeat(" ", 28) + "/cafe\u0301  #        1 /sec\n" +
		"/plain" + strings.Repeat(" ", 18) + "1      /plain" + strings.Repeat(" ", 27) + "/plain #        1 /sec\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestHostileNames(t *testing.T) {
	rep := Report{Elapsed: 1e9, Rows: []Row{{Event: "cs", Place: "a\x1b[2Jb\nc-1", Cgroup: "x\ny", Value: 1, Enabled: 1, Running: 1}}}
	var text, fields bytes.Buffer
	if err := rep.WriteText(&text, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := rep.WriteFields(&fields, ","); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "\x1b") || strings.Count(fields.String(), "\n") != 1 {
		t.Errorf("%q\n%q", text.String(), fields.String())
	}
}
