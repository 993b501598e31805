package record

import (
	"fmt"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/tracefs"
)

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

// samplesEach reports whether each hit is a sample.
func samplesEach(a *abi.Attr) bool { return a.Flags&abi.FlagFreq == 0 && a.SamplePeriod == 1 }

// unsampled says that hits of such a tracepoint, of a task that is recorded and did not run, have no
// sample; "" where all have. Since the stable kernels of 2026 none has (kernel/events/core.c,
// perf_swevent_event: the counter of a task that does not run is not active). counters is how many
// may each have counted one hit more as they were disabled.
func unsampled(t tracefs.Event, a *abi.Attr, es *EventStats, counters int) string {
	taken := es.Samples + es.Lost
	switch {
	case !t.AboutOthers() || !es.LostKnown || !samplesEach(a):
		return ""
	case strings.HasPrefix(t.Name, "sched_stat_"): // hits weigh nanoseconds
		if es.Hits == 0 || taken > 0 {
			return ""
		}
	case es.Hits <= taken+uint64(counters):
		return ""
	}
	text := fmt.Sprintf("%s: %d of %d hits have", es.Name, es.Hits-taken, es.Hits)
	if strings.HasPrefix(t.Name, "sched_stat_") {
		text = es.Name + ": hits have"
	}
	return text + " no sample: this kernel samples what tasks do themselves, and nothing that is done to them; a recording of all CPUs has them"
}

// unwritten says that more than a hundredth of the hits of a software event have no sample, though none
// was lost: "" where all have. unknown are samples of whatever event that cannot be told. Linux 6.18
// does so in certain tasks, see EventStats.
func unwritten(a *abi.Attr, es *EventStats, unknown uint64) string {
	if a.Type != abi.TypeSoftware || !es.LostKnown || !samplesEach(a) {
		return ""
	}
	taken := es.Samples + es.Lost + unknown
	if es.Hits <= taken || es.Hits-taken <= max(es.Hits/100, 10) {
		return ""
	}
	return fmt.Sprintf("%s: %d of %d hits have no sample, and are not lost: the kernel counts what some tasks do, and does not sample it (seen of Linux 6.18)",
		es.Name, es.Hits-taken, es.Hits)
}
