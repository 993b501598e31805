package stacks

import (
	"math/rand/v2"
	"testing"

	"kprof/perfevent/memtest"
)

// TestBlockSums adds samples in no order of time, many more than blocks, and compares what
// the blocks have with a sum over all samples. Both halves merged come to the same.
func TestBlockSums(t *testing.T) {
	const rows, samples = 50, 100_000
	type key struct{ block, row uint64 }
	newSet := func() *Set {
		s := New(Event{Name: "e", Values: []ValueType{{"samples", "count"}}})
		for i := range rows {
			s.AddLocation(NoMapping, uint64(i), KindUnknown)
		}
		return s
	}
	r := rand.New(rand.NewPCG(1, 2))
	all, halves := newSet(), [2]*Set{newSet(), newSet()}
	type sample struct {
		time  uint64
		row   uint32
		value int64
	}
	var list []sample
	for i := range samples {
		at := uint64(1e12) + uint64(i)*1000 + r.Uint64N(1e6)
		row, value := r.Uint32N(rows), r.Int64N(100)
		list = append(list, sample{at, row, value})
		for _, s := range []*Set{all, halves[i/(samples/2)]} {
			n := s.Add(0, s.Intern([]uint32{row}), 0, value)
			s.AddBlockSum(BlockSum{Time: at, Sample: uint32(n), Count: 1, Value: value})
			if len(s.BlockSums) > 2*fewSums {
				t.Fatalf("%d sums are kept", len(s.BlockSums))
			}
		}
	}
	halves[0].SumBlocks()
	halves[1].SumBlocks()
	halves[0].Merge(halves[1])
	all.SumBlocks()
	for _, s := range []*Set{all, halves[0]} {
		want := map[key]BlockSum{}
		for _, x := range list {
			k := key{x.time >> s.BlockShift(), uint64(x.row)}
			b := want[k]
			b.Count, b.Value = b.Count+1, b.Value+x.value
			want[k] = b
		}
		blocks := map[uint64]bool{}
		for i, b := range s.BlockSums {
			if i > 0 && (b.Time < s.BlockSums[i-1].Time || b.Time == s.BlockSums[i-1].Time && b.Sample <= s.BlockSums[i-1].Sample) {
				t.Fatalf("sum %d is not in order", i)
			}
			blocks[b.Time] = true
			k := key{b.Time >> s.BlockShift(), uint64(s.Stack(s.Sample(int(b.Sample)).Stack)[0])}
			if w := want[k]; w.Count != b.Count || w.Value != b.Value {
				t.Fatalf("%v: %d samples of %d in all, wanted %d of %d", k, b.Count, b.Value, w.Count, w.Value)
			}
			delete(want, k)
		}
		if len(want) > 0 {
			t.Errorf("%d sums are missing", len(want))
		}
		if len(blocks) > MaxBlocks || len(blocks) < MaxBlocks/4 {
			t.Errorf("%d blocks", len(blocks))
		}
	}
	// Without some rows, there are the sums of the others.
	var left int64
	for _, b := range all.BlockSums {
		if loc := all.Stack(all.Sample(int(b.Sample)).Stack)[0]; loc%2 == 0 {
			left += b.Value
		}
	}
	all.Restack(func(stack []uint32) ([]uint32, bool) { return []uint32{0}, stack[0]%2 == 0 })
	var sum int64
	for _, b := range all.BlockSums {
		sum += b.Value
	}
	if sum != left || left != all.Totals(0)[0] || len(all.BlockSums) > MaxBlocks {
		t.Errorf("%d in %d sums after half of the rows were dropped, wanted %d", sum, len(all.BlockSums), left)
	}
}

// TestBlocksOfNothing: a Set without sums does not make the blocks of others longer.
func TestBlocksOfNothing(t *testing.T) {
	sums := func(shift uint8, times ...uint64) *Set {
		s := New(Event{Name: "e", Values: []ValueType{{"samples", "count"}}})
		s.SetBlockShift(shift)
		row := s.Add(0, s.Intern([]uint32{s.AddLocation(NoMapping, 1, KindUser)}), 0, 1)
		for _, at := range times {
			s.AddBlockSum(BlockSum{Time: at, Sample: uint32(row), Count: 1, Value: 1})
		}
		s.SumBlocks()
		return s
	}
	m := NewMerger(MergeOptions{})
	for _, s := range []*Set{sums(63), sums(4, 16, 32), sums(63)} {
		if err := m.Add(s, Addend{}); err != nil {
			t.Fatal(err)
		}
	}
	if s := m.Set(); s.BlockShift() != 4 || len(s.BlockSums) != 2 {
		t.Errorf("%d sums of blocks of %d bits, wanted 2 of 4", len(s.BlockSums), s.BlockShift())
	}
}

// TestBlocksOfManyRows: to add samples of few among many rows takes memory, and so time, by
// how many samples these are.
func TestBlocksOfManyRows(t *testing.T) {
	s := New(Event{Name: "e", Values: []ValueType{{"samples", "count"}}})
	s.rows.n = 1 << 20 // which are not looked at
	within := memtest.Within(t, 200<<20)
	for i := range 1 << 21 {
		s.AddBlockSum(BlockSum{Time: 1, Sample: uint32(i % 2), Count: 1, Value: 1})
	}
	s.SumBlocks()
	within()
	if len(s.BlockSums) != 2 || s.BlockSums[1].Count != 1<<20 {
		t.Errorf("sums %v", s.BlockSums)
	}
}
