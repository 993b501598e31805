package stacks

import "slices"

// A table that is larger than the CPU's caches answers at the pace of memory, as
// long as each look-up is made after the one before. What follows makes them in
// groups: all of a group's loads that do not depend on each other come right
// behind one another, so that the CPU waits for them together.

// fetchGroup is how many look-ups wait together.
const fetchGroup = 16

// internAll is intern of many chains.
func (t *chainTable) internAll(ids []StackID, locs []uint32, ends []int) []StackID {
	var (
		hashes [fetchGroup]uint64
		heads  [fetchGroup]uint32
	)
	from := 0
	for len(ends) > 0 {
		group := ends[:min(fetchGroup, len(ends))]
		ends = ends[len(group):]
		at, mask, n := from, uint32(len(t.slots)-1), 0
		for i, end := range group {
			hashes[i] = hashWords(t.seed, locs[at:end])
			at = end
		}
		for _, h := range hashes[:len(group)] {
			if s := t.slots[uint32(h)&mask]; s.tag == uint32(h>>32) && s.id != 0 {
				heads[n] = s.id - 1
				n++
			}
		}
		for i, id := range heads[:n] {
			heads[i] = t.pos[id]
		}
		for _, p := range heads[:n] {
			t.fetched += t.blocks[p/blockSize][p%blockSize]
		}
		for i, end := range group {
			ids = append(ids, StackID(t.internHashed(locs[from:end], hashes[i])))
			from = end
		}
	}
	return ids
}

// fetch loads the first rows of some stacks and their values.
func (t *rowTable) fetch(c *chainTable, ids []StackID) {
	var rows [fetchGroup]uint32
	for group := range slices.Chunk(ids, fetchGroup) {
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
