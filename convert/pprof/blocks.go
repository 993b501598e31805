package pprof

import (
	"encoding/binary"
	"math"
	"slices"

	"kprof/convert/stacks"
)

// Sums over blocks of time (stacks.Set.BlockSums) are in fields of our own, which other
// programs pass over, as the format of protocol buffers has it, and leave out where they
// write a profile: what they change has no sums that do not belong to it.
//
// profileBlocks is a message of numbers (varints): for how many bits of nanoseconds the blocks
// are long, how many blocks there are, of each at which multiple of its length it begins, less
// that of the one before, and then the usual value of a sample of each event, zigzag.
//
// sampleBlocks has, for each block in which the sample's row has samples, 4 times the
// number of the block, less that of the one before, and one of: 0 for one sample of the
// usual value; 1, and then how many of these; 2, and then how many samples, and their value,
// zigzag.
const (
	profileBlocks = 1000
	sampleBlocks  = 1000

	// maxBlocksSize is as long as a message of blocks can be.
	maxBlocksSize = (2 + stacks.MaxBlocks + stacks.MaxColumns) * binary.MaxVarintLen64

	blockOne   = 0
	blockCount = 1
	blockValue = 2
)

// blockWriter encodes the sums of a Set, which are in the order of blocks, by row.
type blockWriter struct {
	set    *stacks.Set
	starts []uint32 // of row i: entries[starts[i]:starts[i+1]]
	blocks []uint32 // number of the block of each of Set.BlockSums
	order  []uint32 // of Set.BlockSums, by row
	usual  []int64  // by event
	header buf
}

// newBlockWriter returns nil if the Set has no sums.
func newBlockWriter(s *stacks.Set) *blockWriter {
	if len(s.BlockSums) == 0 {
		return nil
	}
	w := &blockWriter{set: s, usual: make([]int64, len(s.Events))}
	w.starts = make([]uint32, s.NumSamples()+1)
	var times buf
	last, blocks := uint64(0), uint64(0)
	for i := range s.BlockSums {
		b := &s.BlockSums[i]
		w.starts[b.Sample+1]++
		if u := &w.usual[s.Sample(int(b.Sample)).Event]; *u == 0 && b.Count > 0 {
			*u = b.Value / int64(b.Count)
		}
		if at := b.Time >> s.BlockShift(); i == 0 || at != last {
			times.varint(at - last)
			last = at
			blocks++
		}
		w.blocks = append(w.blocks, uint32(blocks-1))
	}
	w.header.varint(uint64(s.BlockShift()))
	w.header.varint(blocks)
	w.header = append(w.header, times...)
	for _, u := range w.usual {
		w.header = binary.AppendVarint(w.header, u)
	}
	for i := range s.NumSamples() {
		w.starts[i+1] += w.starts[i]
	}
	w.order = make([]uint32, len(s.BlockSums))
	next := slices.Clone(w.starts)
	for i := range s.BlockSums {
		to := &next[s.BlockSums[i].Sample]
		w.order[*to] = uint32(i)
		*to++
	}
	return w
}

// append appends the sums of a row as a field of its sample. to is what is encoded first.
func (w *blockWriter) append(msg, to buf, row int) (newMsg, scratch buf) {
	to = to[:0]
	last := uint32(0)
	usual := w.usual[w.set.Sample(row).Event]
	for _, i := range w.order[w.starts[row]:w.starts[row+1]] {
		b := &w.set.BlockSums[i]
		delta := uint64(w.blocks[i]-last) * 4
		last = w.blocks[i]
		switch {
		case b.Value != usual*int64(b.Count):
			to.varint(delta + blockValue)
			to.varint(uint64(b.Count))
			to = binary.AppendVarint(to, b.Value)
		case b.Count == 1:
			to.varint(delta + blockOne)
		default:
			to.varint(delta + blockCount)
			to.varint(uint64(b.Count))
		}
	}
	if len(to) > 0 {
		msg.bytes(sampleBlocks, to)
	}
	return msg, to
}

// blockReader decodes sums. What it cannot decode it leaves out, and then all: the samples
// themselves are whole.
type blockReader struct {
	times []uint64
	usual []int64
	sums  []stacks.BlockSum // of the sample that was decoded last
}

// newBlockReader decodes the profile's message; nil if it is not well-formed.
func newBlockReader(msg []byte, s *stacks.Set) *blockReader {
	next := func() (u uint64, ok bool) {
		u, n := varint(msg)
		msg = msg[n:]
		return u, n > 0
	}
	shift, ok := next()
	n, ok2 := next()
	if !ok || !ok2 || shift > 63 || n == 0 || n > stacks.MaxBlocks {
		return nil
	}
	r := &blockReader{}
	at := uint64(0)
	for i := range n {
		delta, ok := next()
		if !ok || i > 0 && delta == 0 {
			return nil
		}
		at += delta
		if at > ^uint64(0)>>shift || at < delta {
			return nil
		}
		r.times = append(r.times, at<<shift)
	}
	for range s.Events {
		u, ok := next()
		if !ok {
			return nil
		}
		r.usual = append(r.usual, unzigzag(u))
	}
	s.SetBlockShift(uint8(shift))
	return r
}

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// decode decodes the sums of a sample, no two of one block; false if they are not well-formed. Their values are
// counts of usual ones where Sample is 0, and values where it is 1.
func (r *blockReader) decode(msg []byte) bool {
	r.sums = r.sums[:0]
	block := uint64(0)
	for len(msg) > 0 {
		u, n := varint(msg)
		msg = msg[max(n, 0):]
		again := u/4 == 0 && len(r.sums) > 0
		if block += u / 4; n == 0 || again || block >= uint64(len(r.times)) {
			return false
		}
		b := stacks.BlockSum{Time: r.times[block], Count: 1}
		if u%4 != blockOne {
			count, n := varint(msg)
			msg = msg[n:]
			if n == 0 || count > math.MaxUint32 {
				return false
			}
			b.Count = uint32(count)
		}
		switch u % 4 {
		case blockValue:
			value, n := varint(msg)
			msg = msg[n:]
			if n == 0 {
				return false
			}
			b.Value, b.Sample = unzigzag(value), 1
		case blockOne, blockCount:
		default:
			return false
		}
		r.sums = append(r.sums, b)
	}
	return true
}

// addTo gives the sums that were decoded last to a row.
func (r *blockReader) addTo(s *stacks.Set, row, event int) {
	for _, b := range r.sums {
		if b.Sample == 0 {
			b.Value = r.usual[event] * int64(b.Count)
		}
		b.Sample = uint32(row)
		s.AddBlockSum(b)
	}
}
