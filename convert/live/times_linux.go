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
// and OffCPU, are told as they end, each about a tenth of a second after that.
type Times struct {
	collector *Collector
	names     *symbolize.Symbolizer
	named     int // locations that have names
	to        func(*stacks.Set, []stacks.TimedSample) error
	stop      func()
	enough    bool
}

// NewTimes returns a Times of a session with these events, which begins now. Each round to gets
// those that ended, in the order in which they did, with names if o says so; they are valid while it
// runs. After listing.ErrStop, which it returns when it has seen enough, stop is called, and it is to
// end the session.
//
// What is kept for the labels and stacks of times stays within o.MaxMemory, which Profile's warnings
// tell of.
func NewTimes(events []abi.Event, kernel *symbols.Kernel, builds *symbols.BuildIDs, o convert.Options, to func(*stacks.Set, []stacks.TimedSample) error, stop func()) (*Times, error) {
	o.Times, o.SpanFields, o.Beside = true, true, false
	o.Labels |= replay.LabelTID
	t := &Times{to: to, stop: stop}
	if !o.Unnamed {
		so := o.Symbols
		so.RunningKallsyms = kernel.Running()
		t.names = symbolize.New(so)
	}
	o.Unnamed = true // by Profile
	t.collector = newCollector(events, kernel, builds, o)
	return t, t.collector.Check()
}

// Write takes whole records of one ring, in their order; b continues a.
func (t *Times) Write(a, b []byte) error {
	if t.enough {
		return nil
	}
	return t.collector.Write(a, b)
}

// FinishRound says that every ring has been drained once since the last call.
func (t *Times) FinishRound() error {
	if t.enough {
		return nil
	}
	if err := t.collector.FinishRound(); err != nil {
		return err
	}
	return t.tell(t.collector.TakeTimes())
}

// namingTime is how long the names of one round are looked for.
const namingTime = 2 * time.Second

// tell passes on times of a Set whose new locations get their names.
func (t *Times) tell(s *stacks.Set, list []stacks.TimedSample) error {
	if t.enough || len(list) == 0 {
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
	err := t.to(s, list)
	if errors.Is(err, listing.ErrStop) {
		t.enough = true
		t.stop()
		return nil
	}
	return err
}

// Finish tells of the times that are left, those that have not ended among them, and returns the
// profile of all, without names, whose Warnings and Empty say the rest. The header is what a file
// would say of the recording; lost is how many records the session knows to be lost.
func (t *Times) Finish(ctx context.Context, header *perfdata.Features, lost uint64) (*convert.Profile, error) {
	p, err := t.collector.Profile(ctx, header, lost)
	if err == nil {
		err = t.tell(p.Set, p.Set.TimedSamples)
	}
	if t.names != nil {
		err = errors.Join(err, t.names.Close())
	}
	return p, err
}
