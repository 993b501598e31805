package locate

import (
	"kprof/convert/intern"
	"kprof/convert/stacks"
)

// locationTable maps keys to locations.
type locationTable struct {
	index   intern.Index
	entries [][]locationEntry // in blocks that never move
	n       int               // of entries
	seed    uint64

	hashes  [locateGroup]uint64 // of fetch
	ids     [locateGroup]uint32
	fetched uint32 // keeps the loads of fetch
}

// locationEntry is a location with its key.
type locationEntry struct {
	addr uint64 // offset in the file, or run-time address
	obj  int32  // or timeline.NoObject, or what Locator.privateTo says
	loc  uint32
	kind stacks.Kind
}

const entryBlock = 1 << 10

func (t *locationTable) at(id uint32) *locationEntry {
	return &t.entries[id/entryBlock][id%entryBlock]
}

func newLocationTable() locationTable {
	return locationTable{index: intern.NewIndex(1 << 10), seed: intern.Seed()}
}

func (t *locationTable) hash(k locationKey) uint64 {
	return intern.Pair(t.seed, k.addr, uint64(uint32(k.obj))<<8|uint64(k.kind))
}

// fetch brings near where some keys may be, at most locateGroup.
func (t *locationTable) fetch(group []missed) {
	for i := range group {
		t.hashes[i] = t.hash(group[i].key)
	}
	for _, id := range t.index.Candidates(t.ids[:0], t.hashes[:len(group)]) {
		t.fetched += t.at(id).loc
	}
}

// find returns the location of a key, or where to put it and false.
func (t *locationTable) find(k locationKey) (at intern.Probe, loc uint32, known bool) {
	at = t.index.Probe(t.hash(k))
	for id, ok := at.Next(); ok; id, ok = at.Next() {
		if e := t.at(id); e.addr == k.addr && e.obj == k.obj && e.kind == k.kind {
			return at, e.loc, true
		}
	}
	return at, 0, false
}

// put puts a location where find has said.
func (t *locationTable) put(at intern.Probe, k locationKey, loc uint32) {
	if t.n%entryBlock == 0 {
		t.entries = append(t.entries, make([]locationEntry, 0, entryBlock))
	}
	last := &t.entries[len(t.entries)-1]
	*last = append(*last, locationEntry{k.addr, k.obj, loc, k.kind})
	t.index.Put(at, uint32(t.n))
	t.n++
}
