package rig

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// listed is a time between events, as kprof script lists it.
type listed struct {
	Time, Duration int64
	Labels         map[string]any
}

// spans are the times in a recording that ended, in the order of their beginnings.
func spans(t *testing.T, args ...string) (found []listed) {
	t.Helper()
	code, out, said := kprof(t, append([]string{"script", "-f", "json"}, args...)...)
	if code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, said)
	}
	for line := range strings.Lines(out) {
		var l listed
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if _, open := l.Labels["unended"]; !open {
			found = append(found, l)
		}
	}
	return found
}

// near reports whether a number differs from another by at most a share of that.
func near(a, b int64, share float64) bool { return math.Abs(float64(a-b)) <= share*float64(b) }

// pairing is the kernel's own: a histogram trigger notes when the first event was, by a key,
// and at the second one makes a synthetic event of the time since then.
type pairing struct {
	name           string // of the synthetic event
	from, to       string // the events
	fromKey, toKey string
	fromIf, toIf   string // filters
	by, byType     string // the field of the second event that times are added up by
}

// set sets the pairing for the time of the test, by the clock of perf's events.
func (p pairing) set(t *testing.T) {
	t.Helper()
	write := func(file, text string) error {
		f, err := os.OpenFile(tracing+file, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err = f.WriteString(text + "\n"); err != nil {
			said, _ := os.ReadFile(tracing + "error_log")
			return fmt.Errorf("%s: %q: %w: %s", file, text, err, said)
		}
		return nil
	}
	event := func(name string) string { return "events/" + strings.Replace(name, ":", "/", 1) + "/trigger" }
	for _, l := range []struct{ file, text, undo string }{
		{"synthetic_events", p.name + " u64 took; " + p.byType + " by", "!" + p.name},
		{event("synthetic:" + p.name), "hist:keys=by,took", ""},
		{event(p.from), "hist:keys=" + p.fromKey + ":" + p.name + "_began=common_timestamp:clock=perf if " + p.fromIf, ""},
		{event(p.to), fmt.Sprintf("hist:keys=%s:%[2]s=common_timestamp-$%[2]s_began:onmatch(%[3]s).%[2]s($%[2]s,%[4]s):clock=perf if %[5]s",
			p.toKey, p.name, strings.Replace(p.from, ":", ".", 1), p.by, p.toIf), ""},
	} {
		if l.undo == "" {
			l.undo = "!" + l.text
		}
		if err := write(l.file, l.text); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // what was set last goes first
			if err := write(l.file, l.undo); err != nil {
				t.Error(err)
			}
		})
	}
}

// times are the kernel's, ns, by the key.
func (p pairing) times(t *testing.T) map[int64][]int64 {
	t.Helper()
	b, err := os.ReadFile(tracing + "events/synthetic/" + p.name + "/hist")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int64][]int64{}
	for line := range strings.Lines(string(b)) {
		var key, took int64
		var hits int
		if _, err := fmt.Sscanf(strings.Join(strings.Fields(line), " "), "{ by: %d, took: %d } hitcount: %d", &key, &took, &hits); err == nil {
			found[key] = append(found[key], slices.Repeat([]int64{took}, hits)...)
		}
	}
	return found
}

// TestGuestSpans: how often a task calls the kernel, is off the CPU, and waits for a CPU when
// it was woken, and for how long, is what the kernel's own synthetic events come to.
func TestGuestSpans(t *testing.T) {
	guest(t)
	for try := 1; ; try++ {
		var differ []string
		ticks := false
		t.Run(fmt.Sprint(try), func(t *testing.T) { differ, ticks = spansDiffer(t) })
		switch {
		case len(differ) == 0:
			return
		case try < 10: // how often an emulator waits depends on what else its machine does
		case ticks:
			t.Skipf("needs a clock that is finer than ticks, which the emulator's is no longer: %q", differ)
		default:
			t.Fatalf("%q", differ)
		}
	}
}

