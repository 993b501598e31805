//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	googlepprof "github.com/google/pprof/profile"

	"kprof/perfevent/perfdata/perftext"
)

// TestColumnsOfPprof: of a profile whose last column is all 0 the first that is not is shown,
// under its own name; and an event that is none is told from a value.
func TestColumnsOfPprof(t *testing.T) {
	fn := &googlepprof.Function{ID: 1, Name: "main.f", SystemName: "main.f"}
	loc := &googlepprof.Location{ID: 1, Line: []googlepprof.Line{{Function: fn}}}
	p := &googlepprof.Profile{
		SampleType: []*googlepprof.ValueType{{Type: "exception", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}, {Type: "alloc", Unit: "bytes"}, {Type: "lock_time", Unit: "nanoseconds"}},
		Sample:     []*googlepprof.Sample{{Location: []*googlepprof.Location{loc}, Value: []int64{0, 3e9, 5, 0}}},
		Location:   []*googlepprof.Location{loc}, Function: []*googlepprof.Function{fn},
	}
	name := filepath.Join(t.TempDir(), "columns.pb.gz")
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}

	const note = "kprof: the values of lock_time are all 0: showing cpu (nanoseconds) instead; --value chooses another\n"
	if code, said := runInside(t, "report", "--stdio", name); code != 0 || said != note {
		t.Errorf("report: %d, %q", code, said)
	}
	if _, out := runKeeping(t, &os.Stdout, "report", "--stdio", name); !strings.HasPrefix(string(out), "Event: cpu, cpu of nanoseconds\nTotal: 3s ") {
		t.Errorf("report: %.100q", out)
	}
	var top struct {
		Event, Type string
		Total       int64
	}
	if _, out := runKeeping(t, &os.Stdout, "report", "--json", name); json.Unmarshal(out, &top) != nil || top.Event != "cpu" || top.Type != "cpu" || top.Total != 3e9 {
		t.Errorf("report --json: %+v", top)
	}
	if _, out := runKeeping(t, &os.Stdout, "report", "--stdio", "--value", "alloc", name); !strings.HasPrefix(string(out), "Event: alloc, alloc of bytes\nTotal: 5B ") {
		t.Errorf("report --value: %.100q", out)
	}

	want := "kprof: " + name + `: it has no event "alloc"; events here: lock_time (0), with values for --value: exception, cpu, alloc, lock_time` + "\n"
	for _, args := range [][]string{{"report", "--stdio", "--event", "alloc", name}, {"convert", "--event", "alloc", "-o", os.DevNull, "-f", "folded", name}} {
		if code, said := runInside(t, args...); code != exitFailed || said != want {
			t.Errorf("%q: %d, %q, want %q", args, code, said, want)
		}
	}
}

// TestManyEvents: of many events without samples some are told, and where all are listed they are.
func TestManyEvents(t *testing.T) {
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "event trace:e%d type=tracepoint config=%d ids=%d\n", i, i+1, i+1)
	}
	text.WriteString("comm t=0 pid=7 comm=x\n")
	name := perftext.WriteFile(t, text.String())
	code, said := runInside(t, "report", "--stdio", name)
	if code != exitFailed || len(said) > 400 || !strings.HasSuffix(said, "trace:e7 and 292 more (kprof report --list-events lists them)\n") {
		t.Errorf("%d, %q", code, said)
	}
	if _, out := runKeeping(t, &os.Stdout, "report", "--list-events", name); strings.Count(string(out), "trace:e") != 300 {
		t.Errorf("--list-events: %.300q", out)
	}
}

// TestOneSample: one sample is not called samples.
func TestOneSample(t *testing.T) {
	name := perftext.WriteFile(t, `event cpu-clock ids=1
event page-faults type=software config=2 ids=2
comm t=0 pid=7 comm=x
sample t=1 pid=7 id=1 period=5 user 0x1000
sample t=2 pid=7 id=2 period=5 user 0x1000
`)
	if code, said := runInside(t, "report", "--stdio", name); code != 0 || !strings.Contains(said, "kprof: showing event cpu-clock (1 sample) only; choose another with --event: page-faults (1)\n") {
		t.Errorf("%d, %q", code, said)
	}
}
