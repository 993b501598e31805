package samples

import (
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
)

// Stats is what was seen of the records of a recording.
type Stats struct {
	Records map[abi.RecordType]uint64 // by type

	Lost        uint64   // records the kernel could not write, as LOST records tell
	LostAtLeast bool     // Lost is the least that it may be
	LostSamples []uint64 // as LOST_SAMPLES records tell, by index of event; may be shorter
	LostTwice   uint64   // of LostSamples: what Lost counts too
	Throttled   uint64

	UnknownEvent          uint64   // samples whose id belongs to no event
	BadSamples            []uint64 // samples shorter than their event's layout, by its index; may be shorter
	BadRecords            uint64   // other records that could not be decoded
	MissingDeferredChains uint64   // samples whose user callers were to come later, and did not
	AbandonedLookups      uint64   // of addresses, that did not go as far back as maps and forks do

	JITDumps []timeline.JITDump // that processes were seen to write
	Trace    HardwareTrace
}

func statsOf(sb *sideband, x *sampler) Stats {
	s := Stats{
		Records:     map[abi.RecordType]uint64{},
		Lost:        sb.lost,
		LostAtLeast: sb.lostAtLeast,
		LostSamples: sb.lostSamples,
		LostTwice:   min(sb.lost, sb.lostByFormat),
		Throttled:   sb.counts[abi.RecordThrottle],

		UnknownEvent:          x.unknownEvent,
		BadSamples:            x.bad,
		BadRecords:            sb.bad + x.badRecords,
		MissingDeferredChains: x.missingDeferredChains,
		AbandonedLookups:      sb.tl.AbandonedLookups(),

		JITDumps: sb.tl.JITDumps(),
		Trace:    sb.traced,
	}
	for t, n := range sb.counts {
		if n > 0 {
			s.Records[abi.RecordType(t)] = n
		}
	}
	for t, n := range sb.others {
		s.Records[t] = n
	}
	return s
}
