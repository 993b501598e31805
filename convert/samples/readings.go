package samples

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

// readings makes the counters that the sample at hand read and that have gone up its
// Counts.
func (x *sampler) readings() {
	s := &x.sample
	for i := range s.Reads {
		v := &s.Reads[i]
		ev := s.Event
		if ev.Attr.ReadFormat&abi.ReadID != 0 {
			ev = x.events.OfID(v.ID)
		} else if i > 0 {
			break // nobody knows whose the others are
		}
		if ev == nil {
			x.unknownEvent++
			continue
		}
		if n := x.goneUp(v, ev, s.TID); n > 0 {
			s.Counts = append(s.Counts, Count{ev, n})
		}
	}
}

// goneUp returns how much a counter has gone up.
//
// An inherited event counts for each thread alone, under one id, from 0; or not,
// where it counts on a CPU whoever runs, as perf's recordings tell. It does when it is read for
// another thread and is below what it was, and where a group is inherited, which Linux lets be
// read since 6.12, for each thread.
func (x *sampler) goneUp(v *abi.ReadValue, e *perfdata.Event, tid int32) uint64 {
	if x.read == nil {
		x.read = map[readingKey]reading{}
	}
	key := readingKey{id: v.ID, tid: -1}
	last, known := x.read[key]
	inherited := e.Attr.Flags&abi.FlagInherit != 0 && !x.sideband.onCPUs
	last.perThread = last.perThread || inherited && e.Attr.ReadFormat&abi.ReadGroup != 0 && e.Attr.SampleType&abi.SampleTID != 0
	if known && !last.perThread && last.tid != tid && v.Value < last.value && inherited {
		x.read[readingKey{v.ID, last.tid}] = last
		last.perThread = true
		x.read[key] = last
	}
	if last.perThread {
		key.tid = tid
		last = x.read[key]
	}
	if v.Value <= last.value {
		return 0 // a sample that was written before another and comes after it
	}
	x.read[key] = reading{value: v.Value, tid: tid}
	return v.Value - last.value
}
