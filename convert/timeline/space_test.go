package timeline

import (
	"math"
	"math/rand/v2"
	"testing"

	"kprof/convert/stacks"
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

// TestNarrowVDSO: programs of 32 bits have a vdso of their own, which is called the same.
func TestNarrowVDSO(t *testing.T) {
	tl := New(Options{})
	starts := []uint64{0x7ffd1000_0000, 0x7ffe1000_0000, 0xf7fc1000, 0xf7ed1000}
	for i, addr := range starts {
		tl.mmap(abi.Mmap{PID: int32(10 + i), Addr: addr, Len: 0x2000, File: "[vdso]", BuildID: "12"}, abi.MiscUser, 1)
	}
	tl.Freeze()
	var objects []int32
	for i, addr := range starts {
		s, at := tl.tasks[int32(10+i)].spaceAt(1 << 40)
		objects = append(objects, tl.find(s, addr, at).Object)
	}
	if objects[0] != objects[1] || objects[2] != objects[3] || objects[0] == objects[2] {
		t.Errorf("objects %v, want one for each kind of program", objects)
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

// TestJITCodeProtected: code that a process made executable after it had written it is that code,
// until there is other code in its place.
func TestJITCodeProtected(t *testing.T) {
	tl := New(Options{})
	protect := func(at uint64) {
		tl.mmap(abi.Mmap{PID: 7, Addr: 0, Len: 0x10000, File: "//anon"}, abi.MiscUser, at)
	}
	tl.mmap(abi.Mmap{PID: 7, Addr: 0x8000, Len: 0x1000, File: "/lib"}, abi.MiscUser, 5)
	protect(11)
	protect(31)
	tl.mmap(abi.Mmap{PID: 8, Addr: 0, Len: 0x10000, File: "//anon"}, abi.MiscUser, 50)
	tl.AddJITCode(JITDump{PID: 7, Path: "/tmp/jit-7.dump"}, []JITCode{
		{Time: 10, Start: 0x1000, Limit: 0x1040, Offset: 0x100}, {Time: 30, Start: 0x1000, Limit: 0x1040, Offset: 0x200},
	})
	tl.Freeze()
	for _, x := range []struct {
		pid    int32
		at     uint64
		addr   uint64
		offset uint64 // in the dump, 0 for elsewhere
	}{{7, 20, 0x1010, 0x110}, {7, 40, 0x1010, 0x210}, {7, 20, 0x2000, 0}, {7, 60, 0x8010, 0}, {8, 60, 0x1010, 0}} {
		s, at := tl.tasks[x.pid].spaceAt(x.at)
		a := tl.find(s, x.addr, at)
		if a == nil {
			t.Fatalf("%+v: nothing", x)
		}
		of := tl.objects.At(a.Object)
		if dump := of.Kind == stacks.KindUser; dump != (x.offset != 0) || dump && x.addr-a.Start+a.Offset != x.offset {
			t.Errorf("%+v: %+v of %+v", x, a, of)
		}
	}
	if s, at := tl.tasks[8].spaceAt(40); tl.find(s, 0x1010, at) != nil {
		t.Error("another process's map begins before it was made")
	}
}

func TestEarliest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := 1; n < 40; n++ {
		code := make([]JITCode, n)
		for i := range code {
			code[i].Time = r.Uint64N(100)
		}
		e := newEarliest(code)
		for from := range n + 1 {
			for to := from; to <= n; to++ {
				want := uint64(math.MaxUint64)
				for _, c := range code[from:to] {
					want = min(want, c.Time)
				}
				if got := e.of(from, to); got != want {
					t.Fatalf("%d of %d to %d: %d, want %d", n, from, to, got, want)
				}
			}
		}
	}
}
