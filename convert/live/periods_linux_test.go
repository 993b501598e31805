package live

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"kprof/convert"
	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/symbolize"
)

// TestPeriodsSwitch: a period that is asked to end does, however long it was to be, and the next
// one is as long as others.
func TestPeriodsSwitch(t *testing.T) {
	clock := time.Unix(1e9, 0)
	ready := make(chan time.Duration, 1)
	p := newSimulated(t, &clock, 0, ready)
	for _, after := range []time.Duration{time.Second, time.Hour} {
		clock = clock.Add(after)
		p.Switch()
		for ended := p.current; p.current == ended; time.Sleep(time.Millisecond) {
			if err := p.FinishRound(); err != nil {
				t.Fatal(err)
			}
		}
		if took := <-ready; took != after {
			t.Errorf("a period of %v, asked to end after %v", took, after)
		}
		for range 10 {
			if err := p.FinishRound(); err != nil || p.next != nil {
				t.Fatalf("another period ends: %v", err)
			}
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// newSimulated returns Periods of a minute whose clock stands still, and which report how long
// each was.
func newSimulated(t *testing.T, clock *time.Time, first time.Duration, ready chan<- time.Duration) *Periods {
	t.Helper()
	p, err := NewPeriods(context.Background(), PeriodsOptions{
		Every: time.Minute, First: first,
		New: func(*symbolize.FileCache) (*Collector, error) {
			return &Collector{Collector: replay.NewCollector(abi.LittleEndian, nil, replay.Options{}), begun: *clock}, nil
		},
		Describe: func(func([]byte) error) error { return nil },
		Profile: func(context.Context, *Collector) (*convert.Profile, error) {
			return &convert.Profile{Set: stacks.New()}, nil
		},
		Take: func(p *convert.Profile) error { ready <- time.Duration(p.Set.DurationNanos); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	p.now = func() time.Time { return *clock }
	return p
}

// TestPeriods: of a simulated clock, the first period is as long as First says, all others as
// long as Every; the last is what is left.
func TestPeriods(t *testing.T) {
	const minute = time.Minute
	for _, first := range []time.Duration{0, minute / 4, 3 * minute} {
		clock := time.Unix(1e9, 0)
		ready := make(chan time.Duration, 1)
		p := newSimulated(t, &clock, first, ready)
		var took []time.Duration
		for range 5*4 - 1 {
			clock = clock.Add(minute / 4)
			for ended := p.current; ; { // as long as it takes to describe what runs, and to make a profile
				if err := p.FinishRound(); err != nil {
					t.Fatal(err)
				}
				if p.current != ended {
					took = append(took, <-ready)
				}
				if left := p.length - clock.Sub(p.current.begun); left > 0 {
					break
				}
				time.Sleep(time.Millisecond)
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		took = append(took, <-ready)
		want := map[time.Duration][]time.Duration{
			0:          {minute, minute, minute, minute, 3 * minute / 4},
			minute / 4: {minute / 4, minute, minute, minute, minute, minute / 2},
			3 * minute: {3 * minute, minute, 3 * minute / 4},
		}[first]
		if !slices.Equal(took, want) {
			t.Errorf("first %v: %s, want %s", first, fmt.Sprint(took), want)
		}
	}
}
