package listing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"kprof/convert"
	"kprof/convert/locate"
	"kprof/convert/naming"
	"kprof/convert/payload"
	"kprof/convert/replay"
	"kprof/convert/samples"
	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/perfdata"
	"kprof/symbolize"
)

// Options say which events to list. The zero value lists all.
type Options struct {
	// Options say which samples to take and how to name addresses. Labels, Times, Value
	// and Wording are not for listings.
	convert.Options

	// Stacks asks for Event.Stack, the locations of the callchain.
	Stacks bool
	// Address says of which events Event.At is asked for, the location of the address
	// alone. It is asked once for each. Default: the Consumer's method of that name, which a
	// Printer has; none without one.
	Address func(*Kind) bool
	// Memory is how many bytes of records wait in memory for their turn before they go to
	// a temporary file; 0 is the default of package timeorder.
	Memory int
}

// Event is one event of a recording.
type Event struct {
	Sample *samples.Sample
	Kind   *Kind
	Period uint64
	Comm   string   // of its task, at its time
	Stack  []uint32 // locations in the Set that Settle gives, leaf first; nil unless asked for
	At     uint32   // location of Sample.IP, if asked for
}

// ErrStop, returned by a Consumer, ends a listing without an error.
var ErrStop = errors.New("enough events")

// Consumer takes the events of a listing. An error ends it.
type Consumer interface {
	// Event takes an event, which is valid until it returns; the numbers of locations
	// are good for longer.
	Event(*Event) error
	// Lost takes what the kernel said that it lost, in its place among the events.
	Lost(samples.Loss) error
	// Settle says that the locations of all events so far have in the Set the names that
	// are to be had. It is called often, and at the end.
	Settle(*stacks.Set) error
}

// Result is what was seen while listing.
type Result struct {
	Listed   uint64 // events that the Consumer got
	Stats    replay.Stats
	Warnings []convert.Warning // of what is not listed, or not as it should be
}

// maxUnnamed bounds the events, and maxLocations their locations, that wait for names.
const (
	maxUnnamed   = 1 << 15
	maxLocations = 1 << 19
)

// Lister makes Events of the samples of a recording.
type Lister struct {
	o    *Options
	from source
	to   Consumer

	tl       *timeline.Timeline
	selector *replay.Selector
	chosen   replay.Options
	formats  *payload.Formats
	where    *payload.Bound
	whereErr error
	kinds    []*Kind
	code     kernelCode

	set     *stacks.Set
	locator *locate.Locator
	locs    []uint32 // that wait for names
	named   int      // locations of the Set that have been named
	dumps   int      // JIT dumps that the Symbolizer knows

	event   Event
	values  expr.Sample
	unnamed int
	listed  uint64

	mu       sync.Mutex // of what follows
	sym      *symbolize.Symbolizer
	warnings []convert.Warning
}

// source is the recording of a Lister.
type source struct {
	events     *perfdata.EventSet
	features   *perfdata.Features
	simpleperf func() bool
	tracer     bool                     // that of the kernel recorded it
	nameOnly   bool                     // functions have names, and no addresses
	gaps       func() []convert.Warning // what is shown as none of the events; nil for nothing
	symbolizer func() (*symbolize.Symbolizer, []convert.Warning)
	unwind     func(files func() *symbolize.Symbolizer) *replay.Unwind
}

func newLister(from source, o *Options, to Consumer) *Lister {
	if c, ok := to.(interface{ Address(*Kind) bool }); ok && o.Address == nil {
		o.Address = c.Address
	}
	l := &Lister{o: o, from: from, to: to, chosen: o.Replay()}
	l.chosen.Where, l.chosen.Value = nil, nil // see matches
	return l
}

// begin takes the Timeline. What a recording says of itself, in pipe mode, is there when
// the first sample comes (see ready).
func (l *Lister) begin(tl *timeline.Timeline) {
	l.tl = tl
	l.selector = replay.NewSelector(tl, l.from.events, &l.from.features.Host, &l.chosen)
}

// ready makes what takes the head of the recording.
func (l *Lister) ready() {
	if l.formats != nil {
		return
	}
	var err error
	if l.formats, err = payload.Decode(l.from.features.TracingData); err != nil {
		l.warn(convert.Warning{Kind: convert.UnreadFormats, Err: err})
	}
	l.formats.Arch = l.from.features.Arch
	if l.o.Where != nil {
		l.where = l.formats.Bind(l.o.Where)
		l.whereErr = l.where.Check(l.taken())
	}
}

// locations is made when the first location is needed.
func (l *Lister) locations() *locate.Locator {
	if l.locator == nil {
		exact := l.from.simpleperf()
		l.set = stacks.New()
		l.set.CallersExact = exact
		l.locator = locate.New(l.tl, l.set, locate.Options{CallersExact: exact, Unwind: l.from.unwind(l.symbolizer)})
	}
	return l.locator
}

