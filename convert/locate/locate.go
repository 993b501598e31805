// Package locate finds the locations of samples in a Set of stacks.
//
// A location is a place in the code of a file, whichever process it was seen in: so
// stacks of one program are equal in all processes that run it. A sample, with the state
// of its task, goes in; the numbers of its locations come out:
//
//	sample ──► callchain, or a walk over the copy of its stack ──► addresses
//	address + View ──► cache ──► Timeline.Find ──► key ──► table ──► location
package locate

import (
	"math"

	"kprof/convert/intern"
	"kprof/convert/samples"
	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
)

// Locator turns the addresses of samples into locations of a Set. User locations are
// told apart by file and offset, not by process; kernel ones by address; those
// of anonymous memory by process and address.
type Locator struct {
	tl  *timeline.Timeline
	set *stacks.Set

	locs     locationTable
	segments map[int32][]segment // of each object, the first of them
	others   map[otherSegment]int32
	private  map[privateKey]int32
	cache    []cached
	missed   []missed  // not complete yet
	chained  []uint64  // what calls returned
	withLeaf []uint64  // what withLeafCaller did
	views    views     // of the sample at hand
	exact    bool      // callchains hold addresses of calls
	unwind   *unwinder // nil for none

	asked        uint64 // look-ups that the cache did not answer
	again        uint64 // of these, of a location that was known
	further      map[stacks.Kind]uint32
	firstFurther uint32
	stats        Stats
	depths       []depth // by event
}

// Options say how stacks are found. The zero value takes callchains as they are.
type Options struct {
	// CallersExact says that callchains hold the addresses of calls, not the return
	// addresses behind them.
	CallersExact bool
	// Unwind walks the copies of stacks; nil leaves these samples the function
	// that ran.
	Unwind *Unwind
}

// Stats is what was seen of the stacks of samples.
type Stats struct {
	UnmappedFrames  uint64 // distinct addresses that no mapping covers
	OverflowFrames  uint64 // frames whose address is not told from others, as there are too many
	UnwalkedStacks  uint64 // samples with a copy of the user's stack, which Options.Unwind was needed for, or a machine that it knows
	TruncatedStacks uint64 // samples whose copy could not be walked to its end
	Cut             []Cut  // one entry for each depth
}

// origin is where a location was first seen.
type origin struct {
	area *timeline.Area // nil: nothing mapped there
	kind stacks.Kind
	addr uint64 // run-time
}

// cached remembers the location of an address in a state of a space.
type cached struct {
	addr  uint64
	state uint64 // serial and epoch
	loc   uint32
	used  bool
}

// missed is an address that was not in the cache, and is still to be located.
type missed struct {
	at     int // index of its location
	entry  *cached
	state  uint64 // of its view
	origin origin
	key    locationKey
}

const cacheBits = 15

// New returns a Locator that adds locations to set, which nobody else adds any to.
func New(tl *timeline.Timeline, set *stacks.Set, opts Options) *Locator {
	l := &Locator{
		tl: tl, set: set, exact: opts.CallersExact,
		locs:     newLocationTable(),
		segments: map[int32][]segment{},
		others:   map[otherSegment]int32{},
		private:  map[privateKey]int32{},
		cache:    make([]cached, 1<<cacheBits),

		firstFurther: math.MaxUint32,
	}
	if opts.Unwind != nil {
		l.unwind = newUnwinder(opts.Unwind, l)
	}
	return l
}

// Append appends the locations of a sample's stack to locs, leaf first: of its callchain,
// or of its address where it has none. They are valid once Complete has been called; what
// is appended must stay where it is in locs until then.
func (l *Locator) Append(locs []uint32, s *samples.Sample) []uint32 {
	e, views, from := s.Event, &l.views, len(locs)
	views.of(l.tl, &s.State)
	n := branchesFrom(e, &s.Sample)
	chain := s.Callchain
	if n < 0 && s.HasChain {
		chain = l.calls(s)
	}
	switch {
	case !s.HasChain:
	case n >= 0:
		l.seeDepth(e, s.Callchain[:n])
	default:
		l.seeDepth(e, s.Callchain)
	}
	switch {
	case n < 0 && copiesStack(e, &s.Sample):
		locs = l.copied(locs, e, &s.Sample)
	case !s.HasChain:
	case n >= 0:
		locs = l.chain(locs, s.Misc, s.Callchain[:n], views)
		locs = l.branches(locs, s.Callchain[n+1:], s.Branches, views)
	default:
		locs = l.chain(locs, s.Misc, l.withLeafCaller(s, chain), views)
	}
	if len(locs) == from && (s.IP != 0 || e.Attr.SampleType&abi.SampleIP != 0 && (e.Attr.Type != abi.TypeTracepoint || !s.HasChain)) {
		ip := s.IP
		if fn, caller, ok := l.function(s); ok && caller != 0 {
			ip = fn
		}
		locs = append(locs, l.at(views.at(timeline.ModeOf(s.Misc)), ip))
	}
	return locs
}

// AppendIP appends the location of a sample's own address to locs, which is valid at once.
func (l *Locator) AppendIP(locs []uint32, s *samples.Sample) []uint32 {
	l.views.of(l.tl, &s.State)
	return append(locs, l.at(l.views.at(timeline.ModeOf(s.Misc)), s.IP))
}

// Complete makes all locations in locs valid that Append has appended to it since it was
// last called. It is to be called before the Timeline changes.
func (l *Locator) Complete(locs []uint32) {
	l.locate(locs, l.missed)
	l.missed = l.missed[:0]
}

// Stats is what was seen of the stacks.
func (l *Locator) Stats() Stats {
	s := l.stats
	s.Cut = l.cut()
	return s
}

// entry returns where the location of addr is cached, and whether it is there.
func (l *Locator) entry(v *timeline.View, addr uint64) (*cached, bool) {
	h := (addr ^ v.ID*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd
	c := &l.cache[h>>(64-cacheBits)]
	return c, c.addr == addr && c.state == v.ID && c.used
}

// at returns the location of addr.
func (l *Locator) at(v *timeline.View, addr uint64) uint32 {
	c, ok := l.entry(v, addr)
	if !ok {
		o := l.origin(v, addr)
		loc := l.intern(o, l.key(o))
		*c = cached{addr, v.ID, loc, !l.isFurther(loc)}
		return loc
	}
	return c.loc
}

// origin looks addr up.
func (l *Locator) origin(v *timeline.View, addr uint64) origin {
	o := origin{kind: v.Kind, addr: addr}
	o.area = l.tl.Find(v, addr)
	if o.area == nil && v.Kind == stacks.KindKernel {
		// Code outside the range that was recorded for the kernel: its init
		// text, or a module that was never announced. kallsyms may know it. But an
		// address of the user's half, to which the processor's sampling may skid
		// before the mode does, is none of the kernel's.
		if image := l.tl.KernelImage(); image != nil && addr>>63 == image.Start>>63 {
			o.area = image
		}
	}
	return o
}

// locateGroup is how many look-ups in the table of locations wait for memory
// together, which is most of what they do.
const locateGroup = intern.Group

// locate fills in locations that were missed.
func (l *Locator) locate(locs []uint32, all []missed) {
	for len(all) > 0 {
		group := all[:min(locateGroup, len(all))]
		all = all[len(group):]
		l.locs.fetch(group)
		for i := range group {
			m := &group[i]
			locs[m.at] = l.intern(m.origin, m.key)
			*m.entry = cached{m.origin.addr, m.state, locs[m.at], !l.isFurther(locs[m.at])}
		}
	}
}
