package record

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

// hit is a sample of sched:sched_waking or its like.
type hit struct {
	current, woken uint32
}

// hits has a sink note the hits of each event of a session.
func hits(t *testing.T, s *Session, to *sink) func(event string) []hit {
	t.Helper()
	all := map[string][]hit{}
	events := s.Events()
	ids := map[uint64]string{}
	for _, e := range events {
		for _, id := range e.IDs {
			ids[id] = e.Name
		}
	}
	place := map[string]pidPlace{}
	for _, e := range s.events {
		var ok bool
		if place[e.Name], ok = s.pidPlace(&e.Event); !ok {
			t.Fatalf("%s has no field pid", e.Name)
		}
	}
	before := to.each
	to.each = func(h abi.Header, rec []byte) {
		const o = abi.LittleEndian
		if before != nil {
			before(h, rec)
		}
		if h.Type != abi.RecordSample {
			return
		}
		name := ids[o.Uint64(rec[8:])]
		p := place[name]
		pid, ok := p.find(rec)
		if !ok {
			t.Errorf("%s: a sample without the field pid", name)
			return
		}
		all[name] = append(all[name], hit{o.Uint32(rec[28:]), pid})
	}
	return func(event string) []hit { return all[event] }
}

// TestLiveWakeups: a thread is woken a known number of times by another one that is not recorded, while
// others wake each other. Each such hit is there once, with the thread that woke, and no hit of others;
// also once numbers of threads begin anew while it records.
func TestLiveWakeups(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Program("dd"))
	for _, anew := range []bool{false, true} {
		t.Run(fmt.Sprintf("anew=%v", anew), func(t *testing.T) {
			sleeper, waker := startThread(), startThread()
			defer sleeper.stop()
			defer waker.stop()
			tid := func(th *thread) (tid int) {
				_ = th.run(func() error { tid = unix.Gettid(); return nil })
				return tid
			}
			woken, wakes := tid(sleeper), tid(waker)
			bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(bell)
			s := open(t, Options{Specs: specs(t, "sched:sched_waking,sched:sched_wakeup"), Target: Target{TIDs: []int{woken}}})
			to := newSink(t)
			named := false
			to.each = func(h abi.Header, rec []byte) {
				const o = abi.LittleEndian
				switch {
				case h.Type == abi.RecordComm && int(o.Uint32(rec[12:])) == wakes:
					named = true
				case h.Type == abi.RecordSample && int(o.Uint32(rec[28:])) == wakes && !named && s.wakeups != nil:
					t.Error("who wakes has no name")
					named = true
				}
			}
			of := hits(t, s, to)
			if anew && s.wakeups != nil {
				s.wakeups.last = math.MaxInt // the last number is a lower one
				if s.wakeups.rest == "" {    // as where it was near the end already
					s.wakeups.rest = "pid < 0"
				}
			}
			const times = 200
			asleep := 0
			st := runWhile(t, s, to, func() {
				if anew {
					time.Sleep(4 * hotplugInterval)
				}
				load := exec.Command("sh", "-c", "dd if=/dev/zero bs=1 count=20000 2>/dev/null | dd of=/dev/null bs=1 2>/dev/null")
				if err := load.Start(); err != nil {
					t.Error(err)
				}
				for range times {
					begun, woke := make(chan struct{}), make(chan error, 1)
					sleeper.work <- func() {
						var got [8]byte
						close(begun)
						_, err := unix.Read(bell, got[:])
						woke <- err
					}
					<-begun
					if waitAsleep(woken) {
						asleep++
					}
					one := [8]byte{1}
					if err := waker.run(func() error { _, err := unix.Write(bell, one[:]); return err }); err != nil {
						t.Error(err)
					}
					if err := <-woke; err != nil {
						t.Error(err)
					}
				}
				if err := load.Wait(); err != nil {
					t.Error(err)
				}
			})
			byWaker, others := 0, 0
			for _, h := range of("sched:sched_waking") {
				switch {
				case h.woken == uint32(woken) && h.current == uint32(wakes):
					byWaker++
				case h.woken != uint32(woken) && h.current != uint32(woken):
					others++
				}
			}
			// It may have slept before it read, where the runtime stopped all threads.
			if st.Lost == 0 && (byWaker < asleep*9/10 || others > 0) {
				t.Errorf("woken %d times, %d when asleep: %d samples, and %d of others", times, asleep, byWaker, others)
			}
			if n := len(of("sched:sched_wakeup")); st.Lost == 0 && n < asleep*9/10 {
				t.Errorf("sched_wakeup: %d samples", n)
			}
			for _, e := range st.Events[:2] {
				// Hits in certain tasks are counted and not sampled, see EventStats.
				if s.wakeups != nil && e.Hits < e.Samples {
					t.Errorf("%s: %d hits, %d samples and %d lost, %d of others", e.Name, e.Hits, e.Samples, e.Lost, e.Others)
				}
				if anew && s.wakeups != nil && e.Others == 0 {
					t.Errorf("%s: no hits of others were left out", e.Name)
				}
			}
		})
	}
}

