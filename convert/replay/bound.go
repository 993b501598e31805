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

// bound keeps what was made of samples within Options.MaxMemory.
type bound struct {
	begun  bool
	merged uint32 // location of MergedFrame
	next   int64  // at which size of the rows something is to be done
	most   int64  // number of samples that was rare
	full   bool   // only stacks that are known already have room

	timeless  bool   // times are not kept any more
	shortened uint64 // stacks that lost frames
}

// begin makes the frame of what is merged.
func (b *bound) begin(r *rows) {
	if b.begun || r.opts.MaxMemory == 0 {
		return
	}
	b.begun = true
	b.next = max(r.opts.MaxMemory, leastBound)
	b.merged = r.set.AddLocation(stacks.NoMapping, 0, stacks.KindUnknown)
	r.set.SetLines(b.merged, stacks.Line{Function: r.set.AddFunction(stacks.Function{Name: MergedFrame, SystemName: MergedFrame})})
}

// keepWithin makes room where the rows have become too large.
func (r *rows) keepWithin() {
	b, limit := &r.bound, max(r.opts.MaxMemory, leastBound)
	if r.opts.MaxMemory == 0 || b.full {
		return
	}
	if times := int64(len(r.set.TimedSamples)) * 24; times > limit/2 {
		r.set.TimedSamples, b.timeless = nil, true
	}
	if r.set.RowsSize() <= max(b.next, limit) {
		return
	}
	b.begin(r)
	if r.pairing != nil { // whose points know stacks by their ids
		b.full = true
		return
	}
	// Half of it, so that it is not done again soon; from what was rare the last time on, or
	// less.
	shortened, most := r.set.MergeRare(stacks.Rare{Limit: limit / 2, Merged: b.merged, Most: b.most / 4, Fewer: fewerLabels})
	b.shortened += uint64(shortened)
	b.most = most
	b.next = r.set.RowsSize() + limit/2
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
	if st.MergedStacks = r.bound.shortened; r.bound.most == 0 && !r.bound.full {
		return
	}
	set := r.set
	taskless := make([]bool, set.NumLabels())
	for id := range taskless {
		l := set.Labels(stacks.LabelsID(id))
		taskless[id] = len(l) == 1 && l[0].Key == "comm" && l[0].Str != otherTasks
	}
	for i := range set.NumSamples() {
		x := set.Sample(i)
		n := uint64(max(x.Values[0], 0))
		if slices.Contains(set.Stack(x.Stack), r.bound.merged) {
			st.MergedSamples += n
		}
		if taskless[x.Labels] {
			st.MergedTasks += n
		}
	}
}
