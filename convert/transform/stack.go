package transform

import (
	"encoding/binary"
	"slices"
	"strings"

	"kprof/convert/calltree"
	"kprof/convert/stacks"
)

// frame is a frame of a stack on its way through the steps.
type frame struct {
	at   int32  // its place among the locations of the stack, which tells calls of one apart
	loc  uint32 // location, or number of a step that made it
	line uint32 // which function of the location
	name uint32
	made bool // by a step, of several
	tag  bool
}

// applier does the steps to stacks.
type applier struct {
	set   *stacks.Set
	steps []Transform
	tags  func(uint32) bool
	of    *stacks.Names
	names []string // those of the Set, "[unknown]", then one for each step, for Collapse
	name  []uint32 // by index into names: the first that reads the same

	matches [][]bool // by step: of names; nil of Collapse
	inside  [][]bool // by step: of locations that are in what it collapses; nil of others
	left    []int    // by step: stacks behind it
	made    []uint32 // by step: the location of what it collapses, plus 1
	parts   map[string]uint32
	frames  []frame
	locs    []uint32
}

func newApplier(s *stacks.Set, steps []Transform, tags func(uint32) bool) *applier {
	a := &applier{set: s, steps: steps, tags: tags, of: s.Names(), parts: map[string]uint32{}, left: make([]int, len(steps)), made: make([]uint32, len(steps))}
	a.names = append(slices.Clone(a.of.Names), "[unknown]")
	for i, name := range a.names {
		if a.names[i] = strings.ToValidUTF8(name, "\uFFFD"); name == "" {
			a.names[i] = "[unknown]"
		}
	}
	for _, t := range steps {
		name := t.Text
		if !strings.HasPrefix(name, "[") {
			name = "[" + name + "]"
		}
		a.names = append(a.names, name)
	}
	first := make(map[string]uint32, len(a.names))
	for i, name := range a.names {
		id, known := first[name]
		if !known {
			id = uint32(i)
			first[name] = id
		}
		a.name = append(a.name, id)
	}
	for _, t := range steps {
		var matches, inside []bool
		if t.Op == Collapse {
			inside = a.insideOf(t.Text)
		} else {
			matches = make([]bool, len(a.names))
			for i, name := range a.names {
				if t.Op == pruned {
					matches[i] = t.prunes(name)
				} else {
					matches[i] = t.names.MatchString(name)
				}
			}
		}
		a.matches, a.inside = append(a.matches, matches), append(a.inside, inside)
	}
	return a
}

// insideOf tells of each location whether it is in a mapping.
func (a *applier) insideOf(mapping string) []bool {
	inside := make([]bool, len(a.set.Locations))
	for i := range inside {
		l := &a.set.Locations[i]
		if mapping != Kernel {
			inside[i] = l.Mapping >= 0 && baseName(a.set.Mappings[l.Mapping].File) == mapping
			continue
		}
		names := a.of.Of(uint32(i))
		inside[i] = calltree.InKernel(l, a.names[names[len(names)-1]])
	}
	return inside
}

// stack is what the steps make of a stack, false for nothing.
func (a *applier) stack(own []uint32) ([]uint32, bool) {
	a.frames = a.frames[:0]
	for i, loc := range slices.Backward(own) {
		names := a.of.Of(loc)
		tag := a.tags != nil && a.tags(loc)
		for j, name := range slices.Backward(names) {
			a.frames = append(a.frames, frame{at: int32(i), loc: loc, line: uint32(j), name: a.name[name], tag: tag})
		}
	}
	if len(own) == 0 {
		a.frames = append(a.frames, frame{at: -1, name: a.name[len(a.of.Names)]})
	}
	for i := range a.steps {
		if !a.step(i) {
			return nil, false
		}
		a.left[i]++
	}
	return a.locations(), true
}

