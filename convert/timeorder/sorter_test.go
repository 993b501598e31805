package timeorder_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"kprof/convert/timeorder"
)

// A record that one CPU wrote later arrives first.
func Example() {
	s := timeorder.New(timeorder.Options{Emit: func(r timeorder.Record) error {
		fmt.Print(r.Time, " ", string(r.Bytes), "; ")
		return nil
	}})
	defer s.Close()
	for _, round := range [][]uint64{{1, 2, 2, 3, 4}, {3, 5, 5, 7}, {8}} {
		for _, t := range round {
			s.Add(t, 0, []byte("at "), fmt.Append(nil, t))
		}
		settled, err := s.FinishRound()
		fmt.Println("up to", settled, err)
	}
	fmt.Println(s.Finish(), s.Stats().Late)
	// Output:
	// up to 0 <nil>
	// 1 at 1; 2 at 2; 2 at 2; 3 at 3; 3 at 3; 4 at 4; up to 4 <nil>
	// 5 at 5; 5 at 5; 7 at 7; up to 7 <nil>
	// 8 at 8; <nil> 0
}

// TestSorted: what is written by several CPUs comes in order, in the order of arrival
// where times are equal, whatever memory there is, and no more is held than that.
func TestSorted(t *testing.T) {
	for _, memory := range []int{0, 100, 1000, 20000} {
		for _, roundless := range []bool{false, true} {
			t.Run(fmt.Sprint(memory, roundless), func(t *testing.T) { testSorted(t, memory, roundless) })
		}
	}
}

func testSorted(t *testing.T, memory int, roundless bool) {
	random := rand.New(rand.NewPCG(1, uint64(memory)))
	const cpus = 4
	dir := t.TempDir()
	var got, want []uint64 // place
	var times []uint64
	last := uint64(0)
	s := timeorder.New(timeorder.Options{Memory: memory, Dir: dir, Emit: func(r timeorder.Record) error {
		if r.Time < last {
			t.Fatalf("%d after %d", r.Time, last)
		}
		last = r.Time
		if n := binary.LittleEndian.Uint64(r.Bytes); n != r.Place || len(r.Bytes) != 8+int(r.Place%50) {
			t.Fatalf("%d bytes of %d at %d", len(r.Bytes), n, r.Place)
		}
		got = append(got, r.Place)
		return nil
	}})
	var rings [cpus][]uint64
	now, place := uint64(1), uint64(0)
	for range 60 {
		for range random.IntN(100) {
			now += uint64(random.IntN(2))
			cpu := random.IntN(cpus)
			rings[cpu] = append(rings[cpu], now)
		}
		for cpu := range rings { // others write while one is drained
			for _, at := range rings[cpu] {
				if err := s.Add(at, place, binary.LittleEndian.AppendUint64(nil, place), make([]byte, place%50)); err != nil {
					t.Fatal(err)
				}
				times = append(times, at)
				place++
			}
			rings[cpu] = rings[cpu][:0]
			now++
			rings[0] = append(rings[0], now)
		}
		if !roundless {
			settled, err := s.FinishRound()
			if err != nil || last > settled {
				t.Fatal(last, settled, err)
			}
		}
	}
	if !s.Waiting() {
		t.Error("nothing waits")
	}
	if err := s.Finish(); err != nil || s.Waiting() {
		t.Fatal(err, s.Waiting())
	}
	for i := range times {
		want = append(want, uint64(i))
	}
	slices.SortStableFunc(want, func(a, b uint64) int { return int(times[a]) - int(times[b]) })
	if !slices.Equal(got, want) {
		t.Errorf("%d records in another order than %d", len(got), len(want))
	}
	st := s.Stats()
	if st.Late != 0 || (st.Spilled > 0) != (memory > 0 && (memory < 20000 || roundless)) {
		t.Errorf("%+v", st)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// TestLate: what comes after later records were passed on is passed on, and counted; what
// has no time of its own does not move the bound.
func TestLate(t *testing.T) {
	var got []uint64
	s := timeorder.New(timeorder.Options{Emit: func(r timeorder.Record) error { got = append(got, r.Time); return nil }})
	for _, round := range [][]uint64{{timeorder.Last, 10}, {20}, {5, 30}} {
		for _, at := range round {
			if err := s.Add(at, 0, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.FinishRound(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	if want := []uint64{10, 5, 20, 30, timeorder.Last}; !slices.Equal(got, want) || s.Stats().Late != 1 {
		t.Errorf("%v, %+v", got, s.Stats())
	}
}

// TestErrors: errors of Emit and of the file end the sorting.
func TestErrors(t *testing.T) {
	failed := errors.New("failed")
	s := timeorder.New(timeorder.Options{Memory: 50, Emit: func(timeorder.Record) error { return failed }})
	for range 10 {
		if err := s.Add(1, 0, make([]byte, 20), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Finish(); !errors.Is(err, failed) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	s = timeorder.New(timeorder.Options{Memory: 1, Dir: "/nowhere/at/all"})
	_ = s.Add(1, 0, nil, nil)
	if err := s.Add(1, 0, nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestNoAllocation: what is added and emitted in rounds takes no memory each.
func TestNoAllocation(t *testing.T) {
	s := timeorder.New(timeorder.Options{Emit: func(timeorder.Record) error { return nil }})
	head, body := make([]byte, 8), make([]byte, 100)
	now := uint64(0)
	round := func() {
		for range 1000 {
			now++
			_ = s.Add(now, 0, head, body)
		}
		_, _ = s.FinishRound()
	}
	for range 10 {
		round()
	}
	if n := testing.AllocsPerRun(20, round); n > 2 {
		t.Errorf("%v allocations a round", n)
	}
}
