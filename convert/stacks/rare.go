package stacks

import (
	"cmp"
	"slices"
)

// Rare says how MergeRare makes a Set smaller.
type Rare struct {
	// Limit is what stacks, rows and sums over blocks of time may take, in bytes: see
	// RowsSize.
	Limit int64
	// Merged is the location that stands for the frames that stacks lose.
	Merged uint32
	// Most is the number of samples up to which something is rare at first. Default: 1.
	Most int64
	// Fewer returns a shorter list of labels for one that few samples have, or the list as it
	// is. Nil keeps all labels.
	Fewer func([]Label) []Label
}

// MergeRare merges what is rare until the Set is as small as o.Limit says, or nothing is left
// to be merged. It returns how many stacks lost frames, and the number of samples up to which
// something was rare in the end. What is rare the call tree tells:
//
//	main 90 ─┬─ parse 60 ─┬─ next 58            main 90 ─┬─ parse 60 ─┬─ next 58
//	         │            ├─ fail 1 ── print 1           │            └─ [merged] 2
//	         │            └─ warn 1           ─►         │
//	         └─ exit 30                                  └─ exit 30
//
// A function with all that it calls, on one path, becomes the frame Merged below its caller if
// no more samples than that are in it; so the sums of all rows, and those of all functions that
// still have a frame, stay as they were. Samples are counted by the first column of each event.
// Rows get other numbers and stacks other ids; labels keep theirs.
//
// It takes time in proportion to the frames that stacks have.
func (s *Set) MergeRare(o Rare) (shortened int, most int64) {
	for most = max(o.Most, 1); s.RowsSize() > o.Limit; most *= 2 {
		n, total := s.mergeUpTo(most, &o)
		shortened += n
		if most >= total {
			break
		}
	}
	return shortened, most
}

// ShortenLabels gives each row the list of labels that fewer makes of its own. Rows get other
// numbers and stacks other ids.
func (s *Set) ShortenLabels(fewer func([]Label) []Label) {
	to := make([]LabelsID, s.NumLabels())
	for id := range to {
		to[id] = s.labels.intern(fewer(s.labels.sets[id]))
	}
	s.regroup(func(_ uint32, stack []uint32) ([]uint32, bool) { return stack, true }, to)
}

// mergeUpTo merges what has at most so many samples, of total.
func (s *Set) mergeUpTo(most int64, o *Rare) (shortened int, total int64) {
	samples, total := s.samplesOfStacks()
	keep, shortened := s.rareStacks(samples, most, o.Merged)
	labels, fewer := s.rareLabels(most, o.Fewer)
	if shortened == 0 && !fewer {
		return 0, total
	}
	var short []uint32
	s.regroup(func(id uint32, stack []uint32) ([]uint32, bool) {
		if keep[id] >= uint32(len(stack)) {
			return stack, true
		}
		short = append(append(short[:0], o.Merged), stack[len(stack)-int(keep[id]):]...)
		return short, true
	}, labels)
	return shortened, total
}

// RowsSize is what the stacks, the rows and the sums over blocks of time take of Size, the part
// that MergeRare makes smaller.
func (s *Set) RowsSize() int64 {
	return int64(s.chains.size() + s.rows.size() + cap(s.BlockSums)*24)
}

// samplesOfStacks returns how many samples each stack has, and all.
func (s *Set) samplesOfStacks() (samples []int64, total int64) {
	samples = make([]int64, s.NumStacks())
	for i := range s.rows.n {
		n := s.samplesOf(i)
		samples[s.rows.at(i).stack] += n
		total += n
	}
	return samples, total
}

// samplesOf returns how many samples a row has.
func (s *Set) samplesOf(i int) int64 {
	r := s.rows.at(i)
	if len(s.Events[r.event].Values) == 0 {
		return 0
	}
	return max(s.rows.valuesAt(r.value, 1)[0], 0)
}

// rareStacks returns how many of its outermost frames each stack keeps, at most wholeStack, and
// how many lose some. It goes down the call tree from the root, as a radix sort does, but never
// into what is rare: each part of the list of stacks is a node.
func (s *Set) rareStacks(samples []int64, most int64, merged uint32) (keep []uint32, shortened int) {
	const wholeStack = ^uint32(0)
	type branch struct{ frame, stack uint32 }
	type node struct{ from, to, depth int }
	all := make([]branch, len(samples))
	for id := range all {
		all[id].stack = uint32(id)
	}
	keep = slices.Repeat([]uint32{wholeStack}, len(samples))
	for nodes := []node{{0, len(all), 0}}; len(nodes) > 0; {
		at := nodes[len(nodes)-1]
		nodes = nodes[:len(nodes)-1]
		// Stacks that end here are the function's own, and stay.
		part, ended := all[at.from:at.to], 0
		for i := range part {
			stack := s.chains.at(part[i].stack)
			if len(stack) == at.depth {
				part[i], part[ended] = part[ended], part[i]
				ended++
				continue
			}
			part[i].frame = stack[len(stack)-1-at.depth]
		}
		part = part[ended:]
		slices.SortFunc(part, func(a, b branch) int { return cmp.Compare(a.frame, b.frame) })
		for from, to := 0, 0; from < len(part); from = to {
			var sum int64
			for to = from; to < len(part) && part[to].frame == part[from].frame; to++ {
				sum += samples[part[to].stack]
			}
			if sum > most {
				if to-from > 1 {
					nodes = append(nodes, node{at.from + ended + from, at.from + ended + to, at.depth + 1})
				}
				continue
			}
			for _, b := range part[from:to] {
				keep[b.stack] = uint32(at.depth)
				if b.frame != merged || len(s.chains.at(b.stack)) > at.depth+1 {
					shortened++
				}
			}
		}
	}
	return keep, shortened
}

// rareLabels returns the list of labels that takes the place of each, nil for all as they are.
func (s *Set) rareLabels(most int64, fewer func([]Label) []Label) (to []LabelsID, any bool) {
	if fewer == nil {
		return nil, false
	}
	samples := make([]int64, s.NumLabels())
	there := make([]bool, len(samples))
	for i := range s.rows.n {
		l := s.rows.at(i).labels
		samples[l] += s.samplesOf(i)
		there[l] = true
	}
	to = make([]LabelsID, len(samples))
	for id := range to {
		to[id] = LabelsID(id)
		if there[id] && samples[id] <= most {
			to[id] = s.labels.intern(fewer(s.labels.sets[id]))
			any = any || to[id] != LabelsID(id)
		}
	}
	return to, any
}
