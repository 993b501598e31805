package stacks

import (
	"slices"

	"kprof/convert/intern"
)

// internAll is intern of many chains, in groups of look-ups that wait for memory
// together.
func (t *chainTable) internAll(ids []StackID, locs []uint32, ends []int) []StackID {
	var (
		hashes [intern.Group]uint64
		heads  [intern.Group]uint32
	)
	from := 0
	for len(ends) > 0 {
		group := ends[:min(intern.Group, len(ends))]
		ends = ends[len(group):]
		at := from
		for i, end := range group {
			hashes[i] = intern.Words(t.seed, locs[at:end])
			at = end
		}
		known := t.index.Candidates(heads[:0], hashes[:len(group)])
		for i, id := range known {
			known[i] = t.pos[id]
		}
		for _, p := range known {
			t.fetched += t.blocks[p/blockSize][p%blockSize]
		}
		for i, end := range group {
			ids = append(ids, StackID(t.internHashed(locs[from:end], hashes[i])))
			from = end
		}
	}
	return ids
}

// addFunctions is AddFunction of some of from, whose numbers are which: to gets, at these
// numbers, those that they have in the Set.
func (s *Set) addFunctions(to []uint32, from []Function, which []uint32) {
	var (
		hashes [intern.Group]uint64
		heads  [intern.Group]uint32
	)
	for group := range slices.Chunk(which, intern.Group) {
		for i, n := range group {
			hashes[i] = s.functions.hash(&from[n])
		}
		known := s.functions.index.Candidates(heads[:0], hashes[:len(group)])
		for _, id := range known {
			s.chains.fetched += uint32(s.Functions[id].StartLine)
		}
		for _, id := range known {
			if name := s.Functions[id].Name; name != "" {
				s.chains.fetched += uint32(name[0])
			}
		}
		for i, n := range group {
			to[n] = s.addFunction(&from[n], hashes[i])
		}
	}
}

// fetch loads the first rows of some stacks and their values.
func (t *rowTable) fetch(c *chainTable, ids []StackID) {
	var rows [intern.Group]uint32
	for group := range slices.Chunk(ids, intern.Group) {
		n := 0
		for _, id := range group {
			if first := *c.mark(uint32(id)); first != 0 {
				rows[n] = first - 1
				n++
			}
		}
		for i, id := range rows[:n] {
			rows[i] = t.at(int(id)).value
		}
		for _, p := range rows[:n] {
			if b := t.values[p/valueBlock]; int(p%valueBlock) < len(b) {
				c.fetched += uint32(b[p%valueBlock])
			}
		}
	}
}
