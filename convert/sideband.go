package convert

import (
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// sideband feeds the records that are not samples into the timeline and counts
// all of them.
type sideband struct {
	tl     *timeline
	events *perfdata.EventSet
	clock  clock

	counts  [int(abi.RecordSchedstatDomain) + 1]uint64
	others  map[abi.RecordType]uint64
	lost    uint64
	lostSmp []uint64 // samples that LOST_SAMPLES tell of, by index of event
	bad     uint64
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
		abi.RecordKsymbol, abi.RecordLost, abi.RecordLostSamples:
	case abi.RecordCompressed, abi.RecordCompressed2:
		if len(payload) > 0 { // it was inside another, and nobody writes such
			sb.bad++
		}
		return 0
	default:
		return 0
	}
	if first := sb.events.OfOther(nil); first != nil {
		payload = payload[:len(payload)-first.Layout.Excess(h.Type, payload)]
	}
	e := sb.events.OfOther(payload)
	if e == nil {
		// An id of an event we do not know: the layout is the same for all.
		if e = sb.events.OfOther(nil); e == nil {
			sb.bad++
			return 0
		}
	}
	t = place
	if !sb.clock.byPlace {
		f, _ := e.Layout.DecodeTrailer(payload)
		t = f.Time
	}
	if err := sb.add(e, h, payload, t); err != nil {
		sb.bad++
		return 0
	}
	return t
}

// add adds what a record of an event says at time t.
func (sb *sideband) add(e *perfdata.Event, h abi.Header, payload []byte, t uint64) error {
	l := &e.Layout
	switch h.Type {
	case abi.RecordMmap, abi.RecordMmap2:
		m, err := l.DecodeMmap(h, payload)
		if err != nil {
			return err
		}
		sb.tl.mmap(m, h.Misc, t)
	case abi.RecordComm:
		c, err := l.DecodeComm(h, payload)
		if err != nil {
			return err
		}
		sb.tl.comm(c, t)
	case abi.RecordFork:
		f, err := l.DecodeTask(payload)
		if err != nil {
			return err
		}
		sb.tl.fork(f, t, h.Misc&abi.MiscForkExec != 0)
	case abi.RecordExit:
		f, err := l.DecodeTask(payload)
		if err != nil {
			return err
		}
		sb.tl.exit(f, t)
	case abi.RecordKsymbol:
		k, err := l.DecodeKsymbol(payload)
		if err != nil {
			return err
		}
		sb.tl.ksymbol(k, t)
	case abi.RecordLost, abi.RecordLostSamples:
		n, err := l.DecodeLost(h, payload)
		if err != nil {
			return err
		}
		if h.Type == abi.RecordLost {
			sb.lost += n.Count
		} else {
			for len(sb.lostSmp) <= e.Index {
				sb.lostSmp = append(sb.lostSmp, 0)
			}
			sb.lostSmp[e.Index] += n.Count
		}
	}
	return nil
}

func (sb *sideband) count(t abi.RecordType) {
	if int(t) < len(sb.counts) {
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

// clockOf tells what orders the records of a recording with these events.
func clockOf(events *perfdata.EventSet) clock {
	for _, e := range events.Events {
		if e.Attr.SampleType&abi.SampleTime == 0 || e.Attr.Flags&abi.FlagSampleIDAll == 0 {
			return clock{byPlace: true}
		}
	}
	return clock{}
}

// stats puts together what the side-band and the samples tell.
func stats(sb *sideband, w *worker) Stats {
	s := Stats{
		Records:        map[abi.RecordType]uint64{},
		Lost:           sb.lost,
		Throttled:      sb.counts[abi.RecordThrottle],
		UnknownEvent:   w.stats.unknownEvent,
		BadSamples:     w.stats.bad,
		BadRecords:     sb.bad + w.stats.badRecords,
		Unnamed:        w.stats.unnamed,
		Exited:         w.stats.exited,
		UnwalkedStacks: w.stats.unwalked,
		CutStacks:      w.stats.cut,
		HalfChains:     w.stats.halfChains,
		Guest:          w.stats.guest,
		Hypervisor:     w.stats.hypervisor,
		FirstTime:      w.stats.first,
		LastTime:       w.stats.last,

		UnmappedFrames: w.locator.unmapped,
		OtherTasks:     w.labels.others,
		OtherPlaces:    w.locator.beyond,
		Hasty:          sb.tl.effort.hasty,
		JITDumps:       sb.tl.dumps,
	}
	for t, n := range sb.counts {
		if n > 0 {
			s.Records[abi.RecordType(t)] = n
		}
	}
	for t, n := range sb.others {
		s.Records[t] = n
	}
	w.grow(len(w.events.Events) - 1)
	for i, e := range w.events.Events {
		es := EventSamples{Name: e.Name, Samples: w.stats.samples[i], Taken: w.stats.taken[i], Period: w.stats.period[i]}
		if i < len(sb.lostSmp) {
			es.Lost = sb.lostSmp[i]
			s.LostSamples += es.Lost
		}
		s.Samples = append(s.Samples, es)
	}
	return s
}
