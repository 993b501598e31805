//go:build linux

package count

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/livetest"
	"kprof/perfevent/procfs"
)

// hits is how often a system call is made that is counted: the truth to compare with.
const hits = 100

func callGetppid() {
	for range hits {
		unix.Getppid()
	}
}

const getppid = "syscalls:sys_enter_getppid"

func groups(t *testing.T, args ...string) []Group {
	t.Helper()
	var all []Group
	for _, arg := range args {
		g, err := ParseGroups(arg)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, g...)
	}
	return all
}

func open(t *testing.T, o Options) *Session {
	t.Helper()
	o.MountTracefs = true
	s, err := Open(context.Background(), o)
	return livetest.CloseAtEnd(t, s, err)
}

// totals counts while f runs, and returns what each event counted.
func totals(t *testing.T, s *Session, f func()) []Total {
	t.Helper()
	if err := s.Enable(); err != nil {
		t.Fatal(err)
	}
	f()
	if err := s.Disable(); err != nil {
		t.Fatal(err)
	}
	readings, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	sums := Sum(readings, func(r Reading) int { return r.Event })
	all := make([]Total, len(s.Events()))
	for i := range all {
		all[i] = sums[i]
	}
	return all
}

func wantHits(t *testing.T, what string, got Total, want uint64) {
	t.Helper()
	if got.Value != want || !got.Counted() && os.Getenv("KPROF_LIVE") != "guest" { // whose clock may stand still for that long
		t.Errorf("%s: %+v, want %d", what, got, want)
	}
}

