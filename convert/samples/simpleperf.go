package samples

import (
	"cmp"
	"slices"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// simpleperf is what recordings of Android's recorder need besides. Its rules are
// those of its own reports (system/extras, simpleperf/report_lib_interface.cpp,
// thread_tree.cpp).
type simpleperf struct {
	joined perfdata.JoinedChain // the last that came
	offCPU *offCPUTimes         // nil for none
}

// offCPUTimes are the times off the CPU that samples of a scheduler switch begin
// (simpleperf record --trace-offcpu). Each ends with the next sample of the thread,
// or when a record says that it was switched to.
type offCPUTimes struct {
	seen      []threadSeen
	durations map[uint64]uint64 // of samples, by place; in ns
}

// threadSeen is a time at which a thread is known to be on a CPU, at least until
// then.
type threadSeen struct {
	time, place uint64
	tid         int32
	leaves      bool // the CPU
}

// isSwitch reports whether samples of e are those of threads that leave the CPU.
// Where no tracing data name it, it is the event that comes last.
func isSwitch(events *perfdata.EventSet, e *perfdata.Event) bool {
	return e.Attr.Type == abi.TypeTracepoint &&
		(e.Name == "sched:sched_switch" || e.Index > 0 && e.Index == len(events.Events)-1)
}

// note takes up a record in the first walk.
func (o *offCPUTimes) note(events *perfdata.EventSet, s *abi.Sample, rec *perfdata.Record, place uint64) {
	switch rec.Type {
	case abi.RecordSample:
		if e := events.OfSample(rec.Payload); e != nil && e.Layout.DecodeSample(s, rec.Misc, rec.Payload) == nil {
			o.seen = append(o.seen, threadSeen{s.Time, place, s.TID, isSwitch(events, e)})
		}
	case abi.RecordSwitch, abi.RecordSwitchCPUWide:
		e := events.OfOther(rec.Payload)
		if e == nil || rec.Misc&abi.MiscSwitchOut != 0 {
			return
		}
		if f, ok := e.Layout.DecodeTrailer(rec.Payload); ok {
			o.seen = append(o.seen, threadSeen{f.Time, place, f.TID, false})
		}
	}
}

// measure finds the durations, once everything has been noted.
func (o *offCPUTimes) measure() {
	slices.SortFunc(o.seen, func(a, b threadSeen) int {
		return cmp.Or(cmp.Compare(a.tid, b.tid), cmp.Compare(a.time, b.time), cmp.Compare(a.place, b.place))
	})
	o.durations = map[uint64]uint64{}
	for i := range o.seen {
		a := &o.seen[i]
		if a.leaves && i+1 < len(o.seen) && o.seen[i+1].tid == a.tid {
			o.durations[a.place] = max(o.seen[i+1].time-a.time, 1)
		}
	}
	o.seen = nil
}

// tracesOffCPU reports whether each sample of a thread ends the time off the CPU before.
func (sp *simpleperf) tracesOffCPU() bool { return sp != nil && sp.offCPU != nil }

// joinChain lets the joined callchain of a sample take the place of its user part.
func (sp *simpleperf) joinChain(s *abi.Sample) {
	j := &sp.joined
	if j.Chain == nil || j.TID != s.TID || j.Time != s.Time || !s.HasChain {
		return
	}
	n := slices.Index(s.Callchain, abi.ContextUser)
	if n < 0 || len(s.Callchain)-n-1 >= len(j.Chain) {
		return
	}
	s.Callchain = append(s.Callchain[:n+1], j.Chain...)
}

// measuresTime reports whether the periods of an event's samples are times off the
// CPU, which the event does not say.
func (sp *simpleperf) measuresTime(events *perfdata.EventSet, e *perfdata.Event) bool {
	return sp.tracesOffCPU() && isSwitch(events, e)
}
