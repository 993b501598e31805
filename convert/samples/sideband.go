package samples

import (
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// sideband feeds the records that are not samples into the timeline and counts
// all records.
type sideband struct {
	tl      *timeline.Timeline
	events  *perfdata.EventSet
	byPlace bool

	counts      [int(abi.RecordSchedstatDomain) + 1]uint64
	others      map[abi.RecordType]uint64
	lost        uint64
	lostAtLeast bool
	lostSamples []uint64 // as LOST_SAMPLES records say, by index of event
	// Those of events whose counters tell what they lost. From 6.2 on perf reads that at the end
	// and writes it as LOST_SAMPLES: what a ring had no room for, of which LOST records tell as
	// well, but for the last of it.
	lostByFormat uint64
	bad          uint64
	traced       HardwareTrace
	onCPUs       bool // perf recorded CPUs: no counter is of one task
}

// maxUnknownTypes bounds the types of records that are counted each for itself
// though nobody knows them; further ones are counted as manyTypes.
const (
	maxUnknownTypes                = 1 << 10
	manyTypes       abi.RecordType = 1<<32 - 1
)

// take looks at a record that is not a sample. place is its ordinal number. It
// returns the time of a record that may change the timeline, 0 for others.
func (sb *sideband) take(h abi.Header, payload []byte, place uint64) (t uint64) {
	sb.count(h.Type)
	switch h.Type {
	case abi.RecordMmap, abi.RecordMmap2, abi.RecordComm, abi.RecordFork, abi.RecordExit,
		abi.RecordKsymbol, abi.RecordCgroup, abi.RecordLost, abi.RecordLostSamples:
	case abi.RecordCompressed, abi.RecordCompressed2:
		if len(payload) > 0 { // it was inside another, and nobody writes such
			sb.bad++
		}
		return 0
	case abi.RecordThreadMap:
		sb.onCPUs = ofCPUs(payload, sb.events.Order)
		return 0
	default:
		sb.traced.Take(h.Type, payload, sb.events.Order)
		return 0
	}
	e, payload := ofOther(sb.events, h.Type, payload)
	if e == nil {
		sb.bad++
		return 0
	}
	t = place
	if !sb.byPlace {
		f, _ := e.Layout.DecodeTrailer(payload)
		t = f.Time
	}
	if err := sb.add(e, h, payload, t); err != nil {
		sb.bad++
		return 0
	}
	return t
}

// ofCPUs reports whether a THREAD_MAP record says that perf recorded CPUs, and not tasks: its one
// task is -1 (tools/lib/perf/include/perf/event.h, struct perf_record_thread_map).
func ofCPUs(payload []byte, o abi.Order) bool {
	return len(payload) >= 16 && o.Uint64(payload) == 1 && int64(o.Uint64(payload[8:])) == -1
}

// ofOther returns the event of a record that is not a sample, nil if it may be that of
// none, and the record without what is behind its sample id.
func ofOther(events *perfdata.EventSet, t abi.RecordType, payload []byte) (*perfdata.Event, []byte) {
	first := events.OfOther(nil)
	if first != nil {
		payload = payload[:len(payload)-first.Layout.Excess(t, payload)]
	}
	if e := events.OfOther(payload); e != nil {
		return e, payload
	}
	return first, payload // of an id that we do not know: the layout is the same for all
}

// add adds what a record of an event says at time t.
func (sb *sideband) add(e *perfdata.Event, h abi.Header, payload []byte, t uint64) error {
	if h.Type != abi.RecordLost && h.Type != abi.RecordLostSamples {
		return sb.tl.Add(&e.Layout, h, payload, t)
	}
	n, err := e.Layout.DecodeLost(h, payload)
	if err != nil {
		return err
	}
	if h.Type == abi.RecordLost {
		sb.lost += n.Count
		sb.lostAtLeast = sb.lostAtLeast || n.AtLeast
		return nil
	}
	for len(sb.lostSamples) <= e.Index {
		sb.lostSamples = append(sb.lostSamples, 0)
	}
	sb.lostSamples[e.Index] += n.Count
	if e.Attr.ReadFormat&abi.ReadLost != 0 {
		sb.lostByFormat += n.Count
	}
	return nil
}

func (sb *sideband) count(t abi.RecordType) {
	if uint64(t) < uint64(len(sb.counts)) {
		sb.counts[t]++
		return
	}
	if sb.others == nil {
		sb.others = map[abi.RecordType]uint64{}
	}
	if _, known := sb.others[t]; !known && len(sb.others) >= maxUnknownTypes {
		t = manyTypes
	}
	sb.others[t]++
}
