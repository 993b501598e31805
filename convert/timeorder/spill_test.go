package timeorder

import "testing"

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
