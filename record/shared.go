package record

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

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
	cuts   []extent

	found, assigned []sharedEvent // by together and assign
	whole           []byte
	look            func([]byte, int) // the method one, made once
}

// sharedEvent is an event whose samples may have a wrong id.
type sharedEvent struct {
	index  int32
	id     uint64 // that its samples get
	config uint64
	flags  abi.Flags
	layout abi.Layout
}

// newSharedSamples returns nil where no event has such samples.
func newSharedSamples(ids idTable, events []abi.Event) *sharedSamples {
	s := &sharedSamples{ids: ids, ambiguous: make([]bool, len(events))}
	of := map[uint64]int{} // events of each kind
	for i, e := range events {
		if e.Attr.SharesSamples() && len(e.IDs) > 0 {
			of[e.Attr.Config]++
			s.events = append(s.events, sharedEvent{int32(i), e.IDs[0], e.Attr.Config, e.Attr.Flags, abi.NewLayout(&e.Attr, abi.LittleEndian)})
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
// far as they can be told. Those samples that another recorder's made longer end where they should.
func (s *sharedSamples) restore(dst, a, b []byte) []byte {
	dst = append(append(dst[:0], a...), b...)
	s.cuts = s.cuts[:0]
	for rest := s.places; len(rest) > 0; {
		n := 1
		for n < len(rest) && sameMoment(dst, rest[0], rest[n]) {
			n++
		}
		if !s.together(dst, rest[:n]) {
			for _, at := range rest[:n] {
				s.alone(dst, at)
			}
		}
		rest = rest[n:]
	}
	return s.cut(dst)
}

// alone gives a sample the id of the event whose samples are as long, if there is one.
func (s *sharedSamples) alone(dst []byte, at int) {
	var fits *sharedEvent
	n := 0
	for i := range s.events {
		if e := &s.events[i]; e.samples(dst, at) && e.layout.Ends(payloadAt(dst, at)) {
			fits = e
			n++
		}
	}
	if payload := payloadAt(dst, at); n == 1 && s.ids.lookup(abi.LittleEndian.Uint64(payload)) != fits.index {
		abi.LittleEndian.PutUint64(payload, fits.id)
	}
}

// together gives the samples of a moment, which are at places, the ids of the events of one kind that
// sample it, if these are as many, and reports whether it did. All samples of a moment have as many
// bytes behind their end (abi.Layout.Behind), mostly none.
func (s *sharedSamples) together(dst []byte, places []int) bool {
	slices.SortFunc(places, func(a, b int) int { return sizeAt(dst, a) - sizeAt(dst, b) })
	s.found = s.found[:0]
	least := -1 // bytes behind
	for i := range s.events {
		config := s.events[i].config
		if slices.ContainsFunc(s.events[:i], func(e sharedEvent) bool { return e.config == config }) {
			continue
		}
		switch behind, ok := s.assign(dst, places, config); {
		case !ok || least == 0:
		case behind == 0 || least < 0:
			least = behind
			s.found = append(s.found[:0], s.assigned...)
		default:
			return false // they could be of either
		}
	}
	for i, e := range s.found {
		at := places[i]
		if payload := payloadAt(dst, at); s.ids.lookup(abi.LittleEndian.Uint64(payload)) != e.index {
			abi.LittleEndian.PutUint64(payload, e.id)
		}
		if least > 0 {
			s.cuts = append(s.cuts, extent{at, least})
		}
	}
	return len(s.found) > 0
}

// extent is how many bytes are too many at the end of the sample at a place.
type extent struct{ at, extra int }

// cut takes away what is noted.
func (s *sharedSamples) cut(dst []byte) []byte {
	if len(s.cuts) == 0 {
		return dst
	}
	slices.SortFunc(s.cuts, func(a, b extent) int { return a.at - b.at })
	to, from := 0, 0
	for _, c := range s.cuts {
		end := c.at + sizeAt(dst, c.at)
		binary.LittleEndian.PutUint16(dst[c.at+6:], uint16(end-c.extra-c.at))
		to += copy(dst[to:], dst[from:end-c.extra])
		from = end
	}
	return dst[:to+copy(dst[to:], dst[from:])]
}

func sizeAt(b []byte, at int) int       { return int(abi.LittleEndian.Uint16(b[at+6:])) }
func payloadAt(b []byte, at int) []byte { return b[at+abi.HeaderSize : at+sizeAt(b, at)] }

// sameMoment reports whether the samples at two places have the same instruction, thread and time,
// which are behind the id.
func sameMoment(b []byte, one, other int) bool {
	const from, end = abi.HeaderSize + 8, abi.HeaderSize + 32
	return sizeAt(b, one) >= end && sizeAt(b, other) >= end && bytes.Equal(b[one+from:one+end], b[other+from:other+end])
}

// samples reports whether e samples what runs as the sample at a place says.
func (e *sharedEvent) samples(b []byte, at int) bool {
	if abi.DecodeHeader(b[at:], abi.LittleEndian).Misc.CPUMode() == abi.MiscUser {
		return e.flags&abi.FlagExcludeUser == 0
	}
	return e.flags&abi.FlagExcludeKernel == 0
}

// assign finds the events of one kind for the samples at places, shortest first, and how many bytes
// each of these has too many; not where it is not certain.
func (s *sharedSamples) assign(dst []byte, places []int, config uint64) (behind int, ok bool) {
	s.assigned = s.assigned[:0]
	for _, e := range s.events {
		if e.config == config && e.samples(dst, places[0]) {
			s.assigned = append(s.assigned, e)
		}
	}
	if len(s.assigned) != len(places) {
		return 0, false
	}
	longest := payloadAt(dst, places[len(places)-1])
	rest := func(e *sharedEvent) int { n, _ := e.layout.Behind(longest); return n }
	slices.SortFunc(s.assigned, func(a, b sharedEvent) int { return rest(&b) - rest(&a) })
	for i, at := range places {
		n, ok := s.assigned[i].layout.Behind(payloadAt(dst, at))
		if !ok || i > 0 && (n != behind || sizeAt(dst, at) == sizeAt(dst, places[i-1])) {
			return 0, false
		}
		behind = n
	}
	return behind, true
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
