package replay

import (
	"kprof/convert/locate"
	"kprof/convert/samples"
	"kprof/convert/span"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// Stats is what was seen of a recording.
type Stats struct {
	Records map[abi.RecordType]uint64 // by type
	Samples []EventSamples            // by event, in the order of the recording

	Lost                  uint64 // records the kernel could not write, as LOST records tell
	LostAtLeast           bool   // Lost is the least that it may be
	LostSamples           uint64 // as LOST_SAMPLES records tell, without what Lost counts too
	Throttled             uint64
	UnknownEvent          uint64       // samples whose id belongs to no event
	BadSamples            uint64       // samples shorter than their event's layout
	BadRecords            uint64       // other records that could not be decoded
	Unnamed               uint64       // samples of threads the recording never named
	Exited                uint64       // samples of tasks past their exit, whose pid is -1
	UnknownTask           uint64       // samples of the kernel's tracer whose task it does not say
	Guest                 uint64       // samples of programs in virtual machines, which are not the host's
	Hypervisor            uint64       // samples of what runs below the kernel
	UnwalkedStacks        uint64       // samples with a copy of the user's stack, which Options.Unwind was needed for, or a machine that it knows
	TruncatedStacks       uint64       // samples whose copy could not be walked to its end
	Cut                   []locate.Cut // stacks that end where the kernel took no more
	DroppedCopies         uint64       // copies of stacks that came faster than they could be walked, and were left out; of what arrives live
	MissingDeferredChains uint64       // samples whose user callers were to come later, and did not
	UnfinishedWaits       uint64       // samples of threads that left the CPU and were not seen on one again: the time is not known
	UnmappedFrames        uint64       // distinct addresses that no mapping covers

	// What was given up to bound time and memory, of recordings that hardly are
	// of a real machine.
	OverflowLabels   []LabelOverflow // by key of Options.FieldLabels
	OverflowTasks    uint64          // samples whose task is not told, as there are too many
	OverflowFrames   uint64          // frames whose address is not told, as there are too many
	AbandonedLookups uint64          // look-ups of addresses that did not go as far back as maps and forks do

	// What is not told as it would have taken more than Options.MaxMemory.
	MergedSamples   uint64 // samples that are at MergedFrame, in the place of the frames that they had
	MergedStacks    uint64 // stacks that lost frames so, each as often as it did
	MergedTasks     uint64 // samples that tell the name of their task, and not which it was
	TimelessSamples uint64 // samples whose times were not kept

	FirstTime, LastTime uint64 // of samples, ns of the recording's clock

	JITDumps []JITDump // that processes were seen to write
	Trace    HardwareTrace

	LeftOut *LeftOut // where Options select no sample at all, what there is; else nil

	OffCPU       span.OffStats // with Options.OffCPU: what could not be paired
	OtherBuffers uint64        // with it: switches and wake-ups of buffers of the tracer whose switches are not paired
	Spans        []SpanStats   // of Options.Spans
	SpanEvents   []int         // of both: the Set's events whose rows are times
	Durations    []Durations   // of both: the distributions of their times, of what has ended
	Delays       []Delays      // with OffCPU or WallClock: of each task that waited for a CPU, the longest first
	Faster       Faster        // times of both that are left out
	Calls        []Calls       // of events of functions that took a time: the distributions of it
	LatePoints   uint64        // events of both that came too late to be in order
	Early        Early         // times of both that began before all rings had

	// Truncated tells where and why the recording ended before its end.
	Truncated error
}

// Early counts the times that are left out since they began before all rings did.
type Early struct {
	Count uint64
	CPU   int32  // whose ring begins last
	Until uint64 // ns, when it does
}

// countEarly adds up what began before all rings did.
func (st *Stats) countEarly(late *perfdata.LateRings) {
	st.Early.Count = st.OffCPU.Early
	for i := range st.Spans {
		st.Early.Count += st.Spans[i].Early
	}
	st.Early.CPU, st.Early.Until = late.Last()
}

// EventSamples is how many samples an event has.
type EventSamples struct {
	Name    string // its own, also where the recording has several of that name
	Shown   string // name of the Set's event, which may be others' too; "" if the event is not taken
	Samples uint64 // in the recording
	Taken   uint64 // of those, the ones Options select
	Period  uint64 // sum over Taken
	Lost    uint64 // told by LOST_SAMPLES

	Unmatched uint64   // samples for which Options.Where has no value, and which are left out
	NoMatch   []string // names in it that the event lacks
	Valueless uint64   // samples that Options.Value has no value of, and which are left out
	NoValue   []string // names in it that the event lacks
	Saturated uint64   // values that were cut, for their sum to be an int64
}

func (s *Stats) total() (n uint64) {
	for _, e := range s.Samples {
		n += e.Taken
	}
	return n
}

// statsOf puts together what records, stacks and rows say.
func statsOf(read samples.Stats, r *rows) Stats {
	found := r.locator.Stats()
	s := Stats{
		Records:               read.Records,
		Lost:                  read.Lost,
		LostAtLeast:           read.LostAtLeast,
		Throttled:             read.Throttled,
		UnknownEvent:          read.UnknownEvent,
		BadRecords:            read.BadRecords,
		Unnamed:               r.stats.unnamed,
		Exited:                r.stats.exited,
		UnknownTask:           r.stats.unknownTask,
		UnwalkedStacks:        found.UnwalkedStacks,
		TruncatedStacks:       found.TruncatedStacks,
		Cut:                   found.Cut,
		MissingDeferredChains: read.MissingDeferredChains,
		UnfinishedWaits:       r.stats.unended,
		Guest:                 r.stats.guest,
		Hypervisor:            r.stats.hypervisor,
		FirstTime:             r.stats.first,
		LastTime:              r.stats.last,

		UnmappedFrames:   found.UnmappedFrames,
		OverflowTasks:    r.labels.others,
		OverflowLabels:   r.fields.labels.overflows(),
		OverflowFrames:   found.OverflowFrames,
		AbandonedLookups: read.AbandonedLookups,
		JITDumps:         read.JITDumps,
		LeftOut:          r.census.result(r.opts),
		Trace:            read.Trace,
		Calls:            r.callStats(),
	}
	for _, n := range read.BadSamples {
		s.BadSamples += n
	}
	all := r.samplesWith(read.BadSamples)
	r.grow(len(r.events.Events) - 1)
	r.naming.update(r.events.Events, r.opts.Events)
	for i := range r.events.Events {
		es := EventSamples{Name: r.naming.names[i].Name, Shown: r.naming.shown(i), Taken: r.stats.taken[i], Period: r.stats.period[i]}
		if i < len(all) {
			es.Samples = all[i]
		}
		if i < len(read.LostSamples) {
			es.Lost = read.LostSamples[i]
			s.LostSamples += es.Lost
		}
		if i < len(r.fields.events) {
			f := &r.fields.events[i]
			es.Unmatched, es.Valueless, es.Saturated = f.unmatched, f.valueless, f.saturated
			es.NoMatch, es.NoValue = r.fields.missing(i)
		}
		s.Samples = append(s.Samples, es)
	}
	s.LostSamples -= min(s.LostSamples, read.LostTwice) // a damaged file may say anything
	return s
}

// samplesWith returns how many samples each event had, those that could not be decoded
// included.
func (r *rows) samplesWith(bad []uint64) []uint64 {
	all := make([]uint64, max(len(r.stats.samples), len(bad)))
	copy(all, r.stats.samples)
	for i, n := range bad {
		all[i] += n
	}
	return all
}