// taken are the events that are to be listed.
func (l *Lister) taken() []*perfdata.Event {
	var all []*perfdata.Event
	for _, e := range l.from.events.Events {
		if l.selector.Chosen(e) && !isDummy(e) {
			all = append(all, e)
		}
	}
	return all
}

func isDummy(e *perfdata.Event) bool {
	return e.Attr.Type == abi.TypeSoftware && e.Attr.Config == abi.SWDummy
}

func (l *Lister) warn(w convert.Warning) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings = append(l.warnings, w)
}

// symbolizer is made when it is first needed, by whichever goroutine.
func (l *Lister) symbolizer() *symbolize.Symbolizer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sym == nil {
		var warnings []convert.Warning
		l.sym, warnings = l.from.symbolizer()
		l.warnings = append(l.warnings, warnings...)
	}
	return l.sym
}

// take makes events of a sample: one, or one for each counter that it read.
func (l *Lister) take(s *samples.Sample) error {
	l.ready()
	if l.whereErr != nil {
		return l.whereErr
	}
	comm := ""
	located := false
	for _, c := range s.Counts {
		taken, err := l.selector.Takes(s, c.Event)
		if err != nil {
			return err
		}
		if !taken {
			continue
		}
		k := l.kind(c.Event)
		if comm == "" {
			comm = l.tl.Comm(s.State.Name, s.TID)
		}
		if k.program != nil && !l.matches(k, s, comm) {
			continue
		}
		e := &l.event
		if !located {
			*e = Event{Sample: s, Comm: comm, Kind: k}
			l.locate(e, s)
			located = true
		}
		e.Kind, e.Period = k, c.Period
		l.listed++
		if err := l.to.Event(e); err != nil {
			return err
		}
	}
	if l.unnamed >= maxUnnamed || len(l.locs) >= maxLocations {
		return l.settle()
	}
	return nil
}

// matches evaluates the condition on an event.
func (l *Lister) matches(k *Kind, s *samples.Sample, comm string) bool {
	payload.Fill(&l.values, &s.Sample, &k.Event.Attr)
	l.values.Comm = comm
	switch k.program.Match(&l.values) {
	case expr.Yes:
		k.matched++
		return true
	case expr.Unknown:
		k.unknown++
	}
	return false
}

// locate finds the locations of an event.
func (l *Lister) locate(e *Event, s *samples.Sample) {
	if e.Kind.address {
		l.unnamed++
		var at [1]uint32
		e.At = l.locations().AppendIP(at[:0], s)[0]
	}
	if l.o.Stacks && s.HasChain {
		l.unnamed++
		from := len(l.locs)
		l.locs = l.locations().Append(l.locs, s)
		// What is missed in the cache is found at once: a Consumer keeps the numbers.
		l.locator.Complete(l.locs)
		e.Stack = l.locs[from:]
	}
}

// settle names the locations of the events so far.
func (l *Lister) settle() error {
	if l.set != nil && l.named < len(l.set.Locations) && !l.o.Unnamed {
		if err := l.name(context.Background()); err != nil {
			return err
		}
	}
	l.unnamed, l.locs = 0, l.locs[:0]
	return l.to.Settle(l.set)
}

// namingTime is how long names of one turn are looked for by default.
const namingTime = 2 * time.Minute

// name names new locations. A file of the kernel that was given and is of no use is an error.
func (l *Lister) name(ctx context.Context) error {
	sym := l.symbolizer()
	for dumps := l.tl.JITDumps(); l.dumps < len(dumps); l.dumps++ {
		sym.AddJITDump(dumps[l.dumps].PID, dumps[l.dumps].Path)
	}
	replay.SetBuildIDs(l.set, l.from.features.BuildIDs)
	naming.RecordedFrom(l.set, l.named, l.from.features.FileSymbols, symbolize.DemangleSimple)
	begin := l.o.Naming
	if begin == nil {
		begin = func(ctx context.Context) (context.Context, func()) {
			return context.WithTimeoutCause(ctx, namingTime, fmt.Errorf("it took longer than %v", namingTime))
		}
	}
	untilEnded, end := begin(ctx)
	missing, err := naming.NameFrom(untilEnded, l.set, l.named, sym)
	if err != nil {
		l.warn(convert.Warning{Kind: convert.NamingEnded, Err: context.Cause(untilEnded)})
	}
	end()
	l.named = len(l.set.Locations)
	return naming.Given(missing)
}

// close releases what naming took.
func (l *Lister) close() error {
	if l.sym == nil {
		return nil
	}
	return l.sym.Close()
}
