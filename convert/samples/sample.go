package samples

import (
	"slices"

	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// Sample is a sample of a recording with the state of its task at its time. Its fields
// are as decoded, but for what only a recording as a whole tells: the rest of a callchain
// that the kernel or simpleperf wrote apart is in Callchain, and of what perf record
// --off-cpu writes as raw data, all is in its place.
type Sample struct {
	abi.Sample // its raw data, of tracepoints their fields, in Raw
	Event      *perfdata.Event
	State      timeline.State
	Place      uint64 // ordinal number of its record

	// Counts are the events that it is a sample of, each with the period: its own, or, if
	// it carries the values of counters, those of the counters that have gone up.
	Counts []Count
	// Unended says that the period is a time off the CPU that had not ended with the
	// recording, and is not known.
	Unended bool
}

// Order is what those must know, besides samples, who need the order of their times.
// Each may be nil.
type Order struct {
	// Round is called at the end of a round: what was written before the end of the one
	// before it has been emitted.
	Round func()
	// Lost is called where records of a CPU are missing: between the last sample of that
	// CPU and t. The CPU is -1, and t is 0, where the recording does not say it. In a trace of
	// several buffers e is an event of that to which it happened; nil where nothing tells.
	Lost func(e *perfdata.Event, cpu int32, t uint64)
	// Came is called where a thread has come to a CPU, of a recording that says so; of one of
	// simpleperf record --trace-offcpu, which need not, also before each sample of a thread.
	Came func(tid, cpu int32, t uint64)
	// Left is called where a thread has left a CPU, of a recording that says so, with its
	// state then; Ended where a thread ends, which then leaves for the last time, and Began where
	// one begins, whose number may have been another's.
	Left         func(Leaving)
	Ended, Began func(tid int32, t uint64)
}

// Leaving is a thread that leaves a CPU.
type Leaving struct {
	PID, TID, CPU int32
	Time          uint64
	Preempted     bool // it wants to run
	State         timeline.State
}

// Count is what a sample counts of an event.
type Count struct {
	Event  *perfdata.Event
	Period uint64
}

// When returns the time that a sample was taken at, 0 where that is not known.
func (s *Sample) When() uint64 { return timeOf(&s.Sample) }

// sampler makes Samples of records. It has one way in, take, and one out, emit.
type sampler struct {
	tl       *timeline.Timeline
	events   *perfdata.EventSet
	byPlace  bool      // records have no times: their places order them
	sideband *sideband // of the same recording
	emit     func(*Sample)
	// withoutDeferred leaves away the user parts of callchains that come later.
	withoutDeferred bool
	order           Order

	sample     Sample
	read       map[readingKey]reading
	joining    joining
	simpleperf *simpleperf // nil where another recorder was at work

	unknownEvent          uint64
	bad                   []uint64 // samples that could not be decoded, by index of event
	badRecords            uint64
	missingDeferredChains uint64
}

// take emits the samples that a record makes, each valid until emit returns. place is
// the record's ordinal number among all.
func (x *sampler) take(h abi.Header, payload []byte, place uint64) {
	switch h.Type {
	case abi.RecordSample:
		x.takeSample(h.Misc, payload, place)
	case abi.RecordCallchainDeferred:
		if !x.withoutDeferred {
			x.takeDeferred(payload, place)
		}
	case abi.RecordLost, abi.RecordLostSamples:
		if x.order.Lost != nil && (h.Type == abi.RecordLost || h.Misc&abi.MiscFiltered == 0) {
			x.takeLost(h, payload)
		}
	case abi.RecordSwitch, abi.RecordSwitchCPUWide:
		if x.order.Came != nil && h.Misc&abi.MiscSwitchOut == 0 || x.order.Left != nil {
			x.takeSwitch(h, payload)
		}
	case abi.RecordExit:
		x.tell(x.order.Ended, payload)
	case abi.RecordFork:
		if h.Misc&abi.MiscForkExec == 0 { // else it describes one that there was already
			x.tell(x.order.Began, payload)
		}
	case abi.RecordFinishedRound:
		if x.order.Round != nil {
			x.order.Round()
		}
	case perfdata.RecordJoinedChain:
		if j, ok := perfdata.DecodeJoinedChain(payload, x.events.Order); ok && x.simpleperf != nil {
			x.simpleperf.joined = j
		}
	}
}

func (x *sampler) takeSample(misc abi.Misc, payload []byte, place uint64) {
	s := &x.sample
	s.Time = 0
	e := x.events.OfSample(payload)
	if e == nil {
		x.unknownEvent++
		return
	}
	if e.Layout.DecodeSample(&s.Sample, misc, payload) != nil || isOffCPU(e) && !unpackOffCPU(&s.Sample, x.events.Order) {
		for len(x.bad) <= e.Index {
			x.bad = append(x.bad, 0)
		}
		x.bad[e.Index]++
		return
	}
	t := s.Time
	if x.byPlace {
		t = place
	}
	if x.simpleperf != nil {
		x.simpleperf.joinChain(&s.Sample)
	}
	if s.PID != s.TID && isOffCPU(e) && x.tl.Belongs(s.PID, s.TID) && !x.tl.Belongs(s.TID, s.PID) {
		s.PID, s.TID = s.TID, s.PID // see unpackOffCPU
	}
	s.Event, s.Place, s.State = e, place, x.tl.At(s.PID, s.TID, t)
	if s.TID == 0 && e.Attr.SampleType&abi.SampleTID != 0 && ranUserCode(&s.Sample, e.Attr.SampleType) {
		s.State.Name = timeline.NotIdle
	}
	if x.order.Came != nil && x.simpleperf.tracesOffCPU() {
		x.order.Came(s.TID, s.CPU, s.When()) // it leaves now, or is on the CPU
	}
	if cookie, ok := deferredCookie(&s.Sample); ok && !x.withoutDeferred && !x.join(payload, cookie) {
		return // until its user part comes
	}
	x.deliver()
}

// ranUserCode reports whether a sample is of user code, or of the kernel on its behalf, as its
// callchain says. The idle threads have none: where one has their number 0, it is a task outside
// the pid namespace of who recorded (kernel/events/core.c, perf_event_pid_type). A precise sample
// whose address the processor does not know has the address 0, which counts as one of user code
// (arch/x86/events/perf_event.h, set_linear_ip) wherever it was.
func ranUserCode(s *abi.Sample, has abi.SampleType) bool {
	return s.Misc.CPUMode() == abi.MiscUser && (s.IP != 0 || has&abi.SampleIP == 0) ||
		slices.ContainsFunc(s.Callchain, func(ip uint64) bool { return ip == abi.ContextUser || ip == abi.ContextUserDeferred })
}

// deliver emits the sample at hand with what it counts.
func (x *sampler) deliver() {
	s := &x.sample
	s.Counts, s.Unended = s.Counts[:0], false
	if s.Event.Attr.SampleType&abi.SampleRead == 0 {
		s.Counts = append(s.Counts, Count{s.Event, x.period()})
	} else {
		x.readings()
	}
	x.emit(s)
}

// takeLost tells where records are missing.
func (x *sampler) takeLost(h abi.Header, payload []byte) {
	if e, payload := ofOther(x.events, h.Type, payload); e != nil {
		f, _ := e.Layout.DecodeTrailer(payload)
		x.order.Lost(x.events.OfOther(payload), f.CPU, f.Time)
	}
}

// tell tells of a thread that begins or ends, by a FORK or EXIT record: pid, ppid, tid, ptid, time
// (perf_event.h).
func (x *sampler) tell(whom func(tid int32, t uint64), payload []byte) {
	if whom != nil && len(payload) >= 24 {
		whom(int32(x.events.Order.Uint32(payload[8:])), x.events.Order.Uint64(payload[16:]))
	}
}

// takeSwitch tells who has come to a CPU, or left it.
func (x *sampler) takeSwitch(h abi.Header, payload []byte) {
	if e, payload := ofOther(x.events, h.Type, payload); e != nil {
		f, ok := e.Layout.DecodeTrailer(payload)
		switch {
		case !ok:
		case h.Misc&abi.MiscSwitchOut != 0:
			x.order.Left(Leaving{f.PID, f.TID, f.CPU, f.Time, h.Misc&abi.MiscSwitchPreempt != 0, x.tl.At(f.PID, f.TID, f.Time)})
		case x.order.Came != nil:
			x.order.Came(f.TID, f.CPU, f.Time)
		}
	}
}

// period returns the period of the sample at hand. Where it was not recorded it is what
// was asked for, for perf too: of an event that was sampled at a frequency, that number.
func (x *sampler) period() uint64 {
	s := &x.sample
	switch {
	case x.simpleperf.measuresTime(x.events, s.Event):
		d, ok := x.simpleperf.offCPU.durations[s.Place]
		s.Unended = !ok
		return d
	case s.Event.Attr.SampleType&abi.SamplePeriod != 0:
		return s.Period
	}
	return max(s.Event.Attr.SamplePeriod, 1)
}

// intake is what takes the records of a recording that arrive once.
type intake struct {
	events   *perfdata.EventSet
	sideband *sideband
	sampler  *sampler
}

func newIntake(tl *timeline.Timeline, events *perfdata.EventSet) intake {
	sb := &sideband{tl: tl, events: events}
	in := intake{events, sb, &sampler{tl: tl, events: events, sideband: sb}}
	in.setOrder()
	return in
}

// setOrder is called again when there are more events.
func (in *intake) setOrder() {
	in.sideband.byPlace = byPlace(in.events)
	in.sampler.byPlace = in.sideband.byPlace
}

// byPlace reports whether a recording with these events is ordered by the places of its
// records, as they have no times.
func byPlace(events *perfdata.EventSet) bool {
	for _, e := range events.Events {
		if e.Attr.SampleType&abi.SampleTime == 0 || e.Attr.Flags&abi.FlagSampleIDAll == 0 {
			return true
		}
	}
	return false
}
