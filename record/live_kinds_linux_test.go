package record

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

// TestLiveKinds records some of each kind of event.
func TestLiveKinds(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Program("dd"))
	// A slow machine's kernel lowers what it takes.
	freq := min(999, perfevent.MaxSampleRate())
	s := open(t, Options{
		Specs: specs(t, fmt.Sprintf("cpu-clock:k,task-clock/freq=%d/,"+
			"page-faults,minor-faults:u,cs,sched:sched_w*,syscalls:sys_enter_read,dummy", freq)),
		Target: Target{AllCPUs: true},
	})
	to := newSink(t)
	st := runWhile(t, s, to, func() {
		wait := time.After(300 * time.Millisecond) // 300 samples of task-clock on each CPU
		dd(t, 50000)
		<-wait
	})
	events := s.Events()
	last := events[len(events)-1]
	if last.Name != perfevent.SidebandName || last.Attr.Flags&abi.FlagTask == 0 || len(last.IDs) != 2*len(s.CPUs()) {
		t.Errorf("the last event is %+v", last)
	}
	known := 0
	for i, e := range events[:len(events)-1] {
		n := 0
		for _, id := range e.IDs {
			n += to.ids[id]
		}
		known += n
		if n == 0 && e.Name != "dummy" && !strings.HasPrefix(e.Name, "sched:") {
			t.Errorf("%s: no samples", e.Name)
		}
		if uint64(n) != st.Events[i].Samples || st.Events[i].Name != e.Name {
			t.Errorf("%s: %d samples, stats %+v", e.Name, n, st.Events[i])
		}
	}
	// Where somebody copies stacks of the same faults meanwhile, page-faults and minor-faults cannot
	// always be told apart (sharedSamples): 12 samples of 192,326 were seen.
	if seen := to.seen[abi.RecordSample]; seen-known > seen/1000 {
		t.Errorf("%d samples of %d have an id of ours", known, seen)
	}
	for _, typ := range []abi.RecordType{abi.RecordMmap2, abi.RecordComm, abi.RecordFork, abi.RecordExit} {
		if to.seen[typ] == 0 {
			t.Errorf("no %v in the side-band", typ)
		}
	}
}

// TestLiveSharedSamples records page faults three times at a time, and three times in one of the
// sessions: each event has as many samples as the kernel counted. Where nothing tells them apart,
// those of the session that was opened first have the ids of the other's events on Linux 6.3 and
// later; and they are as long as those of the last one, which copies stacks.
func TestLiveSharedSamples(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Program("dd"))
	session := func(events string) *Session {
		return open(t, Options{Specs: specs(t, events), Target: Target{AllCPUs: true}, Period: 1})
	}
	first, second := session("page-faults,cs,page-faults:u,page-faults:k"), session("page-faults,cs")
	copies := open(t, Options{
		Specs: specs(t, "page-faults:u"), Target: Target{PIDs: []int{os.Getpid()}}, Period: 1,
		UserCallers: perfevent.CopiedStacks, StackSize: 1024,
	})
	firsts, seconds := newSink(t), newSink(t)
	var st, beside Stats
	st = runWhile(t, first, firsts, func() {
		beside = runWhile(t, second, seconds, func() {
			dd(t, 1000)
			own := runWhile(t, copies, newSink(t), func() { touchPages(t, 200) })
			if own.Events[0].Samples < 200 {
				t.Errorf("with copies of stacks: %d samples of 200 faults", own.Events[0].Samples)
			}
		})
	})
	for _, e := range slices.Concat(st.Events, beside.Events) {
		if e.Hits < e.Samples+e.Lost {
			t.Errorf("%s: %d hits, %d samples and %d lost", e.Name, e.Hits, e.Samples, e.Lost)
		}
		if e.Samples == 0 && e.Name != perfevent.SidebandName {
			t.Errorf("%s: no samples", e.Name)
		}
	}
	// Of faults, on a machine with very much to do, Linux 6.18 counts some that it samples for no event of
	// any session, see EventStats: then as many are missing of each event that counts them. Each counter may
	// lack one more, which was under way as it was disabled.
	missing := func(e EventStats) int { return int(e.Hits - e.Samples - e.Lost) }
	all, user, kernel, later := missing(st.Events[0]), missing(st.Events[2]), missing(st.Events[3]), missing(beside.Events[0])
	if slack := 4 * len(first.CPUs()); all-user-kernel > slack || user+kernel-all > slack || later-all > slack {
		t.Errorf("of page-faults %d have no sample, in user code %d, in the kernel %d; and of the second session %d", all, user, kernel, later)
	}
	for _, s := range []struct {
		*Session
		*sink
		lost uint64
	}{{first, firsts, st.Lost}, {second, seconds, beside.Lost}} {
		known := 0
		for _, e := range s.Events() {
			for _, id := range e.IDs {
				known += s.ids[id]
			}
		}
		// Of a moment of which a sample was lost, the others cannot be told apart.
		if seen := s.seen[abi.RecordSample]; seen-known > seen/1000+int(s.lost) {
			t.Errorf("%d samples of %d have an id of the session's, and %d were lost", known, seen, s.lost)
		}
	}
}

// touchPages has the kernel fault in that many pages of user memory, one by one.
func touchPages(t *testing.T, n int) {
	t.Helper()
	page := os.Getpagesize()
	b, err := unix.Mmap(-1, 0, n*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Madvise(b, unix.MADV_NOHUGEPAGE); err != nil && err != unix.EINVAL { // EINVAL: a kernel without huge pages
		t.Fatal(err)
	}
	for at := 0; at < len(b); at += page {
		b[at] = 1
	}
	if err := unix.Munmap(b); err != nil {
		t.Fatal(err)
	}
}
