package locate

import (
	"kprof/convert/stacks"
	"kprof/convert/timeline"
)

// maxLocations bounds the different locations that are told apart, and half as many
// more as look-ups found one that was known: a recording may consist of addresses
// that it has once each, where an honest one comes back to them. (In that of a whole
// machine, 1.5 million samples, each of 370,000 locations is looked for five times.)
// Others are one location for each kind, without a name.
const maxLocations = 1 << 19

type locationKey struct {
	obj  int32 // or timeline.NoObject, or what private says
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

// key is what tells the location of an origin from others.
func (l *Locator) key(o origin) locationKey {
	key := locationKey{timeline.NoObject, o.kind, o.addr}
	if o.area != nil {
		key.obj = o.area.Object
		obj := l.tl.Object(key.obj)
		key.kind = obj.Kind
		if obj.Size > 0 { // a dump: another process may have one of the same path
			key.obj = l.privateTo(o.area.PID, key.obj)
		}
		switch {
		case key.kind.ByOffset():
			key.addr = o.addr - o.area.Start + o.area.Offset
		case key.kind == stacks.KindAnon:
			key.obj = l.privateTo(o.area.PID, key.obj)
		}
	}
	return key
}

// intern returns the location of an origin, which it makes if it is new.
func (l *Locator) intern(o origin, key locationKey) uint32 {
	l.asked++
	at, loc, known := l.locs.find(key)
	if known {
		l.again++
		return loc
	}
	if uint64(l.locs.n) >= maxLocations+l.again/2 {
		return l.anyOf(key.kind)
	}
	mapping, addr := int32(stacks.NoMapping), o.addr
	if o.area != nil {
		if mapping = l.mapping(o.area, key); mapping < 0 {
			return l.anyOf(key.kind)
		}
		if key.kind.ByOffset() {
			m := &l.set.Mappings[mapping]
			addr = m.Start + (key.addr - m.Offset)
		}
	}
	loc = l.set.AddLocation(mapping, addr, key.kind)
	l.locs.put(at, key, loc)
	if mapping < 0 {
		l.stats.UnmappedFrames++
	}
	return loc
}

// anyOf returns the location that all further ones of a kind share.
func (l *Locator) anyOf(kind stacks.Kind) uint32 {
	l.stats.OverflowFrames++
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
func (l *Locator) isFurther(loc uint32) bool {
	return loc >= l.firstFurther && l.stats.OverflowFrames > 0 && l.further[l.set.Locations[loc].Kind] == loc
}

// privateTo returns the number of an object that only the process pid has. All
// are below timeline.NoObject.
func (l *Locator) privateTo(pid, obj int32) int32 {
	key := privateKey{obj, pid}
	n, ok := l.private[key]
	if !ok {
		n = timeline.NoObject - 1 - int32(len(l.private))
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
func (l *Locator) mapping(a *timeline.Area, key locationKey) int32 {
	o := l.tl.Object(a.Object)
	if o.Size > 0 {
		a = &timeline.Area{End: o.Size, Object: a.Object, PID: a.PID}
	}
	s := segment{off: a.Start, size: a.End - a.Start}
	if o.Kind.ByOffset() {
		s.off = a.Offset
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
	s.mapping = l.set.AddMapping(l.tl.Mapping(a))
	if len(segments) < maxSegments {
		l.segments[key.obj] = append(segments, s)
	} else {
		l.others[other] = s.mapping
	}
	return s.mapping
}
