package listing_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/convert/listing/listingtest"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
	"kprof/symbolize"
)

// switches is a recording of sched_switch, of a big-endian machine.
const switches = "../../testdata/recordings/s390x-zstd-pipe.data"

// The first switches to a task other than the idle one.
func Example() {
	rec, err := convert.OpenRecordingFile(switches)
	if err != nil {
		log.Fatal(err)
	}
	defer rec.Close()
	where, err := expr.Parse("next_pid != 0 && prev_state == 1")
	if err != nil {
		log.Fatal(err)
	}
	p := listing.NewPrinter(os.Stdout, listing.PrinterOptions{Limit: 2})
	_, err = listing.Read(context.Background(), rec, listing.Options{Options: convert.Options{Selection: convert.Selection{Where: where}}}, p)
	if err := errors.Join(err, p.Close()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// cat   325 [001]    39.056708: sched:sched_switch: prev_comm=cat prev_pid=325 prev_prio=120 prev_state=S ==> next_comm=perf next_pid=324 next_prio=120
	//              cat   325 [001]    39.057357: sched:sched_switch: prev_comm=cat prev_pid=325 prev_prio=120 prev_state=S ==> next_comm=perf next_pid=324 next_prio=120
}

// list lists a recording, as text lines.
func list(t *testing.T, name string, o listing.Options, po listing.PrinterOptions) ([]string, *listing.Result) {
	t.Helper()
	var b bytes.Buffer
	o.Unnamed = true
	res := listingtest.Read(t, name, o, listing.NewPrinter(&b, po))
	return slices.Collect(strings.Lines(b.String())), res
}

// written lists a recording that is written as text, read from a reader or from a file.
func written(t *testing.T, rec *perftext.Recording, o listing.Options, po listing.PrinterOptions, pipe bool) (string, *listing.Result, error) {
	t.Helper()
	b, err := rec.Assemble(perftext.Form{Pipe: pipe})
	if err != nil {
		t.Fatal(err)
	}
	name := t.TempDir() + "/perf.data"
	livetest.WriteFile(t, name, b)
	f := livetest.Open(t, os.Open, name)
	var r io.Reader = f
	if pipe {
		r = struct{ io.Reader }{f}
	}
	in, err := convert.OpenRecording(r)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out bytes.Buffer
	p := listing.NewPrinter(&out, po)
	o.Address, o.Unnamed = p.Address, true
	res, err := listing.Read(t.Context(), in, o, p)
	err = errors.Join(err, p.Close())
	return out.String(), res, err
}

// TestAddresses: the names of addresses are those that the recording tells, whether or not whoever
// lists asks for them himself. The oracle is the flame graph's input beside the recording, of which
// the last frame of each line is what was running.
func TestAddresses(t *testing.T) {
	folded, err := os.ReadFile("../../testdata/demo.folded")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for line := range strings.Lines(string(folded)) {
		stack, count, _ := strings.Cut(strings.TrimSpace(line[strings.LastIndexByte(line, ';')+1:]), " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		want[stack] += n / 5e6 // ns, of samples 5 ms apart
	}
	columns, err := listing.ParseColumns("sym")
	if err != nil {
		t.Fatal(err)
	}
	for _, stacks := range []bool{false, true} { // which are asked for besides, and not shown
		rec := livetest.Open(t, convert.OpenRecordingFile, "../../testdata/demo.data")
		var out bytes.Buffer
		p := listing.NewPrinter(&out, listing.PrinterOptions{Columns: columns})
		o := listing.Options{Stacks: stacks}
		o.Symbols = symbolize.Options{KallsymsPath: "../../testdata/demo.kallsyms", Root: "../../testdata/symfs"}
		_, err := listing.Read(t.Context(), rec, o, p)
		if err := errors.Join(err, p.Close()); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for line := range strings.Lines(out.String()) {
			got[strings.TrimSpace(line)]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what was running, with stacks %v:\n%s", stacks, diff)
		}
	}
}

// TestFormats: JSON and CSV say what the text says.
func TestFormats(t *testing.T) {
	columns, err := listing.ParseColumns("comm,pid,tid,cpu,time,event,trace,fields,period,ip")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := list(t, switches, listing.Options{}, listing.PrinterOptions{Columns: columns, Nanos: true})
	objects, _ := list(t, switches, listing.Options{}, listing.PrinterOptions{Columns: columns, Format: listing.JSON})
	rows, _ := list(t, switches, listing.Options{}, listing.PrinterOptions{Columns: columns, Format: listing.CSV})
	table, err := csv.NewReader(strings.NewReader(strings.Join(rows, ""))).ReadAll()
	if err != nil || len(table) != len(text)+1 || len(objects) != len(text) || len(text) != 190 {
		t.Fatalf("%d lines, %d objects, %d rows, %v", len(text), len(objects), len(table), err)
	}
	if got := strings.Join(table[0], ","); got != "comm,pid,tid,cpu,time,period,event,trace,fields,ip" {
		t.Errorf("columns %s", got)
	}
	switched := 0
	for i, line := range objects {
		var e struct {
			Comm, Event, Trace, IP string
			PID, TID, CPU, Period  int
			Time                   json.Number
			Fields                 map[string]any
		}
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			t.Fatal(err, line)
		}
		s, err := strconv.ParseFloat(e.Time.String(), 64)
		if err != nil {
			t.Fatal(err)
		}
		row := table[i+1]
		want := fmt.Sprintf("%16s %5d/%-5d [%03d] %15.9f: %10d %18s: ", e.Comm, e.PID, e.TID, e.CPU, s, e.Period, e.Event)
		if e.Trace != "" {
			want += e.Trace + " " + row[8]
			switched++
			if next, _ := e.Fields["next_comm"].(string); !strings.Contains(e.Trace, "next_comm="+next+" ") {
				t.Errorf("%q, fields %v", e.Trace, e.Fields)
			}
			if pid, _ := e.Fields["prev_pid"].(float64); !strings.Contains(e.Trace, fmt.Sprintf("prev_pid=%v ", pid)) {
				t.Errorf("%q, fields %v", e.Trace, e.Fields)
			}
		}
		want += fmt.Sprintf(" %16s\n", strings.TrimPrefix(e.IP, "0x"))
		if text[i] != want {
			t.Fatalf("%q is as JSON\n%q", text[i], want)
		}
		if got := []string{e.Comm, strconv.Itoa(e.PID), strconv.Itoa(e.TID), strconv.Itoa(e.CPU), e.Time.String(), strconv.Itoa(e.Period), e.Event, e.Trace, row[8], e.IP}; !slices.Equal(got, row) {
			t.Errorf("row %q, object %q", row, got)
		}
	}
	if switched == 0 {
		t.Error("no switch")
	}
}

// TestSelected: what is selected is what a search in the text of all finds.
func TestSelected(t *testing.T) {
	all, _ := list(t, switches, listing.Options{}, listing.PrinterOptions{})
	for _, c := range []struct {
		where   string
		options convert.Options
		match   string
	}{
		{`prev_state == 0`, convert.Options{}, `prev_state=R `},
		{`next_comm ~ "c*"`, convert.Options{}, `next_comm=c`},
		{`cpu == 1 && event == "sched_switch"`, convert.Options{}, `\[001\].*sched:sched_switch`},
		{``, convert.Options{Selection: convert.Selection{Comms: []string{"swapper"}}}, `^ *swapper `},
		{``, convert.Options{Selection: convert.Selection{CPUs: []int32{0}}}, `\[000\]`},
		{``, convert.Options{Selection: convert.Selection{Events: []string{"sched_switch"}}}, `sched:sched_switch`},
		{`pid != 0`, convert.Options{Selection: convert.Selection{CPUs: []int32{1}}}, `^ *[^ ]+ +[1-9][0-9]* \[001\]`},
	} {
		var want []string
		for _, l := range all {
			if regexp.MustCompile(c.match).MatchString(l) {
				want = append(want, l)
			}
		}
		o := where(t, c.options, c.where)
		got, res := list(t, switches, o, listing.PrinterOptions{})
		if len(want) == 0 || !slices.Equal(got, want) || res.Listed != uint64(len(got)) {
			t.Errorf("%s %+v: %d lines, want %d", c.where, c.options.Events, len(got), len(want))
		}
	}
}

// where are options to list what matches an expression, "" for all.
func where(t *testing.T, o convert.Options, text string) listing.Options {
	t.Helper()
	if text != "" {
		x, err := expr.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Where = x
	}
	return listing.Options{Options: o}
}

// TestFirstAndLast: a limit is the beginning, a tail the end, and times are counted from
// the first line or from line to line.
func TestFirstAndLast(t *testing.T) {
	all, _ := list(t, switches, listing.Options{}, listing.PrinterOptions{})
	first, _ := list(t, switches, listing.Options{}, listing.PrinterOptions{Limit: 7})
	last, _ := list(t, switches, listing.Options{}, listing.PrinterOptions{Tail: 7})
	if !slices.Equal(first, all[:7]) || !slices.Equal(last, all[len(all)-7:]) {
		t.Errorf("first\n%s\nlast\n%s", strings.Join(first, ""), strings.Join(last, ""))
	}
	if more, _ := list(t, switches, listing.Options{}, listing.PrinterOptions{Tail: 1000}); !slices.Equal(more, all) {
		t.Error("a tail of more than all is not all")
	}
	only, err := listing.ParseColumns("time")
	if err != nil {
		t.Fatal(err)
	}
	nanos := func(times listing.Times) (ns []int64) {
		lines, _ := list(t, switches, listing.Options{}, listing.PrinterOptions{Columns: only, Nanos: true, Times: times})
		for _, l := range lines {
			n, err := strconv.ParseInt(strings.Trim(strings.Replace(l, ".", "", 1), ": \n"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			ns = append(ns, n)
		}
		return ns
	}
	absolute, start, delta := nanos(listing.Absolute), nanos(listing.SinceStart), nanos(listing.SinceLast)
	sum := int64(0)
	for i := range absolute {
		sum += delta[i]
		if start[i] != absolute[i]-absolute[0] || sum != start[i] {
			t.Fatalf("at %d: %d from the start, %d from the line before", absolute[i], start[i], delta[i])
		}
	}
}

// TestParallel: lines that several goroutines make are those that one makes, with what was
// lost in its place, and with a limit.
func TestParallel(t *testing.T) {
	var text strings.Builder
	text.WriteString("event cpu-clock type=software config=0 period=1 sample=ip,tid,time,cpu,raw flags=sample_id_all\nevent faults type=software config=2 period=1 ids=2 sample=ip,tid,time,cpu flags=sample_id_all\n")
	for i := range 5000 {
		if i%100 == 7 {
			fmt.Fprintf(&text, "lost t=%d count=%d cpu=1\n", i, i)
		}
		fmt.Fprintf(&text, "sample t=%d pid=7 cpu=%d raw=0011%04x kernel 0x30\n", i, i%3, i)
		if i%1000 == 0 {
			text.WriteString("round\n")
		}
	}
	rec := perftext.MustParse(text.String())
	for _, list := range []string{"comm,pid,time,event,trace,ip", "time,raw", "time,sym"} {
		columns, err := listing.ParseColumns(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []listing.Format{listing.Text, listing.JSON, listing.CSV} {
			for _, limit := range []uint64{0, 1, 3333} {
				o := listing.PrinterOptions{Columns: columns, Format: format, Limit: limit, Times: listing.SinceLast, Nanos: true}
				want, _, err := written(t, rec, listing.Options{}, o, false)
				if err != nil || want == "" {
					t.Fatal(err)
				}
				o.Parallel = true
				if got, _, err := written(t, rec, listing.Options{}, o, false); err != nil || got != want {
					t.Errorf("%s, format %d, limit %d: %d bytes, want %d, %v", list, format, limit, len(got), len(want), err)
				}
			}
		}
	}
	for _, format := range []listing.Format{listing.Text, listing.JSON} {
		columns, err := listing.ParseColumns("comm,pid,cpu,time,event,trace,fields")
		if err != nil {
			t.Fatal(err)
		}
		o := listing.PrinterOptions{Columns: columns, Format: format}
		want, _ := list(t, switches, listing.Options{}, o)
		o.Parallel = true
		if got, _ := list(t, switches, listing.Options{}, o); !slices.Equal(got, want) {
			t.Errorf("%d lines, want %d", len(got), len(want))
		}
	}
}

const twoCPUs = `event cpu-clock type=software config=0 period=1 sample=ip,tid,time,cpu flags=sample_id_all
comm t=1 pid=7 comm="a\nb"
sample t=30 pid=7 cpu=0 kernel 0x30
round
sample t=20 pid=7 cpu=1 kernel 0x20
lost t=40 count=3 cpu=1
sample t=50 pid=7 cpu=1 kernel 0x50
`

// TestLost: losses are told where they are missing, and a name forges no line.
func TestLost(t *testing.T) {
	columns, err := listing.ParseColumns("comm,cpu,time,event")
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range map[listing.Format]string{
		listing.Text: `             a` + "\ufffd" + `b [001]     0.000000020: cpu-clock: 
             a` + "\ufffd" + `b [000]     0.000000030: cpu-clock: 
CPU:1 [LOST 3 EVENTS]
             a` + "\ufffd" + `b [001]     0.000000050: cpu-clock: 
`,
		listing.JSON: `{"comm":"a\u000ab","cpu":1,"time":0.000000020,"event":"cpu-clock"}
{"comm":"a\u000ab","cpu":0,"time":0.000000030,"event":"cpu-clock"}
{"lost":3,"cpu":1,"at":0.000000040}
{"comm":"a\u000ab","cpu":1,"time":0.000000050,"event":"cpu-clock"}
`,
		listing.CSV: "comm,cpu,time,event\na\ufffdb,1,0.000000020,cpu-clock\na\ufffdb,0,0.000000030,cpu-clock\n,1,0.000000040,[LOST 3 EVENTS]\na\ufffdb,1,0.000000050,cpu-clock\n",
	} {
		for _, pipe := range []bool{false, true} {
			got, res, err := written(t, perftext.MustParse(twoCPUs), listing.Options{}, listing.PrinterOptions{Columns: columns, Format: format, Nanos: true}, pipe)
			if err != nil || got != want {
				t.Errorf("format %d, pipe %v: %v\n%s", format, pipe, err, got)
			}
			if res.Stats.Lost != 3 || res.Listed != 3 || len(res.Warnings) != 1 || res.Warnings[0].Kind != convert.LostRecords {
				t.Errorf("%+v", res)
			}
		}
	}
}

// TestSpilled: a recording without rounds that is larger than memory is sorted in a file,
// which is told.
func TestSpilled(t *testing.T) {
	var text strings.Builder
	text.WriteString("event cpu-clock type=software config=0 period=1 sample=ip,tid,time,cpu flags=sample_id_all\n")
	for i := range 2000 {
		fmt.Fprintf(&text, "sample t=%d pid=7 cpu=0 kernel 0x30\n", 1+i*7919%2000)
	}
	columns, err := listing.ParseColumns("time")
	if err != nil {
		t.Fatal(err)
	}
	got, res, err := written(t, perftext.MustParse(text.String()), listing.Options{Memory: 10000}, listing.PrinterOptions{Columns: columns, Nanos: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(got))
	if !slices.IsSorted(lines) || len(lines) != 2000 || len(res.Warnings) != 1 || res.Warnings[0].Kind != convert.SortedInFile || res.Warnings[0].Count == 0 {
		t.Errorf("%d lines, %+v", len(lines), res.Warnings)
	}
}

// TestNothing: a listing of nothing says why, and what there would have been.
func TestNothing(t *testing.T) {
	for _, c := range []struct {
		options convert.Options
		where   string
		want    string
	}{
		{convert.Options{Selection: convert.Selection{Comms: []string{"nobody"}}}, "", "no sample of comm nobody; comms here: a\nb (3)"},
		{convert.Options{Selection: convert.Selection{Events: []string{"cycles"}}}, "", `it has no event "cycles"; events here: cpu-clock (3)`},
		{convert.Options{}, "pid == 8", "no event matches pid == 8; there are cpu-clock (3)"},
		{convert.Options{}, "nosuch == 8", `no event has a field "nosuch"`},
	} {
		o := where(t, c.options, c.where)
		for _, pipe := range []bool{false, true} {
			out, _, err := written(t, perftext.MustParse(twoCPUs), o, listing.PrinterOptions{}, pipe)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(out, "cpu-clock") {
				t.Errorf("%+v %s: %v, want %s; printed %q", c.options, c.where, err, c.want, out)
			}
		}
	}
}

// TestProbes: the payload of a probe of the kernel's PMU has a known form; one that nothing
// describes is shown as bytes.
func TestProbes(t *testing.T) {
	const text = `event kprobe:vfs_read type=8 config=0 period=1 sample=ip,tid,time,cpu,raw flags=sample_id_all
event other type=9 config=0 period=1 ids=2 sample=ip,tid,time,cpu,raw flags=sample_id_all
sample t=20 pid=7 cpu=1 raw=0500000007000000d0f1ff8100000000 kernel 0x20
`
	rec, err := perftext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	rec.Features.PMUs = []perfdata.PMU{{Name: "kprobe", Type: 8}}
	got, _, err := written(t, rec, listing.Options{}, listing.PrinterOptions{}, false)
	if err != nil || !strings.Contains(got, "kprobe:vfs_read: (0x81fff1d0)") {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestRawBeside: events of the PMU and clocks have no payload of their own: the raw data that
// perf record -R asks of all events is not what is shown of them, as by perf script.
func TestRawBeside(t *testing.T) {
	const text = `event cycles type=hardware config=0 freq=1000 sample=ip,tid,time,period,raw flags=sample_id_all
sample t=20 pid=7 period=11 ip=0x7f306527c4c0 raw=00000000
`
	for flags, want := range map[string]string{
		"":     "              :7     7     0.000000:         11 cycles:      7f306527c4c0 [unknown] ([unknown])\n",
		"+raw": "              :7     7     0.000000:         11 cycles: \n        Raw data: 0000: 00 00 00 00              ....     7f306527c4c0 [unknown] ([unknown])\n",
	} {
		var o listing.PrinterOptions
		if flags != "" {
			columns, err := listing.ParseColumns(flags)
			if err != nil {
				t.Fatal(err)
			}
			o.Columns = columns
		}
		got, _, err := written(t, perftext.MustParse(text), listing.Options{}, o, false)
		if err != nil || got != want {
			t.Errorf("%q: %v\n%q, want\n%q", flags, err, got, want)
		}
	}
}

// TestModules: a module of the kernel has the name that perf 6.1 prints of the same recording, with
// which scripts tell the kernel's frames, wherever its file is.
func TestModules(t *testing.T) {
	rec := perftext.MustParse(`event cpu-clock type=software sample=ip,tid,time,callchain,cpu,identifier flags=sample_id_all
event cpu-clock type=software sample=ip,tid,time,cpu,identifier ids=2 flags=sample_id_all
mmap t=1 pid=-1 misc=kernel addr=0xffffffffc0000000 len=0x1000 file=/lib/modules/6.1.0/kernel/net/netfilter/nf-tables.ko.xz
mmap t=1 pid=-1 misc=kernel addr=0xffffffffc0001000 len=0x1000 file=[ext4]
mmap t=1 pid=-1 misc=kernel addr=0xffffffffc0002000 len=0x1000 file=/lib/modules/6.1.0/updates/dkms/zfs.ko
comm t=1 pid=7 comm=x
sample t=1000 pid=7 kernel 0xffffffffc0000010 0xffffffffc0001010 0xffffffffc0002010
sample t=2000 pid=7 id=2 kernel 0xffffffffc0002020
`)
	const want = `x     7 [000]     0.000001:          1 cpu-clock: 
	ffffffffc0000010 [unknown] ([nf_tables])
	ffffffffc0001010 [unknown] ([ext4])
	ffffffffc0002010 [unknown] ([zfs])

               x     7 [000]     0.000002:          1 cpu-clock:  ffffffffc0002020 [unknown] ([zfs])
`
	got, _, err := written(t, rec, listing.Options{Stacks: true}, listing.PrinterOptions{Stacks: true}, false)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v, -want +got\n%s", err, d)
	}
}

// TestColumns: lists of columns, and mistakes in them.
func TestColumns(t *testing.T) {
	for list, want := range map[string]string{
		"comm,pid":       "comm pid",
		" time , event":  "time event",
		"event,time":     "time event",
		"+period,-cpu":   "+period -cpu",
		"comm,nosuch":    `there is no column "nosuch"`,
		"comm,-pid":      "columns are either all listed",
		"com":            "did you mean comm",
		"comm,,pid":      `there is no column ""`,
		"trace,fields":   "trace fields",
		"raw,addr,ip":    "raw addr ip",
		"sym,dso,period": "period sym dso",
	} {
		s, err := listing.ParseColumns(list)
		got := strings.Join(s.Add.Names(), " ")
		if !s.Exact {
			got = "+" + got + " -" + strings.Join(s.Drop.Names(), " ")
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", list, got, want)
		}
	}
}
