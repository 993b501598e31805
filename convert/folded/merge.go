package folded

import (
	"cmp"
	"hash/maphash"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"kprof/convert/stacks"
)

// each runs f(0) … f(n-1), each in a goroutine of its own, and waits for all.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

func workers() int { return runtime.GOMAXPROCS(0) }

// mergeRows sums the rows of the event whose names are the same and returns one
// line for each, in no order, and fills in firstRows, unless it is nil: for each row
// that of its line's stack and labels.
//
// First each stack gets the first one that reads the same; then rows are put beside
// each other by that, in the order of their numbers, and summed by their comm.
func mergeRows(s *stacks.Set, f *frames, o Options, firstRows []uint32) []line {
	same := sameText{first: f.sameStacks(s, false)}
	same.nothing = f.stackOfNothing(s, same.first)
	if f.java != nil {
		same.java = f.sameStacks(s, true)
	}
	reads := make([]uint32, s.NumSamples()) // by row: the stack that it reads like, or none
	ends := make([]uint32, s.NumStacks())   // by that stack: where its rows end
	for row := range reads {
		x := s.Sample(row)
		reads[row] = none
		if x.Event == o.Event {
			reads[row] = same.of(s, x.Stack, f.comm[x.Labels])
			ends[reads[row]]++
		}
	}
	sum, groups := uint32(0), 0
	for id, n := range ends {
		ends[id] = sum // where they begin, until they are put there
		if sum += n; n > 0 {
			groups++
		}
	}
	rows := make([]uint32, sum)
	for row, id := range reads {
		if id != none {
			rows[ends[id]] = uint32(row)
			ends[id]++
		}
	}
	lines := make([]line, 0, groups)
	begin := uint32(0)
	for _, end := range ends {
		if begin < end {
			lines = f.sumRows(lines, s, rows[begin:end], o.Column, firstRows)
		}
		begin = end
	}
	return lines
}

// sumRows appends a line for each comm among rows that read the same but for it, and
// whose sum is not 0.
func (f *frames) sumRows(lines []line, s *stacks.Set, rows []uint32, column int, firstRows []uint32) []line {
	root := func(row uint32) uint32 { return f.comm[s.Sample(int(row)).Labels].name }
	if len(rows) > 1 {
		slices.SortStableFunc(rows, func(a, b uint32) int { return cmp.Compare(root(a), root(b)) })
	}
	for len(rows) > 0 {
		x := s.Sample(int(rows[0]))
		l := line{stack: x.Stack, labels: x.Labels, weight: x.Values[column]}
		n := 1
		for of := root(rows[0]); n < len(rows) && root(rows[n]) == of; n++ {
			l.weight += s.Sample(int(rows[n])).Values[column]
		}
		if firstRows != nil {
			for _, row := range rows[:n] {
				firstRows[row] = rows[0]
			}
		}
		rows = rows[n:]
		if l.weight == 0 {
			continue
		}
		if len(lines) == cap(lines) {
			lines = slices.Grow(lines, len(lines)+1) // twice, where append would copy at every 1.25
		}
		lines = append(lines, l)
	}
	return lines
}

// sameText says which stacks read the same.
type sameText struct {
	first   []uint32 // by stack, the first of those that read as it does
	java    []uint32 // like first, under java's comm; nil if there is none
	nothing uint32   // what a stack without frames reads like without a comm
}

func (t *sameText) of(s *stacks.Set, id stacks.StackID, r root) uint32 {
	switch {
	case r.java:
		return t.java[id]
	case r.name == none && t.nothing != none && len(s.Stack(id)) == 0:
		return t.nothing
	}
	return t.first[id]
}

// stackOfNothing is the first stack that reads "[unknown]", or none.
func (f *frames) stackOfNothing(s *stacks.Set, first []uint32) uint32 {
	for id := range first {
		if stack := s.Stack(stacks.StackID(id)); len(stack) == 1 && f.one[stack[0]] == f.nothing {
			return first[id]
		}
	}
	return none
}

// sameStacks returns for each stack the first that has the same names.
func (f *frames) sameStacks(s *stacks.Set, java bool) []uint32 {
	n, w := s.NumStacks(), workers()
	seed := maphash.String(maphash.MakeSeed(), "folded")
	hashes := make([]uint64, n)
	each(w, func(i int) {
		for id := n * i / w; id < n*(i+1)/w; id++ {
			hashes[id] = f.hashStack(seed, s.Stack(stacks.StackID(id)), java)
		}
	})
	return f.firstStacks(s, hashes, java)
}

// hashed is a stack and the hash of its names.
type hashed struct {
	hash uint64
	id   uint32
}

// perPart is about how many stacks are compared with each other at a time.
const perPart = 2048

// firstStacks is sameStacks once the names of each stack are hashed. The stacks are
// parted by their hashes, once; then each part is sorted by hash and number.
func (f *frames) firstStacks(s *stacks.Set, hashes []uint64, java bool) []uint32 {
	shift := 64 - bits.Len(uint(len(hashes)/perPart))
	ends := make([]int, 1<<(64-shift))
	for _, h := range hashes {
		ends[h>>shift]++
	}
	sum := 0
	for i, n := range ends {
		ends[i] = sum // where it begins, until it is filled
		sum += n
	}
	all := make([]hashed, len(hashes))
	for id, h := range hashes {
		part := h >> shift
		all[ends[part]] = hashed{h, uint32(id)}
		ends[part]++
	}
	first := make([]uint32, len(hashes))
	var next atomic.Int64
	each(min(workers(), len(ends)), func(int) {
		for part := int(next.Add(1) - 1); part < len(ends); part = int(next.Add(1) - 1) {
			begin := 0
			if part > 0 {
				begin = ends[part-1]
			}
			f.firstOf(s, all[begin:ends[part]], java, first)
		}
	})
	return first
}

// firstOf fills in first for some stacks, among which are all of the same hashes.
func (f *frames) firstOf(s *stacks.Set, some []hashed, java bool, first []uint32) {
	slices.SortFunc(some, func(a, b hashed) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.id, b.id)) })
	var distinct, a, b []uint32
	for i, x := range some {
		if i == 0 || some[i-1].hash != x.hash {
			distinct = distinct[:0]
		}
		first[x.id] = x.id
		if len(distinct) > 0 {
			a = f.appendFrames(a[:0], s.Stack(stacks.StackID(x.id)), java)
		}
		for _, id := range distinct {
			if b = f.appendFrames(b[:0], s.Stack(stacks.StackID(id)), java); slices.Equal(a, b) {
				first[x.id] = id
				break
			}
		}
		if first[x.id] == x.id {
			distinct = append(distinct, x.id)
		}
	}
}

// hashStack is seeded, so that no file can be made whose stacks all collide.
func (f *frames) hashStack(seed uint64, stack []uint32, java bool) uint64 {
	h := seed
	for i := len(stack) - 1; i >= 0; i-- {
		if id := f.one[stack[i]]; id >= many {
			for _, id := range f.lists[id&^many] {
				h = mix(h, f.shown(id, java))
			}
		} else {
			h = mix(h, f.shown(id, java))
		}
	}
	return h
}

// shown is what a name is under java's comm or any other.
func (f *frames) shown(id uint32, java bool) uint32 {
	if java {
		return f.java[id]
	}
	return id
}

func mix(h uint64, x uint32) uint64 {
	hi, lo := bits.Mul64(h^uint64(x), 0x9e3779b97f4a7c15)
	return hi ^ lo
}