// TestLiveLibrary has both who open counters count the same calls, alone and in a
// group.
func TestLiveLibrary(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, specs := range []string{getppid, "{" + getppid + ",syscalls:sys_enter_getpgid}"} {
		s := open(t, Options{Groups: groups(t, specs), Target: Target{TIDs: []int{unix.Gettid()}}})
		events := s.counted(s.groups[0])
		w := perfevent.Where{CPU: perfevent.AnyCPU}
		library, err := openCounter(events, w)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := library.(*libraryCounter); !ok {
			t.Errorf("%s is opened by %T", specs, library)
		}
		own, err := openOwn(events, w)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []counter{library, own} {
			if err := c.enable(); err != nil {
				t.Fatal(err)
			}
		}
		callGetppid()
		for _, c := range []counter{library, own} {
			if err := c.disable(); err != nil {
				t.Fatal(err)
			}
			counts, err := c.read()
			if err != nil || len(counts) != len(events) {
				t.Fatalf("%s, %T: %+v, %v", specs, c, counts, err)
			}
			if counts[0].Value != hits || len(counts) > 1 && counts[1].Value != 0 {
				t.Errorf("%s, %T: %+v, want %d and none", specs, c, counts, hits)
			}
			if err := c.close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestLiveWhoOpens says what the library cannot express.
func TestLiveWhoOpens(t *testing.T) {
	plain := event.Event{Event: perfevent.Event{Name: "x", Attr: abi.Attr{Type: abi.TypeSoftware}}}
	plain.Count(perfevent.Counting{})
	for name, change := range map[string]func(e *event.Event){
		"probe":   func(e *event.Event) { e.Target = "vfs_read" },
		"config3": func(e *event.Event) { e.Attr.Config3 = 1 },
		"precise": func(e *event.Event) { e.Attr.Flags = e.Attr.Flags.WithPrecise(2) },
		"sample":  func(e *event.Event) { e.Attr.SampleType = abi.SampleIP },
		"lost":    func(e *event.Event) { e.Attr.ReadFormat |= abi.ReadLost },
	} {
		e := plain
		if _, ok := libraryAttr(&e); !ok {
			t.Fatal("the library cannot express what it should")
		}
		change(&e)
		if _, ok := libraryAttr(&e); ok {
			t.Errorf("%s: left to the library", name)
		}
	}
}

// TestLiveProcess counts all threads of a process, those that it starts meanwhile too.
func TestLiveProcess(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	s := open(t, Options{Groups: groups(t, getppid, "page-faults", "{"+getppid+",task-clock}"), Target: Target{PIDs: []int{os.Getpid()}}})
	const threads = 4
	got := totals(t, s, func() {
		var wg sync.WaitGroup
		for range threads {
			wg.Go(func() {
				runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
				callGetppid()
			})
		}
		wg.Wait()
	})
	wantHits(t, "alone", got[0], threads*hits)
	wantHits(t, "in a group", got[2], threads*hits)
}

// TestLiveGroupEnding reads groups while tasks that inherited them start and end.
func TestLiveGroupEnding(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	s := open(t, Options{Groups: groups(t, "{"+getppid+",task-clock}", "{page-faults,task-clock}"), Target: Target{PIDs: []int{os.Getpid()}}})
	if err := s.Enable(); err != nil {
		t.Fatal(err)
	}
	const threads = 300
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var wg sync.WaitGroup
		for range threads {
			wg.Go(runtime.LockOSThread) // the thread ends with the goroutine
		}
		wg.Wait()
	}()
	for reads := 0; ; reads++ {
		if _, err := s.Read(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
			if reads > 0 {
				return
			}
		default:
		}
	}
}

// TestLivePlaces adds up to the same whatever is told apart.
func TestLivePlaces(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cgroup := ownCgroup(t)
	self := []int{unix.Gettid()}
	// Few programs ask for the session of a process; should one, there are more.
	const getsid = "syscalls:sys_enter_getsid"
	for name, o := range map[string]Options{
		"task":       {Target: Target{TIDs: self}},
		"task, CPUs": {Target: Target{TIDs: self}, PerCPU: true},
		"machine":    {Target: Target{AllCPUs: true}},
		"cgroup":     {Target: Target{Cgroups: []*os.File{cgroup}}},
	} {
		if name == "cgroup" && cgroup == nil {
			continue
		}
		o.Groups = groups(t, getsid, "{"+getsid+",dummy}")
		s := open(t, o)
		got := totals(t, s, func() {
			for range hits {
				_, _ = unix.Getsid(0)
			}
		})
		for i := range 2 {
			if len(o.Target.TIDs) > 0 {
				wantHits(t, name, got[i], hits)
			} else if got[i].Value < hits {
				t.Errorf("%s: %d, want %d", name, got[i].Value, hits)
			}
		}
	}
}

// ownCgroup is the v2 cgroup of this process, nil where there is none.
func ownCgroup(t *testing.T) *os.File {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		for _, base := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
			if len(line) > 3 && line[:3] == "0::" {
				if f, err := os.Open(filepath.Join(base, line[3:])); err == nil {
					t.Cleanup(func() { f.Close() })
					if _, err := os.Stat(filepath.Join(f.Name(), "cgroup.procs")); err == nil {
						return f
					}
				}
			}
		}
	}
	return nil
}

// TestLiveSince reads twice: what came in between is what was done in between.
func TestLiveSince(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := open(t, Options{Groups: groups(t, getppid), Target: Target{TIDs: []int{unix.Gettid()}}})
	if err := s.Enable(); err != nil {
		t.Fatal(err)
	}
	var before []Reading
	for range 3 {
		callGetppid()
		now, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		if diff := Since(now, before); len(diff) != 1 || diff[0].Value != hits {
			t.Errorf("%+v, want %d", diff, hits)
		}
		before = now
	}
}

