package diff

import (
	"maps"
	"slices"
)

// What makes cost moved: a function that one side does not have at all, or next
// to nothing of (vanished, by cum), whose callers changed the other way, so that
// at most remainder of its change is left when they are taken together.
const (
	vanished  = 0.02
	remainder = 0.25
)

// moved finds functions that were inlined on one side only, where that side does
// not tell, and marks them and those they were inlined into: first each with its callers,
// then groups, of all functions that vanished into common callers.
func (r *Result) moved(m *uncertain, d *data) {
	suspects := make(map[uint32]int) // by function, the side that has it
	for fn := range r.Functions {
		if side, ok := r.Functions[fn].onlyOn(); ok && r.Functions[fn].Self.Significant {
			suspects[uint32(fn)] = side
		}
	}
	if len(suspects) == 0 {
		return
	}
	group := newGroups(len(r.Functions))
	alone := make(map[uint32][]uint32)
	leaves := r.leaves(suspects)
	r.eachHost(suspects, func(fn, host uint32, between []uint32) {
		against := func(other uint32) bool {
			return (r.Functions[other].Self.Diff < 0) != (r.Functions[fn].Self.Diff < 0)
		}
		if against(host) {
			for _, f := range append(between, host) {
				group.join(fn, f)
				if !slices.Contains(alone[fn], f) {
					alone[fn] = append(alone[fn], f)
				}
			}
		}
		if r.Functions[host].Self.Significant {
			return
		}
		for _, leaf := range leaves[host] {
			if against(leaf) {
				group.join(fn, leaf)
			}
		}
	})
	taken := make(map[uint32]bool)
	for _, fn := range slices.Sorted(maps.Keys(alone)) {
		members := append([]uint32{fn}, alone[fn]...)
		if slices.ContainsFunc(members, func(x uint32) bool { return taken[x] }) || !r.evens(m, d, members, suspects) {
			continue
		}
		r.markMoved(members)
		for _, x := range members {
			taken[x] = true
		}
	}
	for _, members := range group.all() {
		members = slices.DeleteFunc(members, func(x uint32) bool { return taken[x] })
		if r.evens(m, d, members, suspects) {
			r.markMoved(members)
		}
	}
}

// evens tells whether some functions together cost themselves what they did, although
// suspects among them are on one side only.
func (r *Result) evens(m *uncertain, d *data, members []uint32, suspects map[uint32]int) bool {
	var change float64
	var others []uint32
	for _, fn := range members {
		if _, ok := suspects[fn]; ok {
			change += abs(r.Functions[fn].Self.Diff)
		} else {
			others = append(others, fn)
		}
	}
	if change == 0 {
		return false
	}
	rest := m.difference(d.together(members))
	if abs(rest.Diff) <= remainder*change && (r.Per != PerShare || movedShare(&rest, change)) {
		return true
	}
	// Or what is left is chance, and those that have it now changed by more than chance and
	// more than shares do when something else is added.
	left := min((rest.High-rest.Low)/2, change/2)
	into := m.difference(d.together(others))
	scaled := 0.0
	if r.Per == PerShare {
		scaled = change * max(into.Base, into.New)
	}
	return abs(rest.Diff) <= left && abs(into.Diff)-scaled > (into.High-into.Low)/2
}

// markMoved marks those of some functions that changed, with those that changed the other
// way.
func (r *Result) markMoved(members []uint32) {
	for _, fn := range members {
		f := &r.Functions[fn]
		if f.Verdict == Noise {
			continue
		}
		f.Verdict = Moved
		for _, other := range members {
			if o := &r.Functions[other]; o.Self.Significant && o.grew() != f.grew() {
				f.With = append(f.With, o.Name)
			}
		}
	}
}

// movedShare tells whether shares moved within a group. If a function is added or
// removed, the shares of all others shrink or grow alike, its callers' too, and if
// these have most of the total, the group has what it had. So what has no part in
// the change must be seen to keep its share.
func movedShare(group *Difference, change float64) bool {
	others := 1 - max(group.Base, group.New)
	half := (group.High - group.Low) / 2
	return abs(group.Diff)+half < others*change
}

// onlyOn tells which side alone has a function, but for remnants.
func (f *Function) onlyOn() (side int, ok bool) {
	switch base, new := f.Cum.Base, f.Cum.New; {
	case new <= vanished*base:
		return 0, true
	case base <= vanished*new:
		return 1, true
	}
	return 0, false
}

// eachHost calls yield with each suspect and a caller that it may be inlined into
// on the other side: the nearest that is there. Between them are functions that
// are not there either.
func (r *Result) eachHost(suspects map[uint32]int, yield func(fn, host uint32, between []uint32)) {
	r.eachStack(suspects, func(side int, fns []uint32, _ int64) {
		if at := suspects[fns[0]]; at != side {
			return
		}
		for n, caller := range fns[1:] {
			if at, only := r.Functions[caller].onlyOn(); !only || at != side {
				yield(fns[0], caller, fns[1:n+1])
				break
			}
		}
	})
}

// leaves returns for each function those that it calls, as leaves of stacks, whose
// self cost changed, suspects aside. A walk by frame pointers misses the caller of
// a function that sets up no frame of its own: what such a leaf is inlined into
// then looks like one called beside it.
func (r *Result) leaves(suspects map[uint32]int) map[uint32][]uint32 {
	changed := make(map[uint32]int)
	for fn := range r.Functions {
		if _, also := suspects[uint32(fn)]; !also && r.Functions[fn].Self.Significant {
			changed[uint32(fn)] = 0
		}
	}
	leaves := make(map[uint32][]uint32)
	r.eachStack(changed, func(_ int, fns []uint32, _ int64) {
		if len(fns) > 1 && !slices.Contains(leaves[fns[1]], fns[0]) {
			leaves[fns[1]] = append(leaves[fns[1]], fns[0])
		}
	})
	return leaves
}

// groups is a union of sets of functions.
type groups struct{ parent []uint32 }

func newGroups(n int) *groups {
	g := &groups{make([]uint32, n)}
	for i := range g.parent {
		g.parent[i] = uint32(i)
	}
	return g
}

func (g *groups) root(x uint32) uint32 {
	for g.parent[x] != x {
		g.parent[x] = g.parent[g.parent[x]]
		x = g.parent[x]
	}
	return x
}

// join makes one group of two; its root is the smallest member.
func (g *groups) join(a, b uint32) {
	a, b = g.root(a), g.root(b)
	g.parent[max(a, b)] = min(a, b)
}

// all returns the groups of more than one, by their smallest members.
func (g *groups) all() [][]uint32 {
	at := make(map[uint32]int)
	var all [][]uint32
	for x := range uint32(len(g.parent)) {
		root := g.root(x)
		if root == x {
			continue
		}
		i, ok := at[root]
		if !ok {
			i = len(all)
			at[root] = i
			all = append(all, []uint32{root})
		}
		all[i] = append(all[i], x)
	}
	return all
}
