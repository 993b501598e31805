package diff

// mostInBlock is the share of the samples that one block of time of a profile may have, if
// the variance of a run is to be taken from its blocks: in terms of that of a block of 32.
const mostInBlock = 2

// divideSums is divide for profiles that have sums over blocks of time, many of which make one
// of the run's. Those that are compared may be in few of them, such as those of a
// program that ran for a moment: nil then.
func divideSums(r *Run, stackOf []uint32, c *cost, per Per) *divided {
	s := r.Set
	var count, value, most, block int64
	d := newDivider(r, stackOf, c)
	for i := range s.BlockSums {
		b := &s.BlockSums[i]
		if i > 0 && b.Time != s.BlockSums[i-1].Time {
			block = 0
		}
		if !d.expect(int(b.Sample)) {
			continue
		}
		count += int64(b.Count)
		value += b.Value
		block += int64(b.Count)
		most = max(most, block)
	}
	if value != c.total || count < 2*maxBlocks || most*maxBlocks > mostInBlock*count || r.durations() {
		return nil
	}
	d.begin(per)
	first, last := s.BlockSums[0].Time, s.BlockSums[len(s.BlockSums)-1].Time
	before := int64(0) // samples in the blocks before
	for i := 0; i < len(s.BlockSums); {
		from, inside := i, int64(0)
		for ; i < len(s.BlockSums) && s.BlockSums[i].Time == s.BlockSums[from].Time; i++ {
			if stackOf[s.BlockSums[i].Sample] != many {
				inside += int64(s.BlockSums[i].Count)
			}
		}
		block := (before + inside/2) * maxBlocks / count
		if per != PerShare {
			block = min(int64(float64(s.BlockSums[from].Time-first)/float64(last-first)*maxBlocks), maxBlocks-1)
		}
		block = min(block, maxBlocks-1)
		before += inside
		for _, b := range s.BlockSums[from:i] {
			d.add(int(b.Sample), b.Value, block)
		}
	}
	return d.divided
}
