package record

import "fmt"

// Account says what the kernel counted of a probe, and what became of its hits. Of
// probes in tracefs, whoever made them, that is all of their hits, and the terms add up to
// the first one; of others, those that are past the filter.
func (e *EventStats) Account() string {
	if !e.MissedKnown {
		lost := "unknown"
		if e.LostKnown {
			lost = fmt.Sprint(e.Lost)
		}
		return fmt.Sprintf("%s: %d hits, %d samples, %s lost, misses unknown", e.Name, e.Hits, e.Samples, lost)
	}
	k := &e.Kernel
	text := fmt.Sprintf("%s: %d kernel hits = %d samples + %d filtered", e.Name, k.Hits+e.Missed, e.Samples, k.Filtered)
	// With a period above 1, or where the kernel does not count losses by event.
	without := "counted without a sample"
	if e.LostKnown {
		text += fmt.Sprintf(" + %d lost", e.Lost)
	} else {
		without += ", or lost"
	}
	text += fmt.Sprintf(" + %d missed", e.Missed)
	if sampled := e.Samples + e.Lost; e.Hits > sampled {
		text += fmt.Sprintf(" + %d %s", e.Hits-sampled, without)
	}
	if k.Before > 0 {
		text += fmt.Sprintf("; %d of the filtered ones before sampling began", k.Before)
	}
	return text
}
