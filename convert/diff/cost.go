package diff

import (
	"slices"

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
	weight  float64
	samples int64 // their number, 0 where that is a guess

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
	c.weight, c.samples = sampleWeight(r, c.total)
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
	d := newDivider(r, stackOf, c)
	for i := range s.TimedSamples {
		m := &s.TimedSamples[i]
		if !d.expect(int(m.Sample)) {
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
	d.begin(per)
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
		if d.add(int(m.Sample), m.Value, block) {
			n++
		}
	}
	return d.divided
}

// divider makes the moments of a run: those to expect are counted before begin, and added after.
type divider struct {
	*divided
	run     *Run
	stackOf []uint32 // by sample; many for what is not compared
	cost    *cost
	next    []uint32 // by stack, where its next moment goes
}

func newDivider(r *Run, stackOf []uint32, c *cost) *divider {
	return &divider{divided: &divided{starts: make([]uint32, r.Set.NumStacks()+1)}, run: r, stackOf: stackOf, cost: c}
}

// expect says that a moment of a sample will be added; false if it is not compared.
func (d *divider) expect(sample int) bool {
	stack := d.stackOf[sample]
	if stack == many {
		return false
	}
	d.starts[stack+1]++
	return true
}

// begin makes room for what is expected, and for the sums of blocks.
func (d *divider) begin(per Per) {
	for i := range len(d.starts) - 1 {
		d.starts[i+1] += d.starts[i]
	}
	d.moments = make([]moment, d.starts[len(d.starts)-1])
	d.next = slices.Clone(d.starts)
	d.cost.totalBlocks = make([]int64, maxBlocks)
	if per == PerEvent {
		d.cost.perBlocks = make([]int64, maxBlocks)
	}
}

// add puts the value of a sample into a block. What is not compared may be of the event that
// is divided by: false then.
func (d *divider) add(sample int, value, block int64) bool {
	stack := d.stackOf[sample]
	if stack == many {
		if d.cost.perBlocks != nil && d.run.Set.Sample(sample).Event == d.run.PerEvent {
			d.cost.perBlocks[block] += value
		}
		return false
	}
	d.cost.totalBlocks[block] += value
	d.moments[d.next[stack]] = moment{value, uint8(block)}
	d.next[stack]++
	return true
}
