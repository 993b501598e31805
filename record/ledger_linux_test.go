package record

import (
	"testing"

	"kprof/perfevent/event"
	"kprof/perfevent/tracefs"
)

// TestLedger adds up what the kernel counted before, at the start and at the end.
func TestLedger(t *testing.T) {
	tp := tracefs.Event{System: "g", Name: "x"}
	type counts = map[tracefs.Event]tracefs.Counts
	at := func(hits, misses uint64) counts {
		return counts{tp: {Hits: hits, Misses: misses, MissesKnown: true}}
	}
	mine, others := event.Event{Tracepoint: tp}, event.Event{Tracepoint: tp}
	mine.Source.Kind = event.KindProbe
	for name, tt := range map[string]struct {
		ledger ledger
		event  event.Event
		hits   uint64 // of the event
		want   EventStats
		fails  bool
	}{
		"of others":       {ledger{opened: at(10, 1), started: at(13, 1), ended: at(110, 3)}, others, 60, EventStats{Missed: 2, MissedKnown: true, Kernel: KernelHits{100, 40, 3}}, false},
		"by exec":         {ledger{opened: at(10, 1), ended: at(110, 1)}, others, 100, EventStats{MissedKnown: true, Kernel: KernelHits{100, 0, 0}}, false},
		"made again":      {ledger{opened: at(10, 1), ended: at(5, 1)}, others, 5, EventStats{}, false},
		"hits of more":    {ledger{opened: at(0, 0), ended: at(5, 0)}, others, 6, EventStats{}, false},
		"others' is gone": {ledger{opened: at(0, 0), ended: counts{}}, others, 6, EventStats{}, false},
		"ours is gone":    {ledger{opened: at(0, 0), ended: counts{}}, mine, 6, EventStats{}, true},
		"a program's":     {ledger{opened: counts{tp: {}}, ended: counts{tp: {Hits: 5}}}, mine, 5, EventStats{}, false},
		"no probe":        {ledger{}, others, 5, EventStats{}, false},
	} {
		es := EventStats{Hits: tt.hits}
		tt.want.Hits = tt.hits
		if err := tt.ledger.fill(&tt.event, &es); (err != nil) != tt.fails || es != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", name, es, err, tt.want)
		}
	}
}
