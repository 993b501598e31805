package replay

import (
	"slices"

	"kprof/convert/stacks"
)

// MergedFrame is the frame below which the samples of rare stacks are, where there are too many
// stacks for Options.MaxMemory.
const MergedFrame = "[merged]"

// leastBound is the least that Options.MaxMemory is taken for: tables begin with some room, and sums
// over blocks are added up by the ten thousand.
const leastBound = 8 << 20

// labelsCost is about what memory a list of labels takes, in all tables that have it.
const labelsCost = 512

// Bound keeps a Set, to which more and more is added, within so many bytes: see
// Options.MaxMemory. The zero value is no bound.
type Bound struct {
	limit  int64
	begun  bool
	merged uint32 // location of MergedFrame
	next   int64  // at which size of the rows something is to be done
	most   int64  // number of samples that was rare

	timeless  bool   // times are not kept any more
	taskless  bool   // labels of what is added are fewer
	shortened uint64 // stacks that lost frames
}

// NewBound returns a Bound of so many bytes, at least 8 MiB; of 0 it is none.
func NewBound(most int64) Bound {
	if most == 0 {
		return Bound{}
	}
	return Bound{limit: max(most, leastBound)}
}

// mostLabels is how many lists of labels have room; 0 is no bound.
func (b *Bound) mostLabels() uint64 { return uint64(b.limit) / 4 / labelsCost }

// Add adds a part of a recording to the sum of those before, in which it makes room where that has
// become too large. The part is not needed afterwards.
func (b *Bound) Add(sum, part *stacks.Set) {
	if b.begin(sum); b.timeless {
		part.TimedSamples = nil
	}
	if b.taskless = b.taskless || b.limit > 0 && uint64(sum.NumLabels()) >= b.mostLabels(); b.taskless {
		part.ShortenLabels(fewerLabels)
	}
	if sum.Merge(part); b.tooLarge(sum) {
		b.mergeRare(sum)
	}
}

// Count counts the samples of the sum of which something is not told any more.
func (b *Bound) Count(sum *stacks.Set, st *Stats) {
	for i := 0; b.timeless && i < sum.NumSamples(); i++ {
		st.TimelessSamples += uint64(max(sum.Sample(i).Values[0], 0))
	}
	if st.MergedStacks = b.shortened; b.most > 0 || b.taskless {
		b.countMerged(sum, st)
	}
}

// begin makes the frame of what is merged.
func (b *Bound) begin(s *stacks.Set) {
	if b.begun || b.limit == 0 {
		return
	}
	b.begun = true
	for loc := range s.Locations {
		if l := s.Lines(uint32(loc)); s.Locations[loc].Mapping == stacks.NoMapping && len(l) == 1 && s.Functions[l[0].Function].Name == MergedFrame {
			b.merged = uint32(loc)
			return
		}
	}
	b.merged = s.AddLocation(stacks.NoMapping, 0, stacks.KindUnknown)
	s.SetLines(b.merged, stacks.Line{Function: s.AddFunction(stacks.Function{Name: MergedFrame, SystemName: MergedFrame})})
}

// tooLarge drops times that take too much, and reports whether rows do.
func (b *Bound) tooLarge(s *stacks.Set) bool {
	if b.limit == 0 {
		return false
	}
	if times := int64(len(s.TimedSamples)) * 24; times > b.limit/2 {
		s.TimedSamples, b.timeless = nil, true
	}
	return s.RowsSize() > max(b.next, b.limit)
}

// mergeRare makes rows smaller: half of what they may take, so that it is not done again soon; from
// what was rare the last time on, or less.
func (b *Bound) mergeRare(s *stacks.Set) {
	shortened, most := s.MergeRare(stacks.Rare{Limit: b.limit / 2, Merged: b.merged, Most: b.most / 4, Fewer: fewerLabels})
	b.shortened += uint64(shortened)
	b.most = most
	b.next = s.RowsSize() + b.limit/2
}

// bound keeps what was made of samples within Options.MaxMemory.
type bound struct {
	Bound
	full bool // only stacks that are known already have room
}

// keepWithin makes room where the rows have become too large.
func (r *rows) keepWithin() {
	b := &r.bound
	if b.full || !b.tooLarge(r.set) {
		return
	}
	b.begin(r.set)
	if r.pairing != nil { // whose points know stacks by their ids
		b.full = true
		return
	}
	b.mergeRare(r.set)
}

// fewerLabels leaves of a task's labels its name.
func fewerLabels(l []stacks.Label) []stacks.Label {
	if len(l) > 1 && l[0].Key == "comm" {
		return l[:1]
	}
	return l
}

// keepKnown leaves of the stacks of a batch those that the Set has, and MergedFrame alone of
// others.
func (b *batch) keepKnown(r *rows) {
	locs, start := b.locs[:0], 0 // which does not overtake what it is made of
	merged := []uint32{r.bound.merged}
	for i, end := range b.ends {
		stack := b.locs[start:end]
		start = end
		if len(stack) > 0 && !r.set.Knows(stack) {
			stack = merged
			r.bound.shortened++
		}
		locs = append(locs, stack...)
		b.ends[i] = len(locs)
	}
	b.locs = locs
}

// countMerged counts the samples of which something is not told, as memory is bounded.
func (r *rows) countMerged(st *Stats) {
	if r.bound.timeless {
		st.TimelessSamples = st.total()
	}
	if st.MergedStacks = r.bound.shortened; r.bound.most > 0 || r.bound.full {
		r.bound.countMerged(r.set, st)
	}
}

// countMerged counts the samples that lost frames, or the number of their task.
func (b *Bound) countMerged(set *stacks.Set, st *Stats) {
	taskless := make([]bool, set.NumLabels())
	for id := range taskless {
		l := set.Labels(stacks.LabelsID(id))
		taskless[id] = len(l) == 1 && l[0].Key == "comm" && l[0].Str != otherTasks
	}
	for i := range set.NumSamples() {
		x := set.Sample(i)
		n := uint64(max(x.Values[0], 0))
		if slices.Contains(set.Stack(x.Stack), b.merged) {
			st.MergedSamples += n
		}
		if taskless[x.Labels] {
			st.MergedTasks += n
		}
	}
}
