package live_test

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kprof/convert"
	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/perfevent/event"
	"kprof/perfevent/livetest"
	"kprof/record"
)

// TestLiveOffCPU: each time that perf sched timehist says a task waited is one of ours,
// to the microsecond that perf prints, and of the same length; and so is the part of it
// from the wake-up on. Perf has no line for a task that does not leave once more, and
// takes the thread of the sample, which is -1 for one that has ended. Where the kernel has
// left out a switch without a word, so that a task leaves that never came back, perf takes
// the time of the CPU's last switch for that; there ours is counted as lost. In a namespace
// of processes, whose numbers for threads are not those in events, it is the same.
func TestLiveOffCPU(t *testing.T) {
	livetest.RequireKernel(t, livetest.Root, livetest.Tracefs)
	livetest.RequirePrograms(t, "perf", "unshare")
	t.Run("machine", func(t *testing.T) { compareTimehist(t, false) })
	t.Run("namespace", func(t *testing.T) { compareTimehist(t, true) })
}

func compareTimehist(t *testing.T, namespace bool) {
	file := filepath.Join(t.TempDir(), "perf.data")
	cmd := livetest.PerfCommand(t, "record", "-q", "-a", "-g", "-m", "8M", "-o", file,
		"-e", "sched:sched_switch", "-e", "sched:sched_wakeup", "-e", "sched:sched_wakeup_new",
		"--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do (sleep 0.1; sleep 0.1; sleep 0.1; :) & done; for i in 1 2; do sleep 0.1; ls -R /usr/include; done | cat > /dev/null; wait")
	if namespace {
		cmd = exec.Command("unshare", append([]string{"--fork", "--pid", "--mount-proc"}, cmd.Args...)...)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p, err := convert.Open(context.Background(), file, convert.Options{Selection: convert.Selection{OffCPU: true, Labels: replay.LabelTID, Times: true}, Unnamed: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Stats.Lost + p.Stats.LostSamples; n > 0 {
		t.Fatalf("perf lost %d records in rings of 8 MB", n)
	}
	ours := map[int64][]livetest.Wait{}
	key := func(tid int64) int64 {
		if namespace {
			return 0 // perf has another number: times to the microsecond tell enough
		}
		return tid
	}
	s := p.Set
	for _, x := range s.TimedSamples {
		tid, _ := s.Label(s.Sample(int(x.Sample)).Labels, "tid")
		ours[key(tid.Num)] = append(ours[key(tid.Num)], livetest.Wait{End: float64(x.Time+uint64(x.Value)) / 1000, Took: float64(x.Value) / 1000})
	}
	compared, missing := 0, 0
	var told []string
	differs := map[int64]bool{}
	for tid, theirs := range livetest.Timehist(t, file) {
		if tid <= 0 {
			continue
		}
		for _, w := range theirs {
			compared++
			if !w.In(ours[key(tid)]) {
				missing++
				differs[tid] = true
				told = append(told, fmt.Sprintf("thread %d back at %.0f µs after %.0f µs", tid, w.End, w.Took))
			}
		}
	}
	if missing > int(p.Stats.OffCPU.Lost) || compared < 30 {
		t.Errorf("of %d times off the CPU %d are not ours, %d are lost:\n%s", compared, missing, p.Stats.OffCPU.Lost, strings.Join(told[:min(len(told), 20)], "\n"))
	}
	if namespace {
		t.Logf("%d times, %+v late %d", compared, p.Stats.OffCPU, p.Stats.LatePoints)
		return
	}
	// Whose times are all on perf's list, of those the waiting for a CPU adds up to the same.
	runnable := map[int64]float64{}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		tid, _ := s.Label(x.Labels, "tid")
		if state, _ := s.Label(x.Labels, "state"); state.Str != "preempted" {
			runnable[tid.Num] += float64(x.Values[2]) / 1000
		}
	}
	threads := 0
	var wrong []string
	for tid, theirs := range livetest.Timehist(t, file) {
		if tid <= 0 || differs[tid] || len(theirs) != len(ours[key(tid)]) {
			continue
		}
		threads++
		sum := 0.
		for _, w := range theirs {
			sum += w.Delay
		}
		if math.Abs(sum-runnable[tid]) > 1+float64(len(theirs)) {
			wrong = append(wrong, fmt.Sprintf("thread %d waited for a CPU for %.0f µs after wake-ups, perf says %.0f µs", tid, runnable[tid], sum))
		}
	}
	if len(wrong) > int(p.Stats.OffCPU.Lost) {
		t.Errorf("%d threads differ:\n%s", len(wrong), strings.Join(wrong, "\n"))
	}
	if threads < 5 {
		t.Errorf("only %d threads are compared", threads)
	}
	t.Logf("%d threads, %d times, %+v late %d", threads, compared, p.Stats.OffCPU, p.Stats.LatePoints)
}

// TestLiveOffCPUOfTask: of a command that is recorded by itself the returns are told by its
// own records. It sleeps as long as it says, and no longer than it takes.
func TestLiveOffCPUOfTask(t *testing.T) {
	livetest.RequireKernel(t, livetest.Root, livetest.Tracefs)
	livetest.RequirePrograms(t, "perf")
	file := filepath.Join(t.TempDir(), "perf.data")
	cmd := livetest.PerfCommand(t, "record", "-q", "-g", "--switch-events", "-e", "sched:sched_switch", "-o", file, "--", "sleep", "0.3")
	begun := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	most := time.Since(begun)
	p, err := convert.Open(context.Background(), file, convert.Options{Selection: convert.Selection{OffCPU: true}})
	if err != nil {
		t.Fatal(err)
	}
	var slept time.Duration
	for i := range p.Set.NumSamples() {
		if x := p.Set.Sample(i); strings.Contains(strings.Join(names(p.Set, x.Stack), " "), "nanosleep") {
			slept += time.Duration(x.Values[1])
		}
	}
	if slept < 290*time.Millisecond || slept > most { // its timer runs before it leaves the CPU
		t.Errorf("slept %v, want 290ms to %v: %+v", slept, most, p.Stats.OffCPU)
	}
}

// names are the functions of a stack.
func names(s *stacks.Set, id stacks.StackID) []string {
	var all []string
	for _, l := range s.Stack(id) {
		for _, line := range s.Lines(l) {
			all = append(all, s.Functions[line.Function].Name)
		}
	}
	return all
}

// TestLiveRecordOffCPU: the same without a file, by the recorder's own events, of one
// process and of the whole machine.
func TestLiveRecordOffCPU(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	for _, all := range []bool{false, true} {
		o := record.Options{Specs: event.OffCPUSpecs(false), Switches: true, Target: record.Target{AllCPUs: all}}
		w := recordWaiting(t, exec.Command("sh", "-c", "read go; exec sleep 0.3"), o, convert.Options{Selection: convert.Selection{OffCPU: true}})
		p, most := w.p, w.most
		var slept time.Duration
		for i := range p.Set.NumSamples() {
			if x := p.Set.Sample(i); strings.Contains(strings.Join(names(p.Set, x.Stack), " "), "nanosleep") {
				slept += time.Duration(x.Values[1])
			}
		}
		if slept < 290*time.Millisecond || slept > most { // its timer runs before it leaves the CPU
			t.Errorf("all %v: slept %v, want 290ms to %v: %+v", all, slept, most, p.Stats.OffCPU)
		}
	}
}
