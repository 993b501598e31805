package record

import (
	"math/bits"

	"kprof/perfevent/abi"
)

// sharedSamples gives samples their own event's id back, where the kernel left that of another
// event in them (abi.Attr.SharesSamples): of this session, or of somebody else who records the
// same. Which event it is, the size of the sample tells: see tellApart.
type sharedSamples struct {
	ids       idTable
	events    []sharedEvent
	ambiguous []bool // by event: another one of the session samples the same

	at     int
	places []int // in what was looked at last, of samples that may have a wrong id
	whole  []byte
	look   func([]byte, int) // the method one, made once
}

// sharedEvent is an event whose samples may have a wrong id.
type sharedEvent struct {
	index  int32
	id     uint64 // that its samples get
	layout abi.Layout
}

// newSharedSamples returns nil where no event has such samples.
func newSharedSamples(ids idTable, events []abi.Event) *sharedSamples {
	s := &sharedSamples{ids: ids, ambiguous: make([]bool, len(events))}
	of := map[uint64]int{} // events of each kind
	for i, e := range events {
		if e.Attr.SharesSamples() && len(e.IDs) > 0 {
			of[e.Attr.Config]++
			s.events = append(s.events, sharedEvent{int32(i), e.IDs[0], abi.NewLayout(&e.Attr, abi.LittleEndian)})
		}
	}
	if len(s.events) == 0 {
		return nil
	}
	for i, e := range events {
		s.ambiguous[i] = e.Attr.SharesSamples() && of[e.Attr.Config] > 1
	}
	s.look = s.one
	return s
}

// find looks for samples in a and, continued, in b that may have a wrong id, and reports
// whether there are any.
func (s *sharedSamples) find(a, b []byte) bool {
	s.at, s.places = 0, s.places[:0]
	eachRecord(a, b, &s.whole, s.look)
	return len(s.places) > 0
}

func (s *sharedSamples) one(rec []byte, size int) {
	const o = abi.LittleEndian
	at := s.at
	s.at += size
	if abi.RecordType(o.Uint32(rec)) != abi.RecordSample || size < 16 {
		return
	}
	if e := s.ids.lookup(o.Uint64(rec[8:])); e < 0 || s.ambiguous[e] {
		s.places = append(s.places, at)
	}
}

// restore returns a copy of a and b in dst, which find was last given, with the right ids as
// far as they can be told.
func (s *sharedSamples) restore(dst, a, b []byte) []byte {
	const o = abi.LittleEndian
	dst = append(append(dst[:0], a...), b...)
	for _, at := range s.places {
		payload := dst[at+abi.HeaderSize : at+int(o.Uint16(dst[at+6:]))]
		var fits *sharedEvent
		n := 0
		for i := range s.events {
			if s.events[i].layout.Ends(payload) {
				fits = &s.events[i]
				n++
			}
		}
		if n == 1 && s.ids.lookup(o.Uint64(payload)) != fits.index {
			o.PutUint64(payload, fits.id)
		}
	}
	return dst
}

// tellApart has samples of events that share them differ in size, as far as there are fields
// for it: whoever reads them passes over those.
func tellApart(events []*recordedEvent) {
	sizes := map[int]bool{}
	for _, e := range events {
		if !e.Attr.SharesSamples() {
			continue
		}
		words := func() int { return bits.OnesCount64(uint64(e.Attr.SampleType)) }
		for _, t := range [...]abi.SampleType{abi.SampleTransaction, abi.SampleDataSrc} {
			if !sizes[words()] {
				break
			}
			e.Attr.SampleType |= t
		}
		sizes[words()] = true
	}
}