// spansDiffer compares once, and returns which numbers differ, or sums by more than one
// percent, and whether the kernel has gone over to a clock of ticks, as it does where it takes
// the processor's for unstable: what happens in one tick is in no order then. The kernel's
// pairing and kprof's read the clock one after the other, and an emulator may wait in between:
// one time in twenty, and one more, may differ by as much as it likes.
func spansDiffer(t *testing.T) (differ []string, ticks bool) {
	var gate [2]int
	if err := unix.Pipe(gate[:]); err != nil {
		t.Fatal(err)
	}
	thread := make(chan int)
	go func() { // which is at the gate, and calls nothing, before and after
		onCPU0(t)
		thread <- unix.Gettid()
		_, _ = unix.Read(gate[0], make([]byte, 1))
		paced(t)
		thread <- 0
		_, _ = unix.Read(gate[0], make([]byte, 1))
		thread <- 0
	}()
	tid := <-thread
	atGate := func() {
		for want := fmt.Sprintf("%d %#x ", unix.SYS_READ, gate[0]); ; time.Sleep(time.Millisecond) {
			if b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", tid)); err != nil || strings.HasPrefix(string(b), want) {
				return
			}
		}
	}
	open := func() {
		if _, err := unix.Write(gate[1], []byte("x")); err != nil {
			t.Fatal(err)
		}
		<-thread
	}
	atGate()
	t.Cleanup(func() { // which the triggers have changed
		if err := os.WriteFile(tracing+"trace_clock", []byte("local"), 0); err != nil {
			t.Error(err)
		}
	})
	is := func(field string) string { return fmt.Sprintf("%s == %d", field, tid) }
	calls := pairing{"kprof_calls", "raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "common_pid", "common_pid", is("common_pid"), is("common_pid"), "id", "long"}
	waits := pairing{"kprof_waits", "sched:sched_switch", "sched:sched_switch", "prev_pid", "next_pid", is("prev_pid"), is("next_pid"), "next_pid", "pid_t"}
	delays := pairing{"kprof_delays", "sched:sched_waking", "sched:sched_switch", "pid", "next_pid", is("pid"), is("next_pid"), "next_pid", "pid_t"}
	file := filepath.Join(t.TempDir(), "spans.data")
	pairings, kernel := []pairing{calls, waits, delays}, []map[int64][]int64{}
	const rule = "span:sched:sched_waking..sched:sched_switch by pid..next_pid"
	recorded(t, file, func() {
		for _, p := range pairings {
			p.set(t)
		}
		open()
		atGate()
		for _, p := range pairings {
			kernel = append(kernel, p.times(t))
		}
	}, "-a", "-e", "span:syscalls", "-e", rule)
	open()
	for i, c := range []struct {
		pairing
		args   []string
		least  int
		longer int64 // what is to be longer, ns
	}{
		{calls, []string{"--span", "syscalls", "--label", "id"}, 70, 200e6},
		{waits, []string{"--off-cpu"}, 30, 200e6},
		{delays, []string{"--span", rule, "--label", "next_pid"}, 30, 80e6},
	} {
		want, got := kernel[i], map[int64][]int64{}
		for _, l := range spans(t, append(c.args, file)...) {
			key, ok := l.Labels[map[string]string{"id": "id", "next_pid": "tid"}[c.by]].(float64)
			if c.name == delays.name {
				key, ok = l.Labels["next_pid"].(float64)
			}
			if whose, _ := l.Labels["tid"].(float64); !ok || c.by == "id" && int(whose) != tid || c.by != "id" && int(key) != tid {
				continue
			}
			got[int64(key)] = append(got[int64(key)], l.Duration)
		}
		if c.name == calls.name {
			delete(got, unix.SYS_RT_SIGRETURN) // which has no number at its end
		}
		n, outliers, took, sum := 0, 0, int64(0), int64(0)
		for key, theirs := range want {
			ours := got[key]
			slices.Sort(theirs)
			slices.Sort(ours)
			n += len(theirs)
			if len(ours) != len(theirs) {
				differ = append(differ, fmt.Sprintf("%s of %d: %d, by the kernel %d", c.name, key, len(ours), len(theirs)))
				continue
			}
			for i := range ours {
				if !near(ours[i], theirs[i], 0.01) && max(ours[i]-theirs[i], theirs[i]-ours[i]) > 1e6 {
					outliers++
					continue
				}
				took, sum = took+theirs[i], sum+ours[i]
			}
		}
		t.Logf("%s: %d, of %d ns, by the kernel %d ns, and %d outliers", c.name, n, sum, took, outliers)
		if n < c.least || took < c.longer {
			t.Errorf("%s: the kernel has %d, of %d ns", c.name, n, took)
		}
		if len(got) != len(want) {
			differ = append(differ, fmt.Sprintf("%s: %d keys, by the kernel %d", c.name, len(got), len(want)))
		}
		if outliers > 1+n/20 || !near(sum, took, 0.01) {
			differ = append(differ, fmt.Sprintf("%s: %d ns, by the kernel %d, but for %d of %d", c.name, sum, took, outliers, n))
		}
	}
	return differ, !slices.ContainsFunc(kernel[0][unix.SYS_GETPPID], func(took int64) bool { return took != 0 })
}

