// Package listingtest compares listings of recordings with what perf script says of them.
package listingtest

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/perfevent/format"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
)

// Columns are those that are compared where a recording has all of them.
const Columns = "comm,pid,tid,cpu,time,event,trace"

// Compare compares the lines of a recording, and returns the events that it has.
func Compare(t testing.TB, name, columns string) map[string]bool {
	cmd := livetest.PerfCommand(t, "script", "-G", "--ns", "-F", columns, "-i", name)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("perf script: %v\n%s", err, errs.Bytes())
	}
	var b bytes.Buffer
	selected, err := listing.ParseColumns(columns)
	if err != nil {
		t.Fatal(err)
	}
	res := Read(t, name, listing.Options{}, listing.NewPrinter(&b, listing.PrinterOptions{Columns: selected, Nanos: true, Parallel: true}))
	late := uint64(0)
	for _, w := range res.Warnings {
		if w.Kind == convert.OutOfOrder {
			late = w.Count
		}
	}
	want, _ := byTime(t, string(out))
	got, backwards := byTime(t, b.String())
	if backwards > late {
		t.Errorf("%d lines are earlier than the one before, told of are %d", backwards, late)
	}
	prints := formats(t, name)
	same, unexplained := 0, 0
	events, found := map[string]bool{}, map[string]int{}
	for key, w := range want {
		g := got[key]
		if len(g) != len(w) {
			t.Errorf("at %s: %d lines, perf script has %d", key, len(g), len(w))
			continue
		}
		slices.Sort(g)
		slices.Sort(w)
		event := key[strings.IndexByte(key, ' ')+1:]
		event = strings.TrimSuffix(event, ":")
		events[event] = true
		for i := range w {
			if g[i] == w[i] {
				same++
			} else if whys, ok := explain(prints, event, g[i], w[i]); ok {
				for _, why := range whys {
					found[why]++
				}
			} else if unexplained++; unexplained <= 20 {
				t.Errorf("%s\n%q, perf script says\n%q", event, g[i], w[i])
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d times and events, perf script has %d", len(got), len(want))
	}
	t.Logf("%d lines of %d events are the same, %d unexplained", same, len(events), unexplained)
	for c, n := range found {
		t.Logf("%d differences: %s", n, c)
	}
	return events
}

// explain says why a line differs from perf's.
func explain(prints map[string]*printed, event, own, perf string) ([]string, bool) {
	if strings.Contains(perf, "[FAILED TO PARSE]") {
		return []string{"perf cannot read the print fmt, and prints name=value"}, true
	}
	p := prints[event]
	head := strings.Index(own, event+": ")
	if p == nil || head < 0 || len(perf) < head || own[:head] != perf[:head] {
		return nil, false
	}
	head += len(event) + 2
	return p.causes(own[min(head, len(own)):], perf[min(head, len(perf)):])
}

// formats are those of a recording, by event.
func formats(t testing.TB, name string) map[string]*printed {
	t.Helper()
	prints := map[string]*printed{}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := convert.OpenRecording(f)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	if len(rec.Features.TracingData) == 0 {
		return prints
	}
	td, err := perfdata.DecodeTracingData(rec.Features.TracingData)
	if err != nil {
		t.Fatal(err)
	}
	for _, tp := range td.Tracepoints {
		if f, err := format.Parse(tp.Format, format.Machine{Order: td.Order, LongSize: int(td.LongSize)}); err == nil {
			prints[tp.System+":"+tp.Name] = newPrinted(f)
		}
	}
	return prints
}

// Read lists the events of a recording.
func Read(t testing.TB, name string, o listing.Options, p *listing.Printer) *listing.Result {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := convert.OpenRecording(f)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	o.Address = p.Address
	res, err := listing.Read(t.Context(), rec, o, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return res
}

var scriptLine = regexp.MustCompile(`^.* +(\d+\.\d{9}): +(\S+): ?.*$`)

var lostLine = regexp.MustCompile(`^CPU:\d+ \[LOST \d+ EVENTS\]$`)

// byTime are lines by time and event, and how many are earlier than the one before. perf
// writes ends of lines in names as they are.
func byTime(t testing.TB, text string) (lines map[string][]string, backwards uint64) {
	lines = map[string][]string{}
	key, last := "", ""
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		if l == "" {
			continue // a payload that ends in an end of line
		}
		if lostLine.MatchString(l) {
			continue // perf script does not show them
		}
		m := scriptLine.FindStringSubmatch(l)
		if m == nil {
			if key == "" {
				t.Fatalf("not a line: %q", l)
			}
			k := lines[key]
			k[len(k)-1] += "\ufffd" + l
			continue
		}
		at := strings.Repeat("0", 20-len(m[1])) + m[1]
		if at < last {
			backwards++
		}
		last = at
		key = m[1] + " " + m[2]
		lines[key] = append(lines[key], l)
	}
	return lines, backwards
}
