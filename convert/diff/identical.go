package diff

import (
	"cmp"
	"hash/maphash"
	"slices"

	"kprof/convert/stacks"
)

// identical tells whether two runs are one: the same samples at the same times or, where
// a profile does not have these, the same values by stack, unless they began at different
// times.
func identical(a, b *Run) bool {
	if a.Set == b.Set {
		return a.Event == b.Event && a.Column == b.Column
	}
	s, t := a.Set, b.Set
	if s.Totals(a.Event)[a.Column] != t.Totals(b.Event)[b.Column] {
		return false
	}
	if timed, other := timesOf(a), timesOf(b); timed != nil && other != nil {
		if !slices.Equal(timed, other) {
			return false
		}
	} else if s.TimeNanos != t.TimeNanos && s.TimeNanos != 0 && t.TimeNanos != 0 {
		return false // a recording's is when it was written: its times say more
	}
	seed := maphash.MakeSeed()
	return contentOf(a, seed) == contentOf(b, seed)
}

// timesOf returns the times of a run's samples, nil if they are not known.
func timesOf(r *Run) []uint64 {
	var times []uint64
	for _, m := range r.Set.TimedSamples {
		if r.Set.Sample(int(m.Sample)).Event == r.Event {
			times = append(times, m.Time)
		}
	}
	return times
}

// contentOf is a sum over what a run has of each stack, by names: the order of rows, and
// labels, are of no account.
func contentOf(r *Run, seed maphash.Seed) (sum uint64) {
	s := r.Set
	byStack := make([]int64, s.NumStacks())
	for i := range s.NumSamples() {
		if x := s.Sample(i); x.Event == r.Event {
			byStack[x.Stack] += x.Values[r.Column]
		}
	}
	var h maphash.Hash
	h.SetSeed(seed)
	locs := make([]uint64, len(s.Locations))
	for loc := range locs {
		h.Reset()
		for _, l := range s.Lines(uint32(loc)) {
			h.WriteString(s.Functions[l.Function].Name)
			h.WriteByte(0)
		}
		if m := s.Locations[loc].Mapping; m >= 0 && len(s.Lines(uint32(loc))) == 0 {
			h.WriteString(s.Mappings[m].File)
		}
		locs[loc] = h.Sum64()
	}
	type entry struct {
		stack uint64
		value int64
	}
	var entries []entry
	for id, v := range byStack {
		if v == 0 {
			continue
		}
		x := uint64(14695981039346656037)
		for _, loc := range s.Stack(stacks.StackID(id)) {
			x = (x ^ locs[loc]) * 1099511628211
		}
		entries = append(entries, entry{x, v})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.stack, b.stack) })
	for i := 0; i < len(entries); {
		e := entries[i]
		for i++; i < len(entries) && entries[i].stack == e.stack; i++ {
			e.value += entries[i].value
		}
		sum += (e.stack ^ uint64(e.value)*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd
	}
	return sum
}
