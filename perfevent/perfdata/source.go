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

	// Tracer says that the kernel's tracer recorded it, by whose habits it is shown.
	Tracer bool

	// Records walks all records, in no more than one walk at a time, and ends with a
	// *TruncatedError where the recording ends early. The *Record is reused.
	Records func() iter.Seq2[*Record, error]
	// Close releases what the Source holds; nil for nothing.
	Close func() error
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
