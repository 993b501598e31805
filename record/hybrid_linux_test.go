package record

import (
	"testing"

	"kprof/perfevent/event"
)

// TestPlaces: an event of a PMU that is of some CPUs is opened on no others.
func TestPlaces(t *testing.T) {
	s := &Session{}
	e := &recordedEvent{Event: event.Event{CPUs: []int{2, 3}}}
	for cpu, want := range map[int]int{0: 0, 2: 1} {
		if got := len(s.places(e, cpu)); got != want {
			t.Errorf("cpu %d: %d places, want %d", cpu, got, want)
		}
	}
}