// TestLiveRecordCosts: what a hit costs is measured once for all events of a kind, since each
// time reads the functions of the kernel, and not for what is not hit one by one.
func TestLiveRecordCosts(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	s := open(t, Options{Groups: groups(t, "syscalls:sys_enter_getp*,page-faults,cpu-clock"), Target: perfevent.Target{PIDs: []int{os.Getpid()}}})
	costs, err := RecordCosts(s.Events())
	if err != nil {
		t.Fatal(err)
	}
	tracepoints := 0
	for i, e := range s.Events() {
		hit := e.Source.Kind == event.KindTracepoint
		if hit {
			tracepoints++
		}
		if (costs[i] > 0) != hit || costs[i] > 0 && costs[i] != costs[0] {
			t.Errorf("%s: %v, and %s %v", e.Name, costs[i], s.Events()[0].Name, costs[0])
		}
	}
	if tracepoints < 3 {
		t.Errorf("only %d tracepoints", tracepoints)
	}
}

// TestLiveRefused: what a machine cannot count is said, and the others are counted.
func TestLiveRefused(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	// A breakpoint is not aligned: no machine takes it.
	const never = "mem:0x1001/8:rw"
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, tt := range []struct {
		specs   string
		refused []bool
	}{
		{never + "," + getppid, []bool{true, false}},
		{"{" + getppid + "," + never + "," + getppid + "}", []bool{false, true, false}},
		{"{" + never + "," + getppid + "}," + getppid, []bool{true, true, false}}, // with its leader goes the group
	} {
		for _, target := range []Target{{TIDs: []int{unix.Gettid()}}, {AllCPUs: true}} {
			s := open(t, Options{Groups: groups(t, tt.specs), Target: target})
			got := totals(t, s, callGetppid)
			for i, e := range s.Events() {
				if (e.Refused != nil) != tt.refused[i] {
					t.Errorf("%s: event %d: %v", tt.specs, i, e.Refused)
				} else if e.Refused == nil && got[i].Value < hits {
					t.Errorf("%s: event %d: %+v", tt.specs, i, got[i])
				} else if e.Refused != nil && !errors.Is(e.Refused, unix.EINVAL) {
					t.Errorf("%s: event %d: %v", tt.specs, i, e.Refused)
				}
			}
		}
	}
}

// TestLiveExited: the end of a process that is counted is noticed.
func TestLiveExited(t *testing.T) {
	livetest.Require(t, livetest.Root)
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for _, target := range []Target{{PIDs: []int{c.Process.Pid}}, {TIDs: []int{c.Process.Pid}}} {
		s := open(t, Options{Groups: groups(t, "task-clock"), Target: target})
		select {
		case <-s.Exited():
			t.Fatal("it runs")
		case <-time.After(2 * lookInterval * time.Millisecond):
		}
		defer func() { <-s.Exited() }() // or the test hangs
	}
	if err := errors.Join(in.Close(), c.Wait()); err != nil {
		t.Error(err)
	}
	if _, err := Open(context.Background(), Options{Groups: groups(t, "cs"), Target: Target{PIDs: []int{c.Process.Pid}}}); !errors.Is(err, unix.ESRCH) {
		t.Errorf("of a process that has gone: %v", err)
	}
}

