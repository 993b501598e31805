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
