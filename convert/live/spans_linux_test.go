package live_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"kprof/convert"
	"kprof/convert/replay"
	"kprof/perfevent/event"
	"kprof/perfevent/livetest"
	"kprof/perfevent/spanrule"
	"kprof/record"
)

func mustRule(t *testing.T, text string) *spanrule.Rule {
	t.Helper()
	r, err := spanrule.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLiveFunctionSpans: of a function that calls itself five deep, and is jumped out of
// three deep, the time of each call lies between what the function and its caller have
// measured, but for what two clocks differ. What was jumped out of is counted.
func TestLiveFunctionSpans(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.RequireKernel(t, livetest.PMU("uprobe"))
	livetest.RequirePrograms(t, "gcc")
	program := filepath.Join(t.TempDir(), "calls")
	if out, err := exec.Command("gcc", "-O1", "-fno-optimize-sibling-calls", "-fno-omit-frame-pointer", "-o", program, "testdata/calls.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rule := mustRule(t, "span:uprobe:"+program+":deep")
	res := event.Resolver{MountTracefs: true}
	specs, err := res.SpanSpecs(rule)
	if err != nil {
		t.Fatal(err)
	}
	w := recordWaiting(t, exec.Command(program), record.Options{Specs: specs},
		convert.Options{Selection: convert.Selection{Spans: []*spanrule.Rule{rule}, Times: true, FieldLabels: []string{"ret"}}})
	p := w.p
	type call struct{ before, first, last, after int64 }
	var calls []call // in the order of their beginnings
	for line := range strings.Lines(w.said) {
		var c call
		if _, err := fmt.Sscan(line, &c.before, &c.first, &c.last, &c.after); err != nil {
			t.Fatal(err)
		}
		if c.last != 0 {
			calls = append(calls, c)
		}
	}
	s := p.Set
	if len(calls) != 10 || len(s.TimedSamples) != 10 || p.Stats.Spans[0].Ended != 10 || p.Stats.Spans[0].Unended != 3 || p.Stats.Spans[0].Lost != 0 {
		t.Fatalf("%d calls that returned, %d times, %+v", len(calls), len(s.TimedSamples), p.Stats.Spans)
	}
	for i, x := range s.TimedSamples {
		least, most := calls[i].last-calls[i].first, calls[i].after-calls[i].before
		if drift := most / 1000; x.Value < least-drift || x.Value > most+drift {
			t.Errorf("call %d took %d, and has measured %d to %d", i, x.Value, least, most)
		}
		if got := names(s, s.Sample(int(x.Sample)).Stack); len(got) == 0 || got[0] != "deep" {
			t.Errorf("its stack is %q", got)
		}
	}
}

// traceLine is as perf trace -s prints a system call:
//
//	name calls errors total min avg max stddev
var traceLine = regexp.MustCompile(`^ +([a-z0-9_]+) +([0-9]+) +([0-9]+) +([0-9.]+) +([0-9.]+) +([0-9.]+) +([0-9.]+) `)

// openSpans opens what perf recorded, which is to be all, for the spans of a rule.
func openSpans(t *testing.T, file, rule string) *convert.Profile {
	t.Helper()
	p, err := convert.Open(context.Background(), file, convert.Options{Selection: convert.Selection{Spans: []*spanrule.Rule{mustRule(t, rule)}}, Unnamed: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Stats.Lost + p.Stats.LostSamples; n > 0 {
		t.Fatalf("perf lost %d records in rings of 8 MB", n)
	}
	return p
}

// TestLiveSyscallSpans: number, errors and times of system calls are those that perf trace
// tells of the same recording, call by call.
func TestLiveSyscallSpans(t *testing.T) {
	livetest.RequireKernel(t, livetest.Root, livetest.Tracefs)
	livetest.RequirePrograms(t, "perf")
	file := filepath.Join(t.TempDir(), "perf.data")
	if out, err := livetest.PerfCommand(t, "record", "-q", "-g", "-m", "8M", "-o", file, "-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit",
		"--", "ls", "-R", "/etc", "/nowhere").CombinedOutput(); !strings.Contains(string(out), "/nowhere") {
		t.Fatalf("%v: %s", err, out)
	}
	p := openSpans(t, file, "span:syscalls")
	type sums struct {
		calls, errors, max uint64
		total              uint64
	}
	ours := map[string]*sums{}
	for _, d := range p.Stats.Durations {
		call, _ := p.Set.Label(d.Labels, "syscall")
		x := ours[call.Str]
		if x == nil {
			x = &sums{}
			ours[call.Str] = x
		}
		x.calls += d.Count
		x.total += d.Sum
		x.max = max(x.max, d.Max)
		if _, failed := p.Set.Label(d.Labels, "error"); failed {
			x.errors += d.Count
		}
	}
	out, err := livetest.PerfCommand(t, "trace", "-s", "-i", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	compared := 0
	for line := range strings.Lines(string(out)) {
		m := traceLine.FindStringSubmatch(line)
		if m == nil || m[1] == "execve" { // whose start perf's recording does not have
			continue
		}
		compared++
		number := func(i int) float64 {
			v, err := strconv.ParseFloat(m[i], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		x := ours[m[1]]
		if x == nil {
			t.Errorf("%s is none of ours", m[1])
			continue
		}
		// perf prints thousandths of a millisecond.
		near := func(a, b float64) bool { return a-b < 1000 && b-a < 1000 }
		if float64(x.calls) != number(2) || float64(x.errors) != number(3) || !near(float64(x.total), number(4)*1e6) || !near(float64(x.max), number(7)*1e6) {
			t.Errorf("%s: %+v, perf says %s", m[1], *x, strings.TrimSpace(line))
		}
		delete(ours, m[1])
	}
	if compared < 8 || len(ours) > 1 || ours["getdents64"] != nil {
		t.Errorf("%d system calls are compared, and %v not", compared, ours)
	}
}

// TestLiveSpansLost: with rings so small that most is lost, no time is too long: those of a
// thread do not reach over each other.
func TestLiveSpansLost(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	rule := mustRule(t, "span:syscalls:getppid")
	res := event.Resolver{MountTracefs: true}
	specs, err := res.SpanSpecs(rule)
	if err != nil {
		t.Fatal(err)
	}
	for i := range specs {
		specs[i].Filter = "" // read(2) and all others too: what is lost are not only pairs
	}
	// A shell that reads a character at a time, from a pipe that is slow at its end.
	// Nobody reads the rings for as long as takes some 50,000 samples, of which they hold a hundred: a thread
	// that is before all others, on the only CPU, reads them so soon that none is lost.
	late := func() error { time.Sleep(500 * time.Millisecond); return nil }
	w := recordWaiting(t, exec.Command("sh", "-c", "read go; (yes | head -c 300000; sleep 0.5; echo) | while read x; do :; done"),
		record.Options{Specs: specs, RingSize: 8 << 10, DrainInterval: 200e6, Start: late},
		convert.Options{Selection: convert.Selection{Spans: []*spanrule.Rule{mustRule(t, "span:syscalls")}, Times: true, Labels: replay.LabelTID}, Unnamed: true})
	p, st := w.p, w.st
	if st.Lost == 0 {
		t.Fatalf("nothing was lost of %d samples", st.Samples)
	}
	ends := map[int64]uint64{}
	spans := 0
	for _, x := range p.Set.TimedSamples {
		labels := p.Set.Sample(int(x.Sample)).Labels
		if _, open := p.Set.Label(labels, replay.SpanLabel); open {
			continue
		}
		tid, _ := p.Set.Label(labels, "tid")
		if x.Time < ends[tid.Num] {
			t.Fatalf("thread %d: a call at %d, within one that ends at %d", tid.Num, x.Time, ends[tid.Num])
		}
		ends[tid.Num] = x.Time + uint64(x.Value)
		spans++
	}
	if spans == 0 || p.Stats.Spans[0].Lost == 0 {
		t.Errorf("%d times, %+v", spans, p.Stats.Spans)
	}
	t.Logf("%d times, %d lost records, %+v", spans, st.Lost, p.Stats.Spans)
}
