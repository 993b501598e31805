package render

import (
	"hash/maphash"
	"math/bits"
	"runtime"
	"slices"
	"sync"

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
// line for each, in no order.
//
// First each stack gets the first one that reads the same; then rows are summed by
// that and by their comm. Worker i takes what hashes to its part.
func mergeRows(s *stacks.Set, f *frames, o FoldedOptions) []line {
	same := sameText{first: f.sameStacks(s, false)}
	same.nothing = f.stackOfNothing(s, same.first)
	if f.java != nil {
		same.java = f.sameStacks(s, true)
	}
	parts := make([][]line, workers())
	each(len(parts), func(i int) { parts[i] = gather(s, f, o, &same, i, len(parts)) })
	return slices.Concat(parts...)
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
	case r.name == none && len(s.Stack(id)) == 0:
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

// firstStacks is sameStacks once the names of each stack are hashed.
func (f *frames) firstStacks(s *stacks.Set, hashes []uint64, java bool) []uint32 {
	first, w := make([]uint32, len(hashes)), workers()
	each(w, func(i int) {
		var a, b []uint32
		t := newIDTable(func(id uint32) uint64 { return hashes[id] })
		for id, h := range hashes {
			if partOf(h, w) != i {
				continue
			}
			first[id] = t.intern(uint32(id), func(other uint32) bool {
				if hashes[other] != h {
					return false
				}
				a = f.appendFrames(a[:0], s.Stack(stacks.StackID(id)), java)
				b = f.appendFrames(b[:0], s.Stack(stacks.StackID(other)), java)
				return slices.Equal(a, b)
			})
		}
	})
	return first
}

// partOf spreads hashes over n parts, by bits that tables do not use.
func partOf(h uint64, n int) int { return int((h >> 32) * uint64(n) >> 32) }

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

// gather sums the rows of part i of w.
func gather(s *stacks.Set, f *frames, o FoldedOptions, same *sameText, i, w int) []line {
	var lines []line
	seed := maphash.String(maphash.MakeSeed(), "lines")
	t := newIDTable(func(l uint32) uint64 { return mix(seed^lines[l].key>>32, uint32(lines[l].key)) })
	for row := range s.NumSamples() {
		x := s.Sample(row)
		r := f.comm[x.Labels]
		stack := same.of(s, x.Stack, r)
		if x.Event != o.Event || int(stack%uint32(w)) != i {
			continue
		}
		// The key is what the text depends on.
		l := line{x.Stack, x.Labels, x.Values[o.Column], uint64(r.name)<<32 | uint64(stack)}
		if len(lines) == cap(lines) {
			lines = slices.Grow(lines, len(lines)+1) // twice, where append would copy at every 1.25
		}
		lines = append(lines, l)
		last := uint32(len(lines) - 1)
		if at := t.intern(last, func(other uint32) bool { return lines[other].key == l.key }); at != last {
			lines[at].weight += l.weight
			lines = lines[:last]
		}
	}
	return slices.DeleteFunc(lines, func(l line) bool { return l.weight == 0 })
}

// idTable is an open-addressing table of ids; what they stand for, the caller
// knows.
type idTable struct {
	slots []uint32 // id plus 1, 0 for none
	used  int
	hash  func(id uint32) uint64
}

func newIDTable(hash func(id uint32) uint64) *idTable {
	return &idTable{slots: make([]uint32, 1<<10), hash: hash}
}

// intern returns the id that is the same as the given one, which it adds if there
// is none.
func (t *idTable) intern(id uint32, same func(other uint32) bool) uint32 {
	mask := uint64(len(t.slots) - 1)
	at := t.hash(id) & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		if other := t.slots[at] - 1; same(other) {
			return other
		}
	}
	t.slots[at] = id + 1
	if t.used++; 4*t.used > 3*len(t.slots) {
		t.grow()
	}
	return id
}

func (t *idTable) grow() {
	old := t.slots
	t.slots = make([]uint32, 2*len(old))
	mask := uint64(len(t.slots) - 1)
	for _, id := range old {
		if id == 0 {
			continue
		}
		at := t.hash(id-1) & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = id
	}
}
