package convert

import (
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// Events of which samples carry the values of counters, theirs or those of their
// group (perf record -e '{cycles,instructions}:S'), count what the counters have
// gone up since the sample before, for the event of each counter. A counter that
// stands still has no sample (perf's session.c, deliver_sample_group).

// readingKey is a counter: an id, and where each thread has its own counter of
// that id, the thread.
type readingKey struct {
	id  uint64
	tid int32
}

// reading is the value that a counter had last.
type reading struct {
	value     uint64
	tid       int32 // that it was read for
	perThread bool  // of the key without a thread: look under the threads'
}

// readings calls f for the counters that a sample read and that have gone up, with
// their events.
func (w *worker) readings(e *perfdata.Event, s *abi.Sample, f func(*perfdata.Event, uint64)) {
	for i := range s.Reads {
		v := &s.Reads[i]
		ev := e
		if e.Attr.ReadFormat&abi.ReadID != 0 {
			ev = w.events.OfID(v.ID)
		} else if i > 0 {
			break // nobody knows whose the others are
		}
		if ev == nil {
			w.stats.unknownEvent++
			continue
		}
		if n := w.goneUp(v, ev, s.TID); n > 0 {
			f(ev, n)
		}
	}
}

// goneUp returns how much a counter has gone up.
//
// An inherited event counts for each thread alone, under one id, from 0; or not,
// where it counts on a CPU whoever runs. It does when it is read for another
// thread and is below what it was.
func (w *worker) goneUp(v *abi.ReadValue, e *perfdata.Event, tid int32) uint64 {
	if w.read == nil {
		w.read = map[readingKey]reading{}
	}
	key := readingKey{id: v.ID, tid: -1}
	last, known := w.read[key]
	if known && !last.perThread && last.tid != tid && v.Value < last.value && e.Attr.Flags&abi.FlagInherit != 0 {
		w.read[readingKey{v.ID, last.tid}] = last
		last.perThread = true
		w.read[key] = last
	}
	if last.perThread {
		key.tid = tid
		last = w.read[key]
	}
	if v.Value <= last.value {
		return 0 // a sample that was written before another and comes after it
	}
	w.read[key] = reading{value: v.Value, tid: tid}
	return v.Value - last.value
}
