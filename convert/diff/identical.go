package diff

import (
	"hash/maphash"

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
	if len(s.TimedSamples) > 0 && len(t.TimedSamples) > 0 {
		if !sameTimes(a, b) {
			return false
		}
	} else if s.TimeNanos != t.TimeNanos && s.TimeNanos != 0 && t.TimeNanos != 0 {
		return false // a recording's is when it was written: its times say more
	}
	seed := maphash.MakeSeed()
	return contentOf(a, seed) == contentOf(b, seed)
}

// sameTimes tells whether the samples of two runs were taken at the same times.
func sameTimes(a, b *Run) bool {
	x, y := a.Set.TimedSamples, b.Set.TimedSamples
	for {
		x, y = ofEvent(x, a), ofEvent(y, b)
		if len(x) == 0 || len(y) == 0 {
			return len(x) == len(y)
		}
		if x[0].Time != y[0].Time {
			return false
		}
		x, y = x[1:], y[1:]
	}
}

// ofEvent leaves samples of other events out at the beginning.
func ofEvent(samples []stacks.TimedSample, r *Run) []stacks.TimedSample {
	for len(r.Set.Events) > 1 && len(samples) > 0 && r.Set.Sample(int(samples[0].Sample)).Event != r.Event {
		samples = samples[1:]
	}
	return samples
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
	for id, v := range byStack {
		if v == 0 {
			continue
		}
		x := uint64(14695981039346656037)
		for _, loc := range s.Stack(stacks.StackID(id)) {
			x = (x ^ locs[loc]) * 1099511628211
		}
		x ^= x >> 32
		x *= 0xff51afd7ed558ccd
		sum += (x ^ x>>33) * uint64(v) // so that stacks of the same names add up
	}
	return sum
}
