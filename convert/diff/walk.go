package diff

import "kprof/convert/stacks"

// eachStack calls yield with the functions of each stack that has a part in what is
// compared, leaf first, with its side and value; with leaves, of those alone of which the
// leaf is among these. fns may be changed by the next call.
func (r *Result) eachStack(leaves map[uint32]int, yield func(side int, fns []uint32, value int64)) {
	var fns []uint32
	for side := range r.runs {
		for i := range r.runs[side] {
			run, f := &r.runs[side][i], r.names[side][i]
			for id, v := range run.stackValues() {
				if v == 0 {
					continue
				}
				stack := run.Set.Stack(stacks.StackID(id))
				if leaves != nil {
					if len(stack) == 0 {
						continue
					}
					if _, ok := leaves[f.table.function[f.leaf(stack)]]; !ok {
						continue
					}
				}
				fns = f.appendFunctions(fns[:0], stack)
				yield(side, fns, v)
			}
		}
	}
}

// stackValues are the sums of a run's compared values by stack, which the caller must not
// change.
func (r *Run) stackValues() []int64 {
	if r.values == nil {
		r.values = make([]int64, r.Set.NumStacks())
		for row := range r.Set.NumSamples() {
			if x := r.Set.Sample(row); r.compares(&x) {
				r.values[x.Stack] += x.Values[r.Column]
			}
		}
	}
	return r.values
}
