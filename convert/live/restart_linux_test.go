package live_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/replay"
	"kprof/perfevent/event"
	"kprof/perfevent/livetest"
	"kprof/perfevent/spanrule"
	"kprof/record"
)

// TestLiveSyscallsRestart: a call that a signal interrupts is two, which are as long together
// as the program has measured; one that exec in another thread ends is as long as that let it
// be, and exec, which ends in another thread than it began in, is counted and has no time.
func TestLiveSyscallsRestart(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.RequirePrograms(t, "gcc")
	program := filepath.Join(t.TempDir(), "restart")
	if out, err := exec.Command("gcc", "-O1", "-o", program, "testdata/restart.c", "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rule := mustRule(t, "span:syscalls")
	res := event.Resolver{MountTracefs: true}
	specs, err := res.SpanSpecs(rule)
	if err != nil {
		t.Fatal(err)
	}
	w := recordWaiting(t, exec.Command(program), record.Options{Specs: specs},
		convert.Options{Selection: convert.Selection{Spans: []*spanrule.Rule{rule}, Times: true, Labels: replay.LabelTID, FieldLabels: []string{"ret"}}})
	took, err := strconv.ParseInt(strings.TrimSpace(w.said), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	s := w.p.Set
	var reads []int64
	var errors []string
	pauses, execs := 0, 0
	for _, x := range s.TimedSamples {
		labels := s.Sample(int(x.Sample)).Labels
		call, _ := s.Label(labels, "syscall")
		failed, _ := s.Label(labels, "error")
		if _, open := s.Label(labels, replay.SpanLabel); open {
			if call.Str == "execve" {
				execs++
			}
			continue
		}
		if call.Str == "pause" {
			pauses++
		}
		switch {
		case call.Str == "pause" && (x.Value < 15e6 || x.Value > int64(w.most)-took), call.Str == "execve" && x.Value > 20e6:
			t.Errorf("%s has a time of %d", call.Str, x.Value)
		case call.Str == "read" && x.Value >= 20e6:
			reads, errors = append(reads, x.Value), append(errors, failed.Str)
		}
	}
	// The signal comes at 50 ms, and what is read at 150 at the earliest; its timer runs before it
	// reads. Between the two, and at both ends, a busy machine may let it wait; one of them alone is
	// two thirds.
	if len(reads) != 2 || errors[0] != "ERESTARTSYS" || errors[1] != "" || reads[0] < 30e6 || reads[0]+reads[1] > took || reads[0]+reads[1] < took*70/100 {
		t.Errorf("reads took %d (%q), the program has measured %d", reads, errors, took)
	}
	if pauses != 1 || execs != 1 {
		t.Errorf("%d calls of pause that ended, %d of execve that did not", pauses, execs)
	}
	if n := w.p.Stats.Spans[0]; n.Unended+n.Lost+n.Open == 0 || w.st.Lost > 0 {
		t.Errorf("%+v, %d lost", n, w.st.Lost)
	}
	t.Logf("%d, of %d: %+v", reads, took, w.p.Stats.Spans[0])
}
