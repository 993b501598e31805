package live_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"kprof/convert"
	"kprof/perfevent/event"
	"kprof/perfevent/livetest"
	"kprof/record"
)

// TestLiveWallClock: running, runnable and blocked of a program that computes and sleeps add
// up to its life as it measures it itself; running is near its CPU time, as samples are.
func TestLiveWallClock(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.RequirePrograms(t, "gcc")
	livetest.ChangeMachine(t) // other tests run programs of the same name
	program := filepath.Join(t.TempDir(), "life")
	if out, err := exec.Command("gcc", "-O1", "-o", program, "testdata/life.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	clock, err := event.ParseSpecs("cpu-clock")
	if err != nil {
		t.Fatal(err)
	}
	for _, all := range []bool{false, true} {
		o := record.Options{Specs: append(event.OffCPUSpecs(false), clock...), Switches: true, Target: record.Target{AllCPUs: all}}
		// Where a host takes the CPU away, some ticks of the clock never come.
		for try := 1; ; try++ {
			wrong := lifeDiffers(t, program, o)
			if wrong == "" {
				break
			}
			if t.Logf("all %v: %s", all, wrong); try == 5 {
				t.Error("not once of five times as the program has measured it")
				break
			}
		}
	}
}

// lifeDiffers says how times differ from what the program has measured, if they do.
func lifeDiffers(t *testing.T, program string, o record.Options) string {
	w := recordWaiting(t, exec.Command(program), o, convert.Options{Selection: convert.Selection{WallClock: true}})
	var life, used time.Duration
	if _, err := fmt.Sscan(w.said, (*int64)(&life), (*int64)(&used)); err != nil {
		t.Fatal(err)
	}
	total := w.p.Set.Totals(0)
	running, blocked, sum := time.Duration(total[1]), time.Duration(total[3]), time.Duration(total[4])
	if total[1]+total[2]+total[3] != total[4] || w.st.Lost > 0 || blocked < 390*time.Millisecond {
		t.Errorf("%v, %d lost, blocked for %v", total, w.st.Lost, blocked)
	}
	t.Logf("running %v of %v, the program has measured %v of %v to %v", running, sum, used, life, w.most)
	// The program does not see its own end, whoever waits sees that too late.
	if slack := life / 100; sum < life-slack || sum > w.most+slack || running < used-5*slack || running > used+5*slack {
		return fmt.Sprintf("running %v of %v (%v), the program has measured %v of %v, at most %v: %+v", running, sum, total, used, life, w.most, w.p.Stats.OffCPU)
	}
	return ""
}
