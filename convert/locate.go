package convert

import (
	"math"
	"slices"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// locator turns addresses of samples into locations of a Set. User locations are
// told apart by file and offset, not by process; kernel ones by address; those
// of anonymous memory by process and address.
type locator struct {
	tl  *timeline
	set *stacks.Set

	locs     locationTable
	segments map[int32][]segment // of each object, the first of them
	others   map[otherSegment]int32
	private  map[privateKey]int32
	unmapped uint64 // locations where nothing is mapped
	cache    []cached
	missed   []missed // of the sample at hand

	asked        uint64 // look-ups that the cache did not answer
	again        uint64 // of these, of a location that was known
	further      map[stacks.Kind]uint32
	firstFurther uint32
	beyond       uint64 // frames at one of further
}

// maxLocations bounds the different locations that are told apart, and half as many
// more as look-ups found one that was known: a recording may consist of addresses
// that it has once each, where an honest one comes back to them. (In that of a whole
// machine, 1.5 million samples, each of 370,000 locations is looked for five times.)
// Others are one location for each kind, without a name.
const maxLocations = 1 << 19

type locationKey struct {
	obj  int32 // or noObject, or what private says
	kind stacks.Kind
	addr uint64 // offset in the file, or run-time address
}

// privateKey tells anonymous memory of one process from that of all others.
type privateKey struct{ obj, pid int32 }

// segment is a part of an object that has a mapping in the Set.
type segment struct {
	mapping   int32
	off, size uint64
}

// otherSegment is one that is looked for only by its bounds.
type otherSegment struct {
	obj       int32
	off, size uint64
}

// maxSegments bounds the segments of an object that are looked through. Few have
// more: memory whose code is made at run time.
const maxSegments = 64

// origin is where a location was first seen.
type origin struct {
	area *area // nil: nothing mapped there
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

func newLocator(tl *timeline, set *stacks.Set) *locator {
	return &locator{
		tl: tl, set: set,
		locs:     newLocationTable(),
		segments: map[int32][]segment{},
		others:   map[otherSegment]int32{},
		private:  map[privateKey]int32{},
		cache:    make([]cached, 1<<cacheBits),

		firstFurther: math.MaxUint32,
	}
}

// entry returns where the location of addr is cached, and whether it is there.
func (l *locator) entry(v *view, addr uint64) (*cached, bool) {
	h := (addr ^ v.state*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd
	c := &l.cache[h>>(64-cacheBits)]
	return c, c.addr == addr && c.state == v.state && c.used
}

// at returns the location of addr.
func (l *locator) at(v *view, addr uint64) uint32 {
	c, ok := l.entry(v, addr)
	if !ok {
		o := l.origin(v, addr)
		loc := l.intern(o, l.key(o))
		*c = cached{addr, v.state, loc, !l.isFurther(loc)}
		return loc
	}
	return c.loc
}

// origin looks addr up.
func (l *locator) origin(v *view, addr uint64) origin {
	o := origin{kind: v.kind, addr: addr}
	if v.space != nil {
		o.area = l.tl.area(v.space, addr, v.time)
	}
	if o.area == nil && v.kind == stacks.KindKernel {
		// Code outside the range that was recorded for the kernel: its init
		// text, or a module that was never announced. kallsyms may know it.
		o.area = l.tl.kernelImage()
	}
	return o
}

// locateGroup is how many look-ups in the table of locations wait for memory
// together, which is most of what they do.
const locateGroup = 16

// locate fills in locations that were missed.
func (l *locator) locate(locs []uint32, all []missed) {
	for len(all) > 0 {
		group := all[:min(locateGroup, len(all))]
		all = all[len(group):]
		for i := range group {
			l.locs.fetch(group[i].key)
		}
		for i := range group {
			m := &group[i]
			locs[m.at] = l.intern(m.origin, m.key)
			*m.entry = cached{m.origin.addr, m.state, locs[m.at], !l.isFurther(locs[m.at])}
		}
	}
}

// key is what tells the location of an origin from others.
func (l *locator) key(o origin) locationKey {
	key := locationKey{noObject, o.kind, o.addr}
	if o.area != nil {
		key.obj = o.area.obj
		key.kind = l.tl.objects.at(key.obj).kind
		switch {
		case byOffset(key.kind):
			key.addr = o.addr - o.area.start + o.area.off
		case key.kind == stacks.KindAnon:
			key.obj = l.privateTo(o.area.pid, key.obj)
		}
	}
	return key
}

// intern returns the location of an origin, which it makes if it is new.
func (l *locator) intern(o origin, key locationKey) uint32 {
	l.asked++
	slot, known := l.locs.find(key)
	if known {
		l.again++
		return l.locs.slots[slot].loc
	}
	if uint64(l.locs.used) >= maxLocations+l.again/2 {
		return l.anyOf(key.kind)
	}
	mapping, addr := int32(stacks.NoMapping), o.addr
	if o.area != nil {
		if mapping = l.mapping(o.area, key); mapping < 0 {
			return l.anyOf(key.kind)
		}
		if byOffset(key.kind) {
			m := &l.set.Mappings[mapping]
			addr = m.Start + (key.addr - m.Offset)
		}
	}
	loc := l.set.AddLocation(mapping, addr, key.kind)
	l.locs.put(slot, key, loc)
	if mapping < 0 {
		l.unmapped++
	}
	return loc
}

// anyOf returns the location that all further ones of a kind share.
func (l *locator) anyOf(kind stacks.Kind) uint32 {
	l.beyond++
	loc, ok := l.further[kind]
	if !ok {
		if l.further == nil {
			l.further = map[stacks.Kind]uint32{}
		}
		loc = l.set.AddLocation(stacks.NoMapping, 0, kind)
		l.further[kind] = loc
		l.firstFurther = min(l.firstFurther, loc)
	}
	return loc
}

// isFurther reports whether loc is one that many share. It is not cached, so that
// each frame at it is counted.
func (l *locator) isFurther(loc uint32) bool {
	return loc >= l.firstFurther && l.beyond > 0 && l.further[l.set.Locations[loc].Kind] == loc
}

// byOffset reports whether locations of a kind of object are told apart by their
// offset in it, because processes map it at different addresses.
func byOffset(k stacks.Kind) bool { return k == stacks.KindUser || k == stacks.KindVDSO }

// privateTo returns the number of an object that only the process pid has. All
// are below noObject.
func (l *locator) privateTo(pid, obj int32) int32 {
	key := privateKey{obj, pid}
	n, ok := l.private[key]
	if !ok {
		n = noObject - 1 - int32(len(l.private))
		l.private[key] = n
	}
	return n
}

// maxMappings bounds the mappings of a Set, and an eighth of the look-ups may have
// more. Locations in others are as those beyond maxLocations.
const maxMappings = 1 << 16

// mapping returns the Set's mapping for a location in an area: one that already
// covers it or has the bounds of the area, or a new one with them; NoMapping where
// there are too many.
func (l *locator) mapping(a *area, key locationKey) int32 {
	o := l.tl.objects.at(a.obj)
	if o.size > 0 {
		a = &area{end: o.size, obj: a.obj, pid: a.pid}
	}
	s := segment{off: a.start, size: a.end - a.start}
	if byOffset(o.kind) {
		s.off = a.off
	}
	segments := l.segments[key.obj]
	for _, have := range segments {
		if key.addr-have.off < have.size || have.off == s.off && have.size == s.size {
			return have.mapping
		}
	}
	other := otherSegment{key.obj, s.off, s.size}
	if have, ok := l.others[other]; ok {
		return have
	}
	if uint64(len(l.set.Mappings)) >= maxMappings+l.asked/8 {
		return stacks.NoMapping
	}
	s.mapping = l.set.AddMapping(l.tl.mapping(a))
	if len(segments) < maxSegments {
		l.segments[key.obj] = append(segments, s)
	} else {
		l.others[other] = s.mapping
	}
	return s.mapping
}

// mapping is an area as a Set has it.
func (tl *timeline) mapping(a *area) stacks.Mapping {
	o := tl.objects.at(a.obj)
	return stacks.Mapping{
		Start: a.start, Limit: a.end, Offset: a.off,
		File: tl.text(o.file), Symbol: tl.text(o.symbol), BuildID: tl.text(o.buildID), Kind: o.kind, PID: int(max(a.pid, 0)),
	}
}

// chain appends the locations of a sample's callchain, leaf first, but for those
// that it adds to l.missed. misc is the sample's.
//
// The first address of each stretch is an instruction that was interrupted; the
// others are return addresses, and the call lies before them.
func (l *locator) chain(dst []uint32, misc abi.Misc, chain []uint64, views *views) []uint32 {
	v := views.at(l, viewOf(misc))
	caller := false
	for i := 0; i < len(chain); i++ {
		addr := chain[i]
		if addr >= abi.ContextMax {
			switch addr {
			case abi.ContextHV:
				v = views.at(l, viewHypervisor)
			case abi.ContextKernel:
				v = views.at(l, viewKernel)
			case abi.ContextUser:
				v = views.at(l, viewUser)
			case abi.ContextGuest, abi.ContextGuestKernel:
				v = views.at(l, viewGuestKernel)
			case abi.ContextGuestUser:
				v = views.at(l, viewGuestUser)
			case abi.ContextUserDeferred:
				i++ // its cookie is no address
			default:
				i = len(chain) // no marker we know: what follows may be anything
			}
			caller = false
			continue
		}
		if caller && addr > 0 {
			addr--
		}
		if !caller && v == &views.views[viewUser] && viewOf(misc) == viewKernel {
			dst = append(dst, l.entered(addr, views))
		} else if c, ok := l.entry(v, addr); ok {
			dst = append(dst, c.loc)
		} else {
			o := l.origin(v, addr)
			l.missed = append(l.missed, missed{len(dst), c, v.state, o, l.key(o)})
			dst = append(dst, 0)
		}
		caller = true
	}
	return dst
}

// branchesFrom returns where in its callchain the user part of a sample begins, if
// the branches take its place, or -1: the processor kept them as a stack of calls
// (perf record --call-graph lbr), and there is a user part.
func branchesFrom(e *perfdata.Event, s *abi.Sample) int {
	if e.Attr.BranchSampleType&abi.BranchCallStack == 0 || len(s.Branches) == 0 {
		return -1
	}
	return slices.Index(s.Callchain, abi.ContextUser)
}

// branches appends the locations of a stack of calls, the last call first: where
// the program was, and where each call was made. These are addresses of calls, not
// of what comes behind them (perf's machine.c, lbr_callchain_add_lbr_ip). Where
// the program was is the first address of the user part that they take the place
// of, or, where the chain ends before it, where the last call went to. perf 6.1
// always has the latter, perf 7.3 the sample's address, which is one of the kernel
// if the sample is.
func (l *locator) branches(dst []uint32, user []uint64, calls []abi.Branch, views *views) []uint32 {
	v := views.at(l, viewUser)
	at := calls[0].To
	if len(user) > 0 {
		at = user[0]
	}
	if at < abi.ContextMax {
		dst = append(dst, l.at(v, at))
	}
	for i := range calls {
		if from := calls[i].From; from < abi.ContextMax {
			dst = append(dst, l.at(v, from))
		}
	}
	return dst
}

// entered returns the location of the user address at which a sample in the kernel
// entered it. Where nothing is mapped there now, it may be the call of execve(2) in
// the program that is no more, until that returns.
func (l *locator) entered(addr uint64, views *views) uint32 {
	loc := l.at(views.at(l, viewUser), addr)
	if l.set.Locations[loc].Mapping >= 0 {
		return loc
	}
	if old := views.at(l, viewBeforeExec); old.space != nil {
		if found := l.at(old, addr); l.set.Locations[found].Mapping >= 0 {
			return found
		}
	}
	return loc
}
