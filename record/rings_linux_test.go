package record

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/livetest"
)

func TestRingSize(t *testing.T) {
	const copies = 999 * (16<<10 + sampleSize) // bytes a second
	for _, x := range []struct {
		cpus int
		rate uint64
		want int
	}{
		{1, 0, 8 << 20}, {8, 0, 8 << 20}, {12, 0, 4 << 20}, {64, 0, 2 << 20}, {512, 0, 2 << 20},
		{2, copies, 8 << 20}, {64, copies, 8 << 20}, {512, copies, 2 << 20}, // 1 MiB each would be within allRings
		{2, 4 * copies, 32 << 20}, {2, 100 * copies, 64 << 20}, {16, 100 * copies, 32 << 20},
	} {
		if got := ringSize(x.cpus, x.rate); got != x.want {
			t.Errorf("%d CPUs, %d bytes a second: %d KiB, want %d", x.cpus, x.rate, got>>10, x.want>>10)
		}
	}
}

// TestFitFrequency: a default is lowered to what the rings hold, and nothing that was
// asked for is.
func TestFitFrequency(t *testing.T) {
	session := func(asked uint64, own uint64) *Session {
		e := &recordedEvent{Event: event.Event{Event: perfevent.Event{
			Frequency: own,
			Attr:      abi.Attr{Flags: abi.FlagFreq, SamplePeriod: 999, SampleStackUser: 16 << 10},
		}}}
		return &Session{
			opts:   Options{UserCallers: perfevent.CopiedStacks, Frequency: asked},
			events: []*recordedEvent{e}, rings: []*cpuRing{{size: 512 << 10}},
		}
	}
	s := session(0, 0)
	if s.fitFrequency(); s.events[0].Attr.SamplePeriod != 124 { // 512 KiB in a quarter of a second, of 16.5 KiB
		t.Errorf("%d Hz", s.events[0].Attr.SamplePeriod)
	}
	if notes := s.Notes(); len(notes) != 1 {
		t.Errorf("notes: %q", notes)
	}
	for _, s := range []*Session{session(999, 0), session(0, 999)} {
		if s.fitFrequency(); s.events[0].Attr.SamplePeriod != 999 || len(s.Notes()) > 0 {
			t.Errorf("%d Hz, %q", s.events[0].Attr.SamplePeriod, s.Notes())
		}
	}
}

// TestLiveRingGrows has rings fill until they have been enlarged twice: nothing goes
// uncounted on the way.
func TestLiveRingGrows(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Program("dd"))
	for name, target := range map[string]Target{"machine": {AllCPUs: true}, "tasks": {PIDs: []int{os.Getpid()}}} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{
				Specs: specs(t, "raw_syscalls:sys_enter,raw_syscalls:sys_exit"), Target: target, RingSize: 16 << 10,
			})
			s.opts.RingSize = 0 // as if nobody had asked for it
			to := newSink(t)
			grown := make(chan struct{})
			to.each = func(abi.Header, []byte) {
				// While which more comes than was there. Sleeping as Go's it would be woken by a thread
				// that has to wait for a CPU.
				_ = unix.Nanosleep(&unix.Timespec{Nsec: 50_000}, nil)
				for _, r := range s.rings {
					if r.size >= 256<<10 && r.old == nil {
						to.each = nil
						close(grown)
						return
					}
				}
			}
			st := runWhile(t, s, to, func() {
				for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
					dd(t, 20000)
					select {
					case <-grown:
						dd(t, 20000)
						return
					default:
					}
				}
				t.Error("no ring has grown")
			})
			checkCounts(t, st, to)
			if len(st.Notes) != 1 || !strings.Contains(st.Notes[0], "enlarged while they filled, to ") {
				t.Errorf("notes: %q", st.Notes)
			}
		})
	}
}

// TestSpareForRings: rings may grow on machines of any size, unless somebody chose theirs.
func TestSpareForRings(t *testing.T) {
	for _, x := range []struct{ cpus, given, want int }{
		{2, 0, allRings - 2*usualRing},
		{128, 0, allRings - 128*leastRing},
		{512, 0, leastSpare},
		{512, 1 << 20, 0},
	} {
		s := &Session{opts: Options{RingSize: x.given}}
		for range x.cpus {
			s.rings = append(s.rings, &cpuRing{size: max(x.given, ringSize(x.cpus, 0))})
		}
		if got := s.spareForRings(); got != x.want {
			t.Errorf("%d CPUs: rings may grow by %d bytes, want %d", x.cpus, got, x.want)
		}
	}
}
