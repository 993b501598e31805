// Package listingtest compares listings of recordings with what perf script says of them.
package listingtest

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/perfevent/abi"
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
	k := knowledge(t, name)
	same, unexplained := 0, 0
	events, found := map[string]bool{}, map[string]int{}
	for key, w := range want {
		g := got[key]
		if len(g) != len(w) {
			t.Errorf("at %s: %d lines, perf script has %d", key, len(g), len(w))
			continue
		}
		slices.SortFunc(g, behindComm)
		slices.SortFunc(w, behindComm)
		event := eventOf(key)
		events[event] = true
		for i := range w {
			if g[i] == w[i] {
				same++
			} else if whys, ok := k.explain(key, g[i], w[i]); ok {
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

// commWidth is how wide a line has the name of a task.
const commWidth = 16

// behindComm orders lines by what follows the name of the task.
func behindComm(a, b string) int {
	return cmp.Or(strings.Compare(a[min(commWidth, len(a)):], b[min(commWidth, len(b)):]), strings.Compare(a, b))
}

// eventOf is the event of a key of byTime.
func eventOf(key string) string { return strings.TrimSuffix(key[strings.IndexByte(key, ' ')+1:], ":") }

// known is what a recording says that explains differences.
type known struct {
	prints map[string]*printed // by event
	named  map[string]bool     // times at which a task got a name
}

// explain says why a line at a time of an event differs from perf's.
func (k *known) explain(key, own, perf string) (whys []string, ok bool) {
	if strings.Contains(perf, "[FAILED TO PARSE]") {
		return []string{"perf cannot read the print fmt, and prints name=value"}, true
	}
	event := eventOf(key)
	p := k.prints[event]
	head := strings.Index(own, event+": ")
	if p == nil || head < 0 || len(perf) < head {
		return nil, false
	}
	if own[:head] != perf[:head] {
		if at, _, _ := strings.Cut(key, " "); !k.named[at] || own[commWidth:head] != perf[commWidth:head] {
			return nil, false
		}
		whys = append(whys, "a task gets its name at that very time, and what is so late is behind it to perf by its place in the file")
	}
	head += len(event) + 2
	own, perf = own[min(head, len(own)):], perf[min(head, len(perf)):]
	if own == perf {
		return whys, true
	}
	payload, ok := p.causes(own, perf)
	return append(whys, payload...), ok
}

// knowledge reads a recording.
func knowledge(t testing.TB, name string) *known {
	t.Helper()
	k := &known{prints: map[string]*printed{}, named: map[string]bool{}}
	r, err := perfdata.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for rec, err := range r.Records() {
		if err != nil {
			break // it ends early
		}
		if rec.Type == abi.RecordComm || rec.Type == abi.RecordFork {
			if f, ok := r.Events.OfOther(rec.Payload).Layout.DecodeTrailer(rec.Payload); ok {
				k.named[fmt.Sprintf("%d.%09d", f.Time/1e9, f.Time%1e9)] = true
			}
		}
	}
	if len(r.Features.TracingData) == 0 {
		return k
	}
	td, err := perfdata.DecodeTracingData(r.Features.TracingData)
	if err != nil {
		t.Fatal(err)
	}
	for _, tp := range td.Tracepoints {
		if f, err := format.Parse(tp.Format, format.Machine{Order: td.Order, LongSize: int(td.LongSize)}); err == nil {
			k.prints[tp.System+":"+tp.Name] = newPrinted(f)
		}
	}
	return k
}

// Read lists the events of a recording.
func Read(t testing.TB, name string, o listing.Options, p *listing.Printer) *listing.Result {
	t.Helper()
	rec := livetest.Open(t, convert.OpenRecordingFile, name)
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