// step does one step to the frames, and returns false where it drops the stack.
func (a *applier) step(i int) bool {
	matches := a.matches[i]
	hit := func(f frame) bool { return matches[f.name] && !f.tag }
	switch a.steps[i].Op {
	case Focus:
		return slices.ContainsFunc(a.frames, func(f frame) bool { return matches[f.name] })
	case Ignore:
		return !slices.ContainsFunc(a.frames, func(f frame) bool { return matches[f.name] })
	case ShowFrom:
		first := slices.IndexFunc(a.frames, hit)
		a.keep(func(j int) bool { return j >= first })
		return first >= 0
	case ShowTo:
		last := -1
		for j, f := range a.frames {
			if hit(f) {
				last = j
			}
		}
		a.keep(func(j int) bool { return j <= last })
		return last >= 0
	case Hide:
		a.keep(func(j int) bool { return !matches[a.frames[j].name] })
	case Show:
		a.keep(func(j int) bool { return matches[a.frames[j].name] })
	case pruned:
		other := slices.IndexFunc(a.frames, func(f frame) bool { return !hit(f) && !f.tag })
		if other < 0 {
			return true
		}
		if first := slices.IndexFunc(a.frames[other:], hit); first >= 0 {
			a.keep(func(j int) bool { return j < other+first })
		}
	case CollapseRecursion:
		a.collapseRecursion(hit)
	case Collapse:
		a.collapse(i)
	}
	return true
}

// keep keeps the frames of labels, and the others that want wants by their place.
func (a *applier) keep(want func(int) bool) {
	n := 0
	for j, f := range a.frames {
		if f.tag || want(j) {
			a.frames[n] = f // not in front of what is looked at
			n++
		}
	}
	a.frames = a.frames[:n]
}

// collapseRecursion goes back, at a call of a function that is there already, to its first
// call.
func (a *applier) collapseRecursion(hit func(frame) bool) {
	out := a.frames[:0]
	for _, f := range a.frames {
		if hit(f) {
			if up := slices.IndexFunc(out, func(o frame) bool { return o.name == f.name && !o.tag }); up >= 0 {
				out = out[:up+1]
				continue
			}
		}
		out = append(out, f)
	}
	a.frames = out
}

func (a *applier) collapse(i int) {
	out := a.frames[:0]
	in := false // the frame before is one of those
	for _, f := range a.frames {
		inside := !f.made && !f.tag && f.at >= 0 && a.inside[i][f.loc]
		switch {
		case !inside:
			out = append(out, f)
		case !in:
			if a.made[i] == 0 {
				a.made[i] = a.makeLocation(i, f.loc) + 1
			}
			out = append(out, frame{at: f.at, loc: uint32(i), name: a.name[len(a.of.Names)+1+i], made: true})
		}
		in = inside
	}
	a.frames = out
}

// makeLocation adds a location for what a step collapses, of the kind of one of them.
func (a *applier) makeLocation(i int, of uint32) uint32 {
	loc := a.set.AddLocation(stacks.NoMapping, 0, a.set.Locations[of].Kind)
	name := a.names[len(a.of.Names)+1+i]
	a.set.SetLines(loc, stacks.Line{Function: a.set.AddFunction(stacks.Function{Name: name, SystemName: name})})
	return loc
}

// locations are those of the frames, leaf first. Where only some of the functions at one are
// left, there is another one that has these.
func (a *applier) locations() []uint32 {
	a.locs = a.locs[:0]
	for end := len(a.frames); end > 0; {
		f := a.frames[end-1]
		from := end - 1
		if f.made {
			a.locs = append(a.locs, a.made[f.loc]-1)
			end = from
			continue
		}
		for from > 0 && a.frames[from-1].at == f.at && !a.frames[from-1].made {
			from--
		}
		if f.at >= 0 {
			a.locs = append(a.locs, a.part(f.loc, a.frames[from:end]))
		}
		end = from
	}
	return a.locs
}

// part is the location with these of another's functions, outermost first.
func (a *applier) part(loc uint32, frames []frame) uint32 {
	if len(frames) == len(a.of.Of(loc)) {
		return loc
	}
	key := binary.LittleEndian.AppendUint32(nil, loc)
	var lines []stacks.Line
	for _, f := range slices.Backward(frames) {
		key = binary.LittleEndian.AppendUint32(key, f.line)
		lines = append(lines, a.set.Lines(loc)[f.line])
	}
	part, known := a.parts[string(key)]
	if !known {
		l := a.set.Locations[loc]
		part = a.set.AddLocation(l.Mapping, l.Addr, l.Kind)
		a.set.SetLines(part, lines...)
		a.parts[string(key)] = part
	}
	return part
}
