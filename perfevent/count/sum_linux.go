package count

import (
	"math"
	"time"
)

// Total is the sum of some readings.
type Total struct {
	Value   uint64        // scaled
	Enabled time.Duration // of all counters together
	Running time.Duration
}

// Counted reports whether any counter was on the PMU at all; without it a value of 0 says
// nothing. More than that has a task on a CPU that it was never on, of tracepoints whose hits there
// are about it, see tracefs.Event.AboutOthers.
func (t Total) Counted() bool { return t.Running > 0 || t.Value > 0 }

// Add adds one reading, each scaled by its own times: counters of different CPUs take
// turns with different others.
func (t *Total) Add(r Reading) {
	t.Value += scaled(r)
	t.Enabled += r.Enabled
	t.Running += r.Running
}

// scaled is what r would be had the counter been on the PMU for as long as it was
// enabled.
func scaled(r Reading) uint64 {
	if r.Running == 0 || r.Running >= r.Enabled {
		return r.Value
	}
	return uint64(math.Round(float64(r.Value) * float64(r.Enabled) / float64(r.Running)))
}

// Sum adds up the readings of which key returns the same.
func Sum[K comparable](readings []Reading, key func(Reading) K) map[K]Total {
	sums := map[K]Total{}
	for _, r := range readings {
		k := key(r)
		t := sums[k]
		t.Add(r)
		sums[k] = t
	}
	return sums
}

// Since returns what was counted between two calls of Read.
func Since(now, before []Reading) []Reading {
	diff := make([]Reading, len(now))
	for i, r := range now {
		if i < len(before) {
			r.Value -= before[i].Value
			r.Enabled -= before[i].Enabled
			r.Running -= before[i].Running
		}
		diff[i] = r
	}
	return diff
}
