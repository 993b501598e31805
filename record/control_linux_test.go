package record

import (
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/event"
)

// TestPull: of triggers that were sampled between two rounds, or come later from the ring of
// another CPU, the last one counts.
func TestPull(t *testing.T) {
	const enables, disables = 2, 3 // ids
	plain := &recordedEvent{disabled: true}
	on, off := &recordedEvent{}, &recordedEvent{}
	on.Source.Trigger, off.Source.Trigger = event.TriggerEnable, event.TriggerDisable
	r := &run{s: &Session{events: []*recordedEvent{plain, on, off}}, started: true,
		tally: newTally(newIDTable([][]uint64{{1}, {enables}, {disables}}), 3, nil)}
	r.tally.timed = []bool{false, true, true}
	type trigger struct{ id, time uint64 }
	for i, round := range []struct {
		triggers []trigger
		sampled  bool
	}{
		{nil, false},
		{[]trigger{{1, 5}}, false}, // is none
		{[]trigger{{enables, 10}, {disables, 11}}, false},
		{[]trigger{{enables, 20}, {disables, 21}, {enables, 22}}, true},
		{nil, true},
		{[]trigger{{enables, 31}, {disables, 30}}, true}, // of two rings
		{[]trigger{{disables, 40}}, false},
		{[]trigger{{enables, 39}}, false}, // of a ring that was looked into before it happened
		{[]trigger{{enables, 50}}, true},
		{[]trigger{{disables, 49}, {disables, 60}}, false},
	} {
		var ring []byte
		for _, x := range round.triggers {
			ring = append(ring, record(abi.RecordSample, x.id, 0, 0, x.time, 0)...)
		}
		r.tally.add(ring, nil)
		if err := r.pull(); err != nil {
			t.Fatal(err)
		}
		if plain.disabled == round.sampled || on.disabled || off.disabled {
			t.Errorf("round %d: disabled %v (and the triggers %v, %v), want sampled %v", i, plain.disabled, on.disabled, off.disabled, round.sampled)
		}
	}
}
