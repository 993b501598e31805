package timeorder

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSpilledRounds: where each round is larger than memory, the file has no more than what waits,
// and some runs between which there is no room.
func TestSpilledRounds(t *testing.T) {
	const memory, rounds, records = 10_000, 40, 200
	var emitted, now uint64
	s := New(Options{Memory: memory, Dir: t.TempDir(), Emit: func(r Record) error {
		if r.Time < emitted {
			t.Errorf("%d after %d", r.Time, emitted)
		}
		emitted = r.Time
		return nil
	}})
	defer s.Close()
	largest := int64(0)
	for round := range rounds {
		for range records {
			now++
			if err := s.Add(now, 0, make([]byte, 50+now*7%50), nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.FinishRound(); err != nil {
			t.Fatal(err)
		}
		info, err := s.file.f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, info.Size())
		if round > 0 && emitted != uint64(round*records) {
			t.Fatalf("emitted up to %d in round %d", emitted, round)
		}
	}
	if err := s.Finish(); err != nil || emitted != now {
		t.Errorf("emitted %d of %d, %v", emitted, now, err)
	}
	if largest > 10*memory || s.stats.Spilled < rounds*memory {
		t.Errorf("the file had %d bytes, with %d in memory and %d spilled", largest, memory, s.stats.Spilled)
	}
	info, err := s.file.f.Stat()
	if err != nil || info.Size() > 0 {
		t.Errorf("%v of it are left, %v", info, err)
	}
}

// TestManyLast: records that come at the end are not looked at again in each round, and keep their
// order, whether memory is enough for them or not.
func TestManyLast(t *testing.T) {
	for _, memory := range []int{0, 20_000} {
		var emitted uint64
		last := 0
		s := New(Options{Memory: memory, Dir: t.TempDir(), Emit: func(r Record) error {
			if r.Time < emitted || r.Time == Last && r.Place != uint64(last) {
				t.Fatalf("memory %d: %d after %d, the last one is %d of %d", memory, r.Time, emitted, r.Place, last)
			}
			if emitted = r.Time; r.Time == Last {
				last++
			}
			return nil
		}})
		const rounds, each = 100, 20
		for round := range uint64(rounds) {
			for i := range uint64(each) {
				if err := s.Add(Last, round*each+i, []byte("last"), nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Add(round+1, 0, []byte("now"), nil); err != nil {
				t.Fatal(err)
			}
			if _, err := s.FinishRound(); err != nil {
				t.Fatal(err)
			}
			if len(s.items) > 2 || emitted != round || !s.Waiting() {
				t.Fatalf("memory %d, round %d: %d items, emitted up to %d", memory, round, len(s.items), emitted)
			}
		}
		if err := s.Finish(); err != nil || last != rounds*each || s.Waiting() || s.stats.Late > 0 || (s.stats.Spilled > 0) != (memory > 0) {
			t.Errorf("memory %d: %d of %d came last, %+v, %v", memory, last, rounds*each, s.stats, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRooms: runs of which each is read in many pieces, and which end at different times, do not lie
// in each other: all records come back in order and as they were, and no more wait in memory than may.
func TestRooms(t *testing.T) {
	const memory, rounds = 60_000, 40
	random := rand.New(rand.NewPCG(1, 2))
	type stamped struct{ time, place uint64 }
	var want, got []stamped
	s := New(Options{Memory: memory, Dir: t.TempDir(), Emit: func(r Record) error {
		for _, b := range r.Bytes {
			if b != byte(r.Place) {
				t.Fatalf("record %d has a byte %d", r.Place, b)
			}
		}
		got = append(got, stamped{r.Time, r.Place})
		return nil
	}})
	defer s.Close()
	most, together := 0, 0
	for round := range uint64(rounds) {
		for range random.IntN(150) {
			x := stamped{round*100 + random.Uint64N(100), uint64(len(want))}
			if random.IntN(20) == 0 {
				x.time = Last
			}
			want = append(want, x)
			b := slices.Repeat([]byte{byte(x.place)}, random.IntN(2500))
			if err := s.Add(x.time, x.place, b[:len(b)/3], b[len(b)/3:]); err != nil {
				t.Fatal(err)
			}
			waits := len(s.bytes) + len(s.lastBytes) + itemSize*(len(s.items)+len(s.last))
			if most = max(most, waits); waits > memory {
				t.Fatalf("%d bytes wait in memory for %d", waits, memory)
			}
		}
		if _, err := s.FinishRound(); err != nil {
			t.Fatal(err)
		}
		if s.file == nil {
			continue
		}
		end := int64(0)
		for _, r := range s.file.held {
			if r.from < end {
				t.Fatalf("a run lies from %d on, where another ends at %d", r.from, end)
			}
			end = r.to
		}
		for _, r := range s.file.runs {
			if !slices.Contains(s.file.held, r) || len(s.file.held) != len(s.file.runs) {
				t.Fatalf("of %d runs %d are held in the file", len(s.file.runs), len(s.file.held))
			}
		}
		together = max(together, len(s.file.held))
		if info, err := s.file.f.Stat(); err != nil || info.Size() != s.file.size || end > s.file.size {
			t.Fatalf("the file is thought to have %d bytes, up to %d of them in use: %v %v", s.file.size, end, info.Size(), err)
		}
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(want, func(a, b stamped) int { return cmp.Compare(a.time, b.time) })
	if !slices.Equal(got, want) {
		t.Errorf("%d records in another order than %d", len(got), len(want))
	}
	if together < 3 || most < memory-2*2500 {
		t.Errorf("at most %d runs, and %d of %d bytes in memory", together, most, memory)
	}
}

// TestLargeRecord: one that is larger than memory needs no file where nothing else waits.
func TestLargeRecord(t *testing.T) {
	n := 0
	s := New(Options{Memory: 100, Dir: "/nowhere/at/all", Emit: func(r Record) error { n += len(r.Bytes); return nil }})
	if err := s.Add(1, 0, make([]byte, 1000), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(); err != nil || n != 1000 || s.stats.Spilled != 0 {
		t.Errorf("%d bytes, %+v, %v", n, s.stats, err)
	}
}
