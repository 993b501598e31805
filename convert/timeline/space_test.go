package timeline

import (
	"math/rand/v2"
	"testing"

	"kprof/perfevent/abi"
)

// TestFind looks addresses up at all times of a space that is mapped again and
// again, against a walk over all areas.
func TestFind(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 31, 32, 33, 511, 512, 513, 9000} {
		s := &space{}
		for i := range n {
			a := newArea(r.Uint64N(500), 1+r.Uint64N(40), uint64(i/3))
			a.Object = int32(i)
			s.areas.add(a)
		}
		tl := New(Options{})
		for range 3000 {
			addr, at := r.Uint64N(560), r.Uint64N(uint64(n/3+2))
			var want *Area
			for i := range s.areas.all {
				if a := &s.areas.all[i]; a.since <= at && addr >= a.Start && addr < a.End {
					want = a
				}
			}
			if got := tl.find(s, addr, at); got != want {
				t.Fatalf("%d areas, address %d at %d: %+v, want %+v", n, addr, at, got, want)
			}
		}
	}
}

func page(n int) uint64 { return uint64(n) * 0x1000 }

// TestAbandonedLookups looks addresses up where a great effort has been made already: in few
// places, and those that are given up are counted.
func TestAbandonedLookups(t *testing.T) {
	tl := New(Options{Ancestors: 1000})
	for i := range 100 {
		pid := int32(100 + i)
		tl.fork(abi.Task{PID: pid, TID: pid, PPID: pid - 1, PTID: pid - 1}, uint64(10*i), false)
		tl.mmap(abi.Mmap{PID: pid, Addr: page(i), Len: 0x1000, File: "/x"}, abi.MiscUser, uint64(10*i+1))
	}
	tl.Freeze()
	s, at := tl.tasks[199].spaceAt(1 << 40)
	if tl.find(s, page(0), at) == nil {
		t.Error("what the first ancestor maps is not found")
	}
	tl.effort.spent = 1 << 40
	for i, found := range map[int]bool{99: true, 92: true, 50: false, 0: false} {
		if a := tl.find(s, page(i), at); (a != nil) != found {
			t.Errorf("the map of ancestor %d: %+v", i, a)
		}
	}
	if tl.AbandonedLookups() != 2 {
		t.Errorf("%d given up", tl.AbandonedLookups())
	}
}