// onCPU0 keeps the goroutine's thread on the first CPU, and has it end with the goroutine.
func onCPU0(t *testing.T) {
	runtime.LockOSThread()
	var first unix.CPUSet
	first.Set(0)
	if err := unix.SchedSetaffinity(0, &first); err != nil {
		t.Error(err)
	}
}

// paced sleeps, calls the kernel, and waits for a CPU that a thread has which goes first.
func paced(t *testing.T) {
	sleep := func(d time.Duration) {
		ts := unix.NsecToTimespec(int64(d))
		_ = unix.Nanosleep(&ts, nil)
	}
	for i := range 20 {
		sleep(time.Duration(20+5*(i%10)) * time.Millisecond)
	}
	for range 40 {
		unix.Getppid()
		_, _ = unix.Read(-1, nil)
	}
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		onCPU0(t)
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 2}
		_ = unix.SchedSetAttr(0, &attr, 0)
		for {
			for begun := time.Now(); time.Since(begun) < 60*time.Millisecond; {
			}
			select {
			case <-stop:
				return
			default:
				sleep(5 * time.Millisecond)
			}
		}
	}()
	for range 10 {
		sleep(2 * time.Millisecond)
	}
	close(stop)
	<-stopped
}

// TestGuestOffline records times off the CPU while a CPU goes and comes back, for
// TestPerfOffCPU.
func TestGuestOffline(t *testing.T) {
	guest(t)
	dir := os.Getenv("KPROF_KEEP")
	if dir == "" {
		dir = t.TempDir()
	}
	dir = filepath.Join(dir, "offcpu")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "offline.data")
	recorded(t, file, func() {
		var stop [3]chan bool
		for i := range stop {
			stop[i] = make(chan bool)
			go func() {
				runtime.LockOSThread()
				for {
					select {
					case <-stop[i]:
						close(stop[i])
						return
					default:
						ts := unix.NsecToTimespec(int64(i+1) * 3e6)
						_ = unix.Nanosleep(&ts, nil)
						for begun := time.Now(); time.Since(begun) < time.Millisecond; {
						}
					}
				}
			}()
		}
		for _, online := range []string{"0", "1", "0", "1"} {
			time.Sleep(100 * time.Millisecond)
			if err := os.WriteFile("/sys/devices/system/cpu/cpu1/online", []byte(online), 0); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(100 * time.Millisecond)
		for i := range stop {
			stop[i] <- true
			<-stop[i]
		}
	}, "-a", "-e", "off-cpu")
	code, out, said := kprof(t, "script", "--off-cpu", "--label", "tid", "-f", "json", file)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	livetest.WriteFile(t, filepath.Join(dir, "offline.json"), out)
}

// TestPerfOffCPU: while CPUs went and came, tasks were off the CPU when perf says so of the
// same recording, and as long.
func TestPerfOffCPU(t *testing.T) {
	dir := filepath.Join(ofGuests(t, "KPROF_RECORDINGS"), "offcpu")
	text, err := os.ReadFile(filepath.Join(dir, "offline.json"))
	if err != nil {
		t.Fatal(err)
	}
	livetest.Require(t, livetest.Perf)
	ours := map[int64][]livetest.Wait{}
	for line := range strings.Lines(string(text)) {
		var l listed
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		tid, _ := l.Labels["tid"].(float64)
		took := float64(l.Duration) / 1000
		ours[int64(tid)] = append(ours[int64(tid)], livetest.Wait{End: float64(l.Time)/1000 + took, Took: took})
	}
	compared, tasks := 0, 0
	for tid, theirs := range livetest.Timehist(t, filepath.Join(dir, "offline.data")) {
		if tid <= 0 {
			continue
		}
		tasks++
		var sum, whole, last float64
		n := 0
		for _, w := range theirs {
			compared++
			whole += w.Took
			last = max(last, w.End)
			if !w.In(ours[tid]) {
				t.Errorf("thread %d back at %.0f µs after %.0f µs", tid, w.End, w.Took)
			}
		}
		for _, w := range ours[tid] {
			if w.Took >= 0.5 && w.End < last+1 { // perf lists it when the thread leaves the CPU again
				n++
				sum += w.Took
			}
		}
		if n != len(theirs) || math.Abs(whole-sum) > whole/1000+float64(n) { // which perf rounds
			t.Errorf("thread %d: %d times of %.0f µs, perf's are %d of %.0f", tid, n, sum, len(theirs), whole)
		}
	}
	if compared < 100 || tasks < 10 {
		t.Errorf("%d times of %d tasks", compared, tasks)
	}
	t.Logf("%d times of %d tasks", compared, tasks)
}
