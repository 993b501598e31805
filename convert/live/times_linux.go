package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/convert/naming"
	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/record/symbols"
	"kprof/symbolize"
)

// Times is the record.Sink of a session whose times between events, of convert.Options.Spans
// and OffCPU, are told as they end, each about a tenth of a second after that, by a goroutine of its
// own, as a Listing does it.
type Times struct {
	*aside
	times *times
}

// times is what the goroutine passes records to.
type times struct {
	*Collector
	names *symbolize.Symbolizer
	named int // locations that have names
	to    func(*stacks.Set, []stacks.TimedSample) error
}

// NewTimes returns a Times of a session with these events, which begins now. Each round to gets
// those that ended, in the order in which they did, with names if o says so; they are valid while it
// runs. When it returns an error, such as listing.ErrStop where it has seen enough, stop is called, which
// is to end the session.
//
// What is kept for the labels and stacks of times stays within o.MaxMemory, which Profile's warnings
// tell of.
func NewTimes(events []abi.Event, kernel *symbols.Kernel, builds *symbols.BuildIDs, o convert.Options, to func(*stacks.Set, []stacks.TimedSample) error, stop func()) (*Times, error) {
	o.Times, o.SpanFields, o.Beside = true, true, false
	o.Labels |= replay.LabelTID
	t := &times{to: to}
	if !o.Unnamed {
		so := o.Symbols
		so.RunningKallsyms = kernel.Running()
		t.names = symbolize.New(so)
	}
	o.Unnamed = true // by Profile
	t.Collector = newCollector(events, kernel, builds, o)
	if err := t.Check(); err != nil {
		return nil, err
	}
	return &Times{newAside(t, stop), t}, nil
}

// FinishRound tells of what ended in the round.
func (t *times) FinishRound() error {
	if err := t.Collector.FinishRound(); err != nil {
		return err
	}
	return t.tell(t.TakeTimes())
}

// namingTime is how long the names of one round are looked for.
const namingTime = 2 * time.Second

// tell passes on times of a Set whose new locations get their names.
func (t *times) tell(s *stacks.Set, list []stacks.TimedSample) error {
	if len(list) == 0 {
		return nil
	}
	if t.names != nil && t.named < len(s.Locations) {
		ctx, end := context.WithTimeoutCause(context.Background(), namingTime, fmt.Errorf("it took longer than %v", namingTime))
		missing, _ := naming.NameFrom(ctx, s, t.named, t.names)
		end()
		t.named = len(s.Locations)
		if err := naming.Given(missing); err != nil {
			return err
		}
	}
	return t.to(s, list)
}

// Finish tells of the times that are left, those that have not ended among them, and returns the
// profile of all, without names, whose Warnings and Empty say the rest. The header is what a file
// would say of the recording; lost is how many records the session knows to be lost.
func (t *Times) Finish(ctx context.Context, header *perfdata.Features, lost uint64) (*convert.Profile, error) {
	ended := t.end()
	p, err := t.times.Profile(ctx, header, lost)
	if err == nil && ended == nil {
		ended = t.times.tell(p.Set, p.Set.TimedSamples)
	}
	if !errors.Is(ended, listing.ErrStop) {
		err = errors.Join(ended, err)
	}
	if t.times.names != nil {
		err = errors.Join(err, t.times.names.Close())
	}
	return p, err
}
