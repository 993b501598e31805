package live

import (
	"errors"

	"kprof/convert/listing"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/record/symbols"
	"kprof/symbolize"
)

// Listing is the record.Sink of a session whose events are listed while it runs, in the
// order of time, each about a tenth of a second after it happened. It takes what the rings
// hold and lists it in a goroutine of its own: where that is slower than the events come,
// the rings fill, and the kernel says what it lost, in its place.
type Listing struct {
	*aside
	stream *listing.Stream
}

// NewListing returns a Listing of a session with these events, described by a header such
// as a file would have: its tracing data must be there. The kernel's symbols name code; nil
// leaves it without names. stop is called when the consumer has seen enough, and is to end
// the session. An event that is asked for and not there, or a mistake in the condition, is
// an error.
func NewListing(events []abi.Event, header *perfdata.Features, kernel *symbols.Kernel, o listing.Options, to listing.Consumer, stop func()) (*Listing, error) {
	so := o.Symbols
	if kernel != nil {
		so.RunningKallsyms = kernel.Running()
	}
	l := &Listing{stream: listing.NewStream(events, header, symbolize.New(so), o, to)}
	if err := l.stream.Check(); err != nil {
		return nil, errors.Join(err, l.stream.Close())
	}
	l.aside = newAside(l.stream, stop)
	return l, nil
}

// Finish lists what is held back, and returns what was seen, as listing.Read does.
func (l *Listing) Finish() (*listing.Result, error) {
	res, err := l.stream.Finish(l.end())
	return res, errors.Join(err, l.stream.Close())
}
