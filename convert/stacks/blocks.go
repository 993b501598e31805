package stacks

import (
	"cmp"
	"math/bits"
	"slices"
)

// BlockSum is what the samples of a row within one block of time add up to.
type BlockSum struct {
	Time   uint64 // at which the block begins, ns of the recording's clock
	Sample uint32 // the row: see Set.Sample
	Count  uint32 // of samples
	Value  int64  // as that of a TimedSample, of all of them
}

// MaxBlocks is how many blocks of time a Set has at most.
const MaxBlocks = 256

// blockSpan is how far apart, in blocks, the samples may be of which the blocks are chosen
// as fine as MaxBlocks allow: what was recorded at long intervals has empty ones between.
const blockSpan = 1 << 16

// fewSums is how many sums are kept without adding up those of one block and row.
const fewSums = 1 << 15

// AddBlockSum adds samples to the sums over blocks of time. SumBlocks is to be called after
// the last. Memory grows with the number of rows and of blocks, not of samples.
func (s *Set) AddBlockSum(b BlockSum) {
	if len(s.BlockSums) >= max(fewSums, 2*s.summed) {
		s.sumBlocks()
		s.summed = len(s.BlockSums)
	}
	s.BlockSums = append(s.BlockSums, b)
}

// SumBlocks adds up what is of one block and row, and brings the sums into the order of
// blocks, those of one block into the order of their rows. Blocks are as long as they must
// be for MaxBlocks of them to have all samples: all the same power of two nanoseconds, and
// begin at multiples of it, so that those of two Sets are added up as they are.
func (s *Set) SumBlocks() {
	s.sumBlocks()
	slices.SortStableFunc(s.BlockSums, func(a, b BlockSum) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Sample, b.Sample))
	})
	s.summed = len(s.BlockSums)
}

func (s *Set) sumBlocks() {
	if len(s.BlockSums) == 0 {
		return
	}
	first, last := s.BlockSums[0].Time, s.BlockSums[0].Time
	for i := range s.BlockSums {
		first, last = min(first, s.BlockSums[i].Time), max(last, s.BlockSums[i].Time)
	}
	shift := s.blockShift
	for last>>shift-first>>shift >= blockSpan {
		shift++
	}
	// Those that are occupied, in finer blocks and then in coarser ones.
	occupied := make([]uint64, blockSpan/64)
	for i := range s.BlockSums {
		at := s.BlockSums[i].Time>>shift - first>>shift
		occupied[at/64] |= 1 << (at % 64)
	}
	for population(occupied) > MaxBlocks {
		odd := first>>shift&1 != 0 // whether the first one is the second half of a coarser one
		shift++
		occupied = coarser(occupied, odd)
	}
	s.blockShift = shift

	number := make([]uint32, blockSpan) // of each block among those that are occupied
	n := uint32(0)
	for at := range number {
		number[at] = n
		n += uint32(occupied[at/64] >> (at % 64) & 1)
	}
	starts := make([]int, n+1)
	for i := range s.BlockSums {
		starts[number[s.BlockSums[i].Time>>shift-first>>shift]+1]++
	}
	for i := range n {
		starts[i+1] += starts[i]
	}
	ordered := make([]BlockSum, len(s.BlockSums))
	next := slices.Clone(starts)
	for _, b := range s.BlockSums {
		b.Time = b.Time >> shift << shift
		to := &next[number[b.Time>>shift-first>>shift]]
		ordered[*to] = b
		*to++
	}
	sums := s.BlockSums[:0]
	seen := make([]int, s.rows.n) // where the sum of each row is, of this block
	for i := range n {
		from := len(sums)
		for _, b := range ordered[starts[i]:starts[i+1]] {
			if at := seen[b.Sample]; at < len(sums) && at >= from && sums[at].Sample == b.Sample {
				sums[at].Value += b.Value
				sums[at].Count += b.Count
				continue
			}
			seen[b.Sample] = len(sums)
			sums = append(sums, b)
		}
	}
	s.BlockSums = sums
}

func population(set []uint64) (n int) {
	for _, w := range set {
		n += bits.OnesCount64(w)
	}
	return n
}

// coarser returns the blocks of twice the length in which some of these are.
func coarser(set []uint64, odd bool) []uint64 {
	twice := make([]uint64, len(set))
	for at := range len(set) * 64 {
		if set[at/64]>>(at%64)&1 != 0 {
			to := at / 2
			if odd {
				to = (at + 1) / 2
			}
			twice[to/64] |= 1 << (to % 64)
		}
	}
	return twice
}

// moveTimes gives what has times the new numbers of rows, without those of rows that were
// dropped.
func (s *Set) moveTimes(row []uint32) {
	s.TimedSamples = moved(s.TimedSamples, row, func(m *TimedSample) *uint32 { return &m.Sample })
	s.BlockSums = moved(s.BlockSums, row, func(b *BlockSum) *uint32 { return &b.Sample })
	if len(s.BlockSums) > 0 {
		s.SumBlocks() // two rows may have become one
	}
}

// droppedRow stands for the new number of a row that there is no more.
const droppedRow = ^uint32(0)

func moved[T any](list []T, row []uint32, of func(*T) *uint32) []T {
	list = slices.DeleteFunc(slices.Clone(list), func(x T) bool { return row[*of(&x)] == droppedRow })
	for i := range list {
		number := of(&list[i])
		*number = row[*number]
	}
	return list
}

// BlockShift is how many bits of nanoseconds the blocks of BlockSums are long.
func (s *Set) BlockShift() uint8 { return s.blockShift }

// SetBlockShift says so of a Set that has no BlockSums yet: blocks become no shorter.
func (s *Set) SetBlockShift(shift uint8) { s.blockShift = min(shift, 63) }