// TestLiveSomeWakeups: where not each hit is sampled, what a kernel does not sample of tasks is told.
func TestLiveSomeWakeups(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	self := Target{PIDs: []int{os.Getpid()}}
	for _, test := range []struct {
		name string
		opts Options
		of   bool // tasks
	}{
		{"each", Options{Target: self}, false},
		{"period", Options{Period: 3, Target: self}, true},
		{"frequency", Options{Frequency: 99, Target: self}, true},
		{"CPUs", Options{Period: 3, Target: Target{AllCPUs: true}}, false},
	} {
		test.opts.Specs = specs(t, "sched:sched_waking,sched:sched_switch,sched:sched_wakeup")
		s := open(t, test.opts)
		told := slices.ContainsFunc(s.Notes(), func(n string) bool {
			return strings.HasPrefix(n, "sched:sched_waking, sched:sched_wakeup: of tasks and not of each hit")
		})
		if want := test.of && !s.deliversWakeups(); told != want {
			t.Errorf("%s: %q, of tasks that have not all: %v", test.name, s.Notes(), want)
		}
	}
}

// TestLiveWakeupsOfChildren: a command's children, which begin while it is recorded, have the hits
// that wake them, as does the command when they end, and nobody else. A child is woken when it is known
// to sleep, and by us: what a timer's interrupt hits may be counted and not sampled, see EventStats.
func TestLiveWakeupsOfChildren(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	const times = 20
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	letters := filepath.Join(t.TempDir(), "letters")
	livetest.MakeFIFO(t, letters)
	c, err := Launch([]string{"sh", "-c", "exec <" + letters + ";" + strings.Repeat("head -c 1;", times) + "exit 0"}, LaunchOptions{Stdout: null})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	children := make(chan uint32, 2*times)
	go func() {
		w, err := os.OpenFile(letters, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer w.Close()
		for tid := range children {
			if !sleeps(tid) {
				t.Errorf("child %d does not wait for a letter", tid)
				return
			}
			if _, err := w.Write([]byte{'x'}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	defer close(children)
	s := open(t, Options{
		Specs:  specs(t, "sched:sched_waking,sched:sched_wakeup_new"),
		Target: Target{PIDs: []int{c.PID()}, EnableOnExec: true}, Start: c.Start,
	})
	to := newSink(t)
	recorded := map[uint32]bool{uint32(c.PID()): true}
	to.each = func(h abi.Header, rec []byte) {
		if h.Type == abi.RecordFork {
			tid := abi.LittleEndian.Uint32(rec[16:])
			recorded[tid] = true
			children <- tid
		}
	}
	of := hits(t, s, to)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // where a FORK record was lost
	defer cancel()
	st, err := s.Run(ctx, to)
	if err != nil {
		t.Fatal(err)
	}
	sleepers, parent := map[uint32]int{}, 0
	for _, h := range of("sched:sched_waking") {
		switch {
		case h.woken == uint32(c.PID()):
			parent++
		case recorded[h.woken]:
			sleepers[h.woken]++
		}
		if !recorded[h.woken] && !recorded[h.current] {
			t.Errorf("a hit of others: %+v", h)
		}
	}
	// The parent may not sleep yet when a child ends.
	if st.Lost == 0 && (len(sleepers) != times || parent < times/2) {
		t.Errorf("%d of %d children were woken, their parent %d times", len(sleepers), times, parent)
	}
	// Kernels that sample a hit for the task that is woken do so for the one that wakes too.
	if n := len(of("sched:sched_wakeup_new")); st.Lost == 0 && n != times && (s.wakeups != nil || n != 2*times) {
		t.Errorf("%d began, want %d", n, times)
	}
}

// sleeps waits until a process sleeps, and fails if it ends.
func sleeps(pid uint32) bool {
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		if _, state, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(state, "S") {
			return true
		}
		time.Sleep(time.Millisecond)
	}
}
