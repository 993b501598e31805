package perfdata

import (
	"slices"

	"kprof/perfevent/abi"
)

// Event is an event of a recording with the layout of its records.
type Event struct {
	abi.Event
	Index  int // in EventSet.Events
	Layout abi.Layout
}

// EventSet finds the event that a record belongs to.
//
// perf's rule (evlist__event2evsel): with one event, or none whose records carry
// an id, it is the first; an id of zero, which synthesized records have, is the
// first one's as well; any other id must be known.
type EventSet struct {
	Order  abi.Order
	Events []*Event

	shared          []*Event // whose samples may have somebody else's id
	byID            map[uint64]*Event
	base            uint64   // the first id
	near            []*Event // those of ids from base on, as the kernel counts them up
	idOff, trailOff int      // where ids lie in a sample, and before the end of other records; -1 nowhere
}

// NewEventSet returns the set of the given events.
func NewEventSet(o abi.Order, events []abi.Event) *EventSet {
	s := &EventSet{Order: o, byID: map[uint64]*Event{}, idOff: -1, trailOff: -1}
	for _, e := range events {
		s.Add(e)
	}
	return s
}

// Add appends an event. The first one decides where ids lie, which the kernel
// requires to be the same for all of a recording.
func (s *EventSet) Add(e abi.Event) *Event {
	ev := &Event{Event: e, Index: len(s.Events), Layout: abi.NewLayout(&e.Attr, s.Order)}
	if len(s.Events) == 0 {
		s.idOff, s.trailOff = ev.Layout.IDOffset(), ev.Layout.IDTrailerOffset()
	}
	s.Events = append(s.Events, ev)
	if e.Attr.SharesSamples() {
		s.shared = append(s.shared, ev)
	}
	for _, id := range e.IDs {
		s.AddID(ev, id)
	}
	return ev
}

// AddID makes id one of e's alone: of several events that claim one, perf finds the
// last (tools/lib/perf/evlist.c, perf_evlist__id_hash).
func (s *EventSet) AddID(e *Event, id uint64) {
	s.byID[id] = e
	if len(s.byID) == 1 {
		s.base = id
	}
	if i := id - s.base; i < maxNear {
		if i >= uint64(len(s.near)) {
			s.near = append(s.near, make([]*Event, i+1-uint64(len(s.near)))...)
		}
		s.near[i] = e
	}
}

// groupCounters gives the samples of all events of a group counters behind their branches, where one
// of its events asks for them: the kernel writes them for each (evsel.c, evsel__has_branch_counters;
// arch/x86/events/intel/lbr.c, intel_pmu_lbr_save_brstack). Groups are in the order of their events.
func (s *EventSet) groupCounters(groups []Group) {
	left, skipped := s.Events, uint64(0)
	for _, g := range groups {
		if uint64(g.Leader) < skipped || uint64(g.Leader)-skipped > uint64(len(left)) {
			return // not perf's
		}
		left = left[uint64(g.Leader)-skipped:]
		n := min(uint64(g.Members), uint64(len(left)))
		members := left[:n]
		left, skipped = left[n:], uint64(g.Leader)+n
		if slices.ContainsFunc(members, func(e *Event) bool { return e.Attr.BranchSampleType&abi.BranchCounters != 0 }) {
			for _, e := range members {
				e.Layout.Branch |= abi.BranchCounters
			}
		}
	}
}

// maxNear bounds EventSet.near.
const maxNear = 1 << 12

// OfID returns the event with the given id, or nil.
func (s *EventSet) OfID(id uint64) *Event {
	if i := id - s.base; i < uint64(len(s.near)) {
		return s.near[i]
	}
	return s.byID[id]
}

// OfSample returns the event of a sample, or nil if its id is unknown or there
// are no events. An id is not unknown for being somebody else's, where the kernel leaves
// such in samples and one event alone has samples of this size (abi.Attr.SharesSamples).
func (s *EventSet) OfSample(payload []byte) *Event {
	if len(s.Events) < 2 {
		return s.first()
	}
	if s.idOff < 0 || len(payload) < s.idOff+8 {
		return s.first()
	}
	if e := s.of(s.Order.Uint64(payload[s.idOff:])); e != nil {
		return e
	}
	return s.ofSize(payload)
}

// maxShared is how many events may be those that a sample with somebody else's id is of. There
// are eight that the kernel mixes up, and no more are looked through for each sample.
const maxShared = 16

// ofSize returns the only event that a sample with somebody else's id may be of, or nil.
func (s *EventSet) ofSize(payload []byte) (of *Event) {
	if len(s.shared) > maxShared {
		return nil
	}
	for _, e := range s.shared {
		if e.Layout.Ends(payload) {
			if of != nil {
				return nil
			}
			of = e
		}
	}
	return of
}

// OfOther returns the event of a record of the kernel that is not a sample, or
// nil if its id is unknown or there are no events.
func (s *EventSet) OfOther(payload []byte) *Event {
	if len(s.Events) < 2 {
		return s.first()
	}
	if s.trailOff < 0 || len(payload) < s.trailOff {
		return s.first()
	}
	return s.of(s.Order.Uint64(payload[len(payload)-s.trailOff:]))
}

// updated returns the event that an EVENT_UPDATE record means by id: the only
// one, whatever the id, as events without ids of their own have 0.
func (s *EventSet) updated(id uint64) *Event {
	if len(s.Events) == 1 {
		return s.Events[0]
	}
	return s.of(id)
}

func (s *EventSet) of(id uint64) *Event {
	if id == 0 {
		return s.first()
	}
	return s.OfID(id)
}

func (s *EventSet) first() *Event {
	if len(s.Events) == 0 {
		return nil
	}
	return s.Events[0]
}
