package diff

import (
	"kprof/convert/stacks"
)

// maxBlocks is how many blocks of time a run is divided into, a power of 2.
const maxBlocks = 32

// cost is what the functions of a run have of its values.
type cost struct {
	self, cum []int64 // by function; cum counts a sample once
	total     int64
	idle      int64 // what was left out
	// weight is the mean value of a sample, weighted by value: the sum of squares
	// by the sum. The run is worth total/weight equal samples.
	weight float64

	// By block; nil where the run has no times. Those of function f are at
	// [f*maxBlocks:(f+1)*maxBlocks].
	selfBlocks, cumBlocks []int64
	totalBlocks           []int64
	perBlocks             []int64 // of the event that costs are counted per, if any
}

// blocksOf returns the part of one function.
func blocksOf(blocks []int64, fn uint32) []int64 {
	return blocks[int(fn)*maxBlocks : int(fn+1)*maxBlocks]
}

// costs sums up a run. The moments must be those of all samples of the event to
// be of use: else there are no blocks. With only, which is how many
// locations of each stack count, from the leaf on, functions have the values of these alone;
// totals have all.
func costs(r *Run, f *frames, per Per, only []uint32) *cost {
	s, n := r.Set, len(f.table.functions)
	c := &cost{self: make([]int64, n), cum: make([]int64, n)}
	values := make([]int64, s.NumStacks())
	stackOf := make([]uint32, s.NumSamples())
	for i := range s.NumSamples() {
		x := s.Sample(i)
		if x.Event != r.Event {
			stackOf[i] = many
			continue
		}
		if r.idle.has(&x) {
			stackOf[i] = many
			c.idle += x.Values[r.Column]
			continue
		}
		stackOf[i] = uint32(x.Stack)
		values[x.Stack] += x.Values[r.Column]
		c.total += x.Values[r.Column]
	}
	c.weight = sampleWeight(r, c.total)
	m := divide(r, stackOf, c, per)
	if m != nil {
		c.selfBlocks, c.cumBlocks = make([]int64, n*maxBlocks), make([]int64, n*maxBlocks)
	}
	seen := make([]uint32, n) // the last stack a function was counted for, plus 1
	var fns []uint32
	for id, v := range values {
		stack := s.Stack(stacks.StackID(id))
		if only != nil {
			if stack = stack[:only[id]]; len(stack) == 0 {
				continue
			}
		}
		moments := m.of(id)
		if v == 0 && len(moments) == 0 {
			continue
		}
		fns = f.appendFunctions(fns[:0], stack)
		c.self[fns[0]] += v
		if moments != nil {
			addMoments(blocksOf(c.selfBlocks, fns[0]), moments)
		}
		for _, fn := range fns {
			if seen[fn] == uint32(id)+1 {
				continue
			}
			seen[fn] = uint32(id) + 1
			c.cum[fn] += v
			if moments != nil {
				addMoments(blocksOf(c.cumBlocks, fn), moments)
			}
		}
	}
	return c
}

func addMoments(blocks []int64, moments []moment) {
	for _, m := range moments {
		blocks[m.block] += m.value
	}
}

// moment is a sample in its block.
type moment struct {
	value int64
	block uint8
}

// divided are the moments of a run, by stack.
type divided struct {
	moments []moment
	starts  []uint32 // of stack i: moments[starts[i]:starts[i+1]]
}

func (d *divided) of(stack int) []moment {
	if d == nil {
		return nil
	}
	return d.moments[d.starts[stack]:d.starts[stack+1]]
}

// divide puts the samples of a run into blocks of the same duration or, where
// shares are compared, of the same number of samples, since then nothing depends
// on how time passed. It returns nil if the run does not have the times of all
// its samples, or too few samples.
func divide(r *Run, stackOf []uint32, c *cost, per Per) *divided {
	s := r.Set
	if len(s.TimedSamples) == 0 && len(s.BlockSums) > 0 {
		return divideSums(r, stackOf, c, per)
	}
	var count, value int64
	var first, last uint64
	for i := range s.TimedSamples {
		m := &s.TimedSamples[i]
		if stackOf[m.Sample] == many {
			continue
		}
		if count == 0 {
			first = m.Time
		}
		last = m.Time
		count++
		value += m.Value
	}
	if value != c.total || count < 2*maxBlocks || last == first {
		return nil
	}
	d := newDivided(s.NumStacks())
	for i := range s.TimedSamples {
		if stack := stackOf[s.TimedSamples[i].Sample]; stack != many {
			d.starts[stack+1]++
		}
	}
	next := d.begin()
	c.totalBlocks = make([]int64, maxBlocks)
	if per == PerEvent {
		c.perBlocks = make([]int64, maxBlocks)
	}
	var n int64
	for i := range s.TimedSamples {
		m := &s.TimedSamples[i]
		block := int64(0)
		if per == PerShare {
			block = n * maxBlocks / count
		} else {
			t := min(max(m.Time, first), last)
			block = min(int64(float64(t-first)/float64(last-first)*maxBlocks), maxBlocks-1)
		}
		stack := stackOf[m.Sample]
		if stack == many {
			if c.perBlocks != nil && s.Sample(int(m.Sample)).Event == r.PerEvent {
				c.perBlocks[block] += m.Value
			}
			continue
		}
		c.totalBlocks[block] += m.Value
		d.moments[next[stack]] = moment{m.Value, uint8(block)}
		next[stack]++
		n++
	}
	return d
}
