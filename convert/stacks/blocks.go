package stacks

import (
	"maps"
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

// fewSums is how many sums are kept without adding up those of one block and row.
const fewSums = 1 << 15

// AddBlockSum adds samples to the sums over blocks of time. SumBlocks is to be called after
// the last. Memory grows with the number of rows and of blocks, not of samples.
func (s *Set) AddBlockSum(b BlockSum) {
	// Adding up takes time by the number of rows too.
	if len(s.BlockSums) >= max(fewSums, 2*s.summed, s.rows.n) {
		s.SumBlocks()
	}
	s.BlockSums = append(withRoom(s.BlockSums), b)
}

// SumBlocks adds up what is of one block and row, and brings the sums into the order of
// blocks, those of one block into the order of their rows. Blocks are as long as they must
// be for MaxBlocks of them to have all samples: all the same power of two nanoseconds, and
// begin at multiples of it, so that those of two Sets are added up as they are. How much
// time is between them makes no difference: the clocks of two machines may be years apart.
func (s *Set) SumBlocks() {
	if len(s.BlockSums) == 0 {
		return
	}
	shift, number := s.chooseBlocks()
	s.blockShift = shift

	// Sorted by row and then by block, counting how many there are of each.
	byRow, byBlock := make([]uint32, s.rows.n+1), make([]uint32, len(number)+1)
	for i := range s.BlockSums {
		byRow[s.BlockSums[i].Sample+1]++
	}
	beginnings(byRow)
	ordered := make([]BlockSum, len(s.BlockSums))
	block := runs{number: number}
	for _, b := range s.BlockSums {
		to := &byRow[b.Sample]
		ordered[*to] = b
		*to++
		byBlock[block.of(b.Time>>shift)+1]++
	}
	beginnings(byBlock)
	for _, b := range ordered {
		to := &byBlock[block.of(b.Time>>shift)]
		b.Time = b.Time >> shift << shift
		s.BlockSums[*to] = b
		*to++
	}
	sums := s.BlockSums[:1]
	for _, b := range s.BlockSums[1:] {
		if last := &sums[len(sums)-1]; last.Time == b.Time && last.Sample == b.Sample {
			last.Value += b.Value
			last.Count += b.Count
			continue
		}
		sums = append(sums, b)
	}
	s.BlockSums, s.summed = sums, len(sums)
}

// beginnings makes of how many there are of each kind, at the place of the next one, where
// each begins.
func beginnings(counts []uint32) {
	for i := range len(counts) - 1 {
		counts[i+1] += counts[i]
	}
}

// chooseBlocks returns the length of blocks, none shorter than before, and the numbers of
// those in which samples are, in the order of time.
func (s *Set) chooseBlocks() (shift uint8, number map[uint64]uint32) {
	shift = s.blockShift
	number = make(map[uint64]uint32, MaxBlocks+1)
	last := s.BlockSums[0].Time >> shift
	number[last] = 0
	for i := range s.BlockSums {
		at := s.BlockSums[i].Time >> shift
		if at == last {
			continue
		}
		number[at], last = 0, at
		for len(number) > MaxBlocks {
			coarser := make(map[uint64]uint32, MaxBlocks+1)
			for at := range number {
				coarser[at>>1] = 0
			}
			number, last = coarser, last>>1
			shift++
		}
	}
	for i, at := range slices.Sorted(maps.Keys(number)) {
		number[at] = uint32(i)
	}
	return shift, number
}

// runs finds the numbers of blocks, many times the same after another.
type runs struct {
	number map[uint64]uint32
	last   uint64
	is     uint32
	found  bool
}

func (r *runs) of(block uint64) uint32 {
	if block != r.last || !r.found {
		r.last, r.is, r.found = block, r.number[block], true
	}
	return r.is
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
