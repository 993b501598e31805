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
// line for each, in the order in which they first appear.
//
// Worker i hashes the i-th part of the rows; then it gathers, over all rows,
// those whose hash is its own. Names are compared where hashes are equal.
func mergeRows(s *stacks.Set, f *frames, o FoldedOptions) []line {
	n, w := s.NumSamples(), workers()
	seed := maphash.String(maphash.MakeSeed(), "folded")
	hashes := make([]uint64, n)
	each(w, func(i int) {
		var names []uint32
		for row := n * i / w; row < n*(i+1)/w; row++ {
			x := s.Sample(row)
			if x.Event != o.Event {
				continue
			}
			names = f.appendNames(names[:0], s, x.Stack, x.Labels)
			hashes[row] = hashNames(seed, names)
		}
	})
	parts := make([][]line, w)
	each(w, func(i int) { parts[i] = gather(s, f, o, hashes, i, w) })
	return slices.Concat(parts...)
}

// hashNames is seeded, so that no file can be made whose lines all collide.
func hashNames(seed uint64, names []uint32) uint64 {
	h := seed
	for _, id := range names {
		hi, lo := bits.Mul64(h^uint64(id), 0x9e3779b97f4a7c15)
		h = hi ^ lo
	}
	return h
}

// gather sums the rows of part i of w.
func gather(s *stacks.Set, f *frames, o FoldedOptions, hashes []uint64, i, w int) []line {
	var lines []line
	slots := make([]uint32, 1<<10) // index into lines, plus 1
	mask := uint64(len(slots) - 1)
	var a, b []uint32
	for row, h := range hashes {
		if int((h>>32)*uint64(w)>>32) != i {
			continue
		}
		x := s.Sample(row)
		if x.Event != o.Event {
			continue
		}
		weight := x.Values[o.Column]
		at := h & mask
		for ; slots[at] != 0; at = (at + 1) & mask {
			l := &lines[slots[at]-1]
			if l.key != h {
				continue
			}
			a = f.appendNames(a[:0], s, l.stack, l.labels)
			b = f.appendNames(b[:0], s, x.Stack, x.Labels)
			if slices.Equal(a, b) {
				l.weight += weight
				break
			}
		}
		if slots[at] != 0 {
			continue
		}
		if len(lines) == cap(lines) {
			lines = slices.Grow(lines, len(lines)+1) // twice, where append would copy at every 1.25
		}
		lines = append(lines, line{x.Stack, x.Labels, weight, h})
		slots[at] = uint32(len(lines))
		if 4*len(lines) > 3*len(slots) {
			slots = make([]uint32, 2*len(slots))
			mask = uint64(len(slots) - 1)
			for k, l := range lines {
				at := l.key & mask
				for slots[at] != 0 {
					at = (at + 1) & mask
				}
				slots[at] = uint32(k) + 1
			}
		}
	}
	return slices.DeleteFunc(lines, func(l line) bool { return l.weight == 0 })
}