// TestLiveExitedOfThread: a process can be named by any of its threads, and it is the end of
// the process that is noticed.
func TestLiveExitedOfThread(t *testing.T) {
	if os.Getenv("KPROF_TEST_WAIT") != "" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	livetest.Require(t, livetest.Root)
	c := exec.Command(os.Args[0], "-test.run=^TestLiveExitedOfThread$") // a Go program has several threads
	c.Env = append(os.Environ(), "KPROF_TEST_WAIT=1")
	in, err := c.StdinPipe()
	if err = errors.Join(err, c.Start()); err != nil {
		t.Fatal(err)
	}
	var tids []int
	for len(tids) < 2 {
		if tids, err = procfs.ThreadsOf(os.DirFS("/proc"), c.Process.Pid); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	s := open(t, Options{Groups: groups(t, "task-clock"), Target: Target{PIDs: tids[len(tids)-1:]}})
	select {
	case <-s.Exited():
		t.Error("it runs")
	case <-time.After(2 * lookInterval * time.Millisecond):
	}
	if err := errors.Join(in.Close(), c.Wait()); err != nil {
		t.Error(err)
	}
	<-s.Exited() // or the test hangs
}

// TestKprobeCounted counts the calls of a kernel function, through the PMU and through
// tracefs.
func TestKprobeCounted(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.RequireKernel(t, livetest.PMU("kprobe"))
	name := map[string]string{"amd64": "kprobe:__x64_sys_getppid", "arm64": "kprobe:__arm64_sys_getppid"}[runtime.GOARCH]
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, via := range []event.ProbeVia{event.ProbePMU, event.ProbeTracefs} {
		for _, target := range []Target{{TIDs: []int{unix.Gettid()}}, {AllCPUs: true}} {
			s := open(t, Options{Groups: groups(t, name, "{"+getppid+",cs}"), Target: target, ProbeVia: via})
			got := totals(t, s, callGetppid)
			if got[0].Value != got[1].Value || got[0].Value < hits || !target.AllCPUs && got[0].Value != hits {
				t.Errorf("via %v, all CPUs %v: the probe %d, the tracepoint %d, want %d", via, target.AllCPUs, got[0].Value, got[1].Value, hits)
			}
		}
	}
}

// needPMU skips t where a PMU refused an event; in the guest of testdata/rig.sh whose
// PMU is there for these tests it fails.
func needPMU(t *testing.T, what string, refused error) {
	t.Helper()
	switch {
	case refused == nil:
	case os.Getenv("KPROF_PMU") == "emulated":
		t.Fatalf("the guest's PMU: %v", refused)
	default:
		t.Skipf("needs a %s (%v)", what, refused)
	}
}

// TestPMUTurns counts more cycles than the PMU has counters for.
func TestPMUTurns(t *testing.T) {
	livetest.Require(t, livetest.Root)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	target := Target{TIDs: []int{unix.Gettid()}}
	one := open(t, Options{Groups: groups(t, "cycles"), Target: target})
	needPMU(t, "hardware-PMU", one.Events()[0].Refused)
	spin := func() {
		for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
		}
	}
	const many = 40
	var specs []string
	for range many {
		specs = append(specs, "cycles")
	}
	specs = append(specs, "{cycles,cycles}")
	s := open(t, Options{Groups: groups(t, specs...), Target: target})
	got := totals(t, s, spin)
	turns := 0
	var least, most uint64
	for i, total := range got {
		if s.Events()[i].Refused != nil || !total.Counted() {
			continue
		}
		if total.Running < total.Enabled {
			turns++
		}
		if least == 0 || total.Value < least {
			least = total.Value
		}
		most = max(most, total.Value)
	}
	t.Logf("%d of %d took turns; between %d and %d cycles", turns, len(got), least, most)
	if turns == 0 {
		t.Errorf("none of %d events took turns", len(got))
	}
	// The thread spins all the time: each estimate is of the same number. With a
	// turn of a tick in ten or more, a hundred ticks leave it within a half.
	if least*2 < most || least == 0 {
		t.Errorf("scaled counts of the same cycles lie between %d and %d", least, most)
	}
}

// TestPMUGroup: in a group the times are the same, and the ratio holds.
func TestPMUGroup(t *testing.T) {
	livetest.Require(t, livetest.Root)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := open(t, Options{Groups: groups(t, "{cycles,instructions}"), Target: Target{TIDs: []int{unix.Gettid()}}})
	needPMU(t, "hardware-PMU", s.Events()[0].Refused)
	sum := 0
	got := totals(t, s, func() {
		for i := range 50_000_000 {
			sum += i
		}
	})
	if got[0].Value == 0 {
		t.Errorf("no cycles: %+v", got[0])
	}
	needPMU(t, "hardware-PMU that counts instructions", s.Events()[1].Refused)
	if got[0].Running != got[1].Running || got[1].Value < 50_000_000 {
		t.Errorf("cycles %+v, instructions %+v of 50 million rounds", got[0], got[1])
	}
	t.Logf("%.2f instructions per cycle", float64(got[1].Value)/float64(got[0].Value))
}
