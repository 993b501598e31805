package perfdata

import (
	"iter"

	"kprof/perfevent/abi"
)

// Source is a recording that is no perf.data file, and is told in the same records. What
// it holds is all of file mode: events, features and symbols are known before the records.
type Source struct {
	Order    abi.Order
	Events   []abi.Event // with names; where there are several, with ids
	Features Features
	Kernel   *KernelSymbols // nil for none

	// Addressless says that addresses are not those of the machine: they only tell
	// functions apart, whose names are known.
	Addressless bool
	// Duration reports whether the periods of an event's samples are ns that something
	// took; nil for no event.
	Duration func(*Event) bool
	// Tracer says that the kernel's tracer recorded it, by whose habits it is shown.
	Tracer bool

	// Ticks says that times are ticks of a clock that does not count ns. Clock is its name,
	// empty where nothing tells it.
	Ticks bool
	Clock string

	// Ordered says that records are in the order of time, and so that nothing need be put
	// into that order.
	Ordered bool

	// Sideband walks the records that are no samples, as Records does, for those who would
	// walk all of them for these; nil where Records is the only way. Samples is then how many
	// samples each event has, by its index.
	Sideband func() iter.Seq2[*Record, error]
	Samples  []uint64

	// Late says which rings begin late, by buffer.
	Late []*LateRings

	// Gaps says what is not in the records, once they have been walked; nil for nothing.
	Gaps func() Gaps

	// Records walks all records, in no more than one walk at a time, and ends with a
	// *TruncatedError where the recording ends early. The *Record is reused.
	Records func() iter.Seq2[*Record, error]
	// Close releases what the Source holds; nil for nothing.
	Close func() error
}

// LateRings are rings of which the oldest events were overwritten, each up to a time of its own:
// before that, what happened on its CPU is not known.
type LateRings struct {
	Buffer string // whose they are, as in the names of its events behind "@"; empty for the top one
	Any    bool   // nothing tells of which buffer they are

	From map[int32]uint64 // by CPU, ns: its first event
	// Tasks are those, by tid, that were on the same CPUs whenever all is known, and that often: from
	// when on that is known of these CPUs, ns.
	Tasks map[int32]uint64
}

// Last is the CPU whose ring begins last, and when that is; 0 where none is late.
func (l *LateRings) Last() (cpu int32, from uint64) {
	if l == nil {
		return -1, 0
	}
	for c, t := range l.From {
		if t > from || t == from && c < cpu {
			cpu, from = c, t
		}
	}
	return cpu, from
}

// Gaps says what a Source has that could not be made records of.
type Gaps struct {
	UnreadLines  uint64 // of text of no known form
	FirstUnread  uint64 // the number of the first of them, from 1
	CallEvent    string // the event that calls of functions are; empty for none
	UnendedCalls uint64 // calls whose end is not there
	UnbegunCalls uint64 // ends of calls whose begin is not there
	LostCalls    uint64 // calls whose end may be among what was lost
}

// NewSourceReader returns a reader of s. It can be walked as often as needed.
func NewSourceReader(s *Source) *Reader {
	r := &Reader{source: s, header: fileHeader{order: s.Order, version: 1, features: s.Features.Set()}, Features: s.Features}
	r.readFormats()
	r.Events = NewEventSet(s.Order, s.Events)
	r.nameEvents()
	return r
}

// Tracer reports whether the kernel's tracer made the recording, rather than perf or its like.
func (r *Reader) Tracer() bool { return r.source != nil && r.source.Tracer }

// Addressless reports whether the recording has names of functions alone, and addresses that
// only tell them apart.
func (r *Reader) Addressless() bool { return r.source != nil && r.source.Addressless }

// Duration reports whether the periods of an event's samples are ns that something took.
func (r *Reader) Duration(e *Event) bool {
	return r.source != nil && r.source.Duration != nil && r.source.Duration(e)
}

// Ticks reports whether times are ticks of a clock that does not count ns, and the name of that
// clock, if it is known.
func (r *Reader) Ticks() (clock string, ticks bool) {
	if r.source == nil {
		return "", false
	}
	return r.source.Clock, r.source.Ticks
}

// Ordered reports whether the records are known to be in the order of time.
func (r *Reader) Ordered() bool { return r.source != nil && r.source.Ordered }

// Late are the rings that begin late, by buffer.
func (r *Reader) Late() []*LateRings {
	if r.source == nil {
		return nil
	}
	return r.source.Late
}

// Sideband walks the records that are no samples, as Records does, and says how many samples
// each event has, by its index; both are nil where only Records can tell.
func (r *Reader) Sideband() (records iter.Seq2[*Record, error], samples []uint64) {
	if r.source == nil || r.source.Sideband == nil {
		return nil, nil
	}
	return r.source.Sideband(), r.source.Samples
}

// Gaps says what could not be made records of, once the records have been walked.
func (r *Reader) Gaps() Gaps {
	if r.source == nil || r.source.Gaps == nil {
		return Gaps{}
	}
	return r.source.Gaps()
}
