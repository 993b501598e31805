package folded

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"kprof/convert/stacks"
)

// sortLines sorts lines by their text, byte for byte, without making it.
//
// A line is its names with a ";" after each but the last, and no name holds a
// ";". So with every name ranked twice, as "name;" and as "name", lines compare
// as the sequences of these ranks do, the last name ranked by the second. As many
// ranks as fit make a word, and lines are sorted by a multikey quicksort over the
// words: by the first, then each run of equal ones by the next.
func sortLines(s *stacks.Set, f *frames, lines []line) {
	r := sorter{set: s, frames: f, width: bits.Len(uint(2 * len(f.names.All))), free: make(chan struct{}, workers()-1)}
	r.inner, r.last = rankNames(f.names.All)
	part := (len(lines) + workers()) / workers()
	var wg sync.WaitGroup
	for c := range slices.Chunk(lines, part) {
		wg.Go(func() { r.fill(c, 0) })
	}
	wg.Wait()
	r.sort(lines, 0)
	r.running.Wait()
}

type sorter struct {
	set         *stacks.Set
	frames      *frames
	inner, last []uint32 // ranks from 1, by name
	width       int      // of a rank, in bits

	free    chan struct{} // has room while there are CPUs to run on
	running sync.WaitGroup
}

// alone is the number of lines up to which another goroutine is not worth it.
const alone = 4096

// sort sorts lines that agree in the words before the given one, and of which
// that is filled in.
func (r *sorter) sort(lines []line, word int) {
	// Where the pivots are bad, SortFunc does better on what is left.
	for tries := 0; len(lines) > alone && tries < 64; tries++ {
		lo, hi := partition(lines)
		r.spawn(lines[:lo], word)
		equal := lines[lo:hi]
		if r.fill(equal, word+1) {
			r.spawn(equal, word+1)
		}
		lines = lines[hi:]
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(a.key, b.key) })
	for i := 0; i < len(lines); {
		j := i + 1
		for j < len(lines) && lines[j].key == lines[i].key {
			j++
		}
		if equal := lines[i:j]; len(equal) > 1 && r.fill(equal, word+1) {
			r.sort(equal, word+1)
		}
		i = j
	}
}

// spawn sorts lines in another goroutine, or here if there is none to spare.
func (r *sorter) spawn(lines []line, word int) {
	if len(lines) > alone {
		select {
		case r.free <- struct{}{}:
			r.running.Go(func() {
				r.sort(lines, word)
				<-r.free
			})
			return
		default:
		}
	}
	r.sort(lines, word)
}

// partition moves the lines below a middle key to the front and those above it to
// the end; those equal to it are then lines[lo:hi], at least one.
func partition(lines []line) (lo, hi int) {
	var sample [9]uint64
	for i := range sample {
		sample[i] = lines[i*(len(lines)-1)/8].key
	}
	slices.Sort(sample[:])
	pivot := sample[4]
	i, hi := 0, len(lines)
	for i < hi {
		switch k := lines[i].key; {
		case k < pivot:
			lines[lo], lines[i] = lines[i], lines[lo]
			lo++
			i++
		case k > pivot:
			hi--
			lines[i], lines[hi] = lines[hi], lines[i]
		default:
			i++
		}
	}
	return lo, hi
}

// fill puts the given word of each line into its key. It reports false, and does
// nothing, if the lines ended in the word before, which they have in common.
func (r *sorter) fill(lines []line, word int) bool {
	if word > 0 && lines[0].key&(1<<r.width-1) == 0 {
		return false
	}
	per := 64 / r.width
	var buf [128]uint32
	for i := range lines {
		names, ends := r.frames.window(buf[:0], r.set, &lines[i], word*per, (word+1)*per)
		var key uint64
		for k, id := range names {
			rank := r.inner[id]
			if ends && k == len(names)-1 {
				rank = r.last[id]
			}
			key = key<<r.width | uint64(rank)
		}
		lines[i].key = key << (r.width * (per - len(names)))
	}
	return true
}

// rankNames ranks names among all names with and without a ";" behind.
func rankNames(names []string) (inner, last []uint32) {
	inner, last = make([]uint32, len(names)), make([]uint32, len(names))
	byName, byInner := make([]uint32, len(names)), make([]uint32, len(names))
	for i := range names {
		byName[i], byInner[i] = uint32(i), uint32(i)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		slices.SortFunc(byName, func(a, b uint32) int { return strings.Compare(names[a], names[b]) })
	})
	slices.SortFunc(byInner, func(a, b uint32) int { return compareInner(names[a], names[b]) })
	wg.Wait()
	// Merge the two. The end of a name comes before a ";". Where byInner[j] is a
	// part of byName[i], what follows there is above ";": else byName[i] with a ";"
	// would have come before, and byName[i] before that.
	rank := uint32(0)
	for i, j := 0, 0; i < len(names) || j < len(names); {
		rank++
		if j == len(names) || i < len(names) && names[byName[i]] <= names[byInner[j]] {
			last[byName[i]] = rank
			i++
		} else {
			inner[byInner[j]] = rank
			j++
		}
	}
	return inner, last
}

// compareInner compares a+";" with b+";".
func compareInner(a, b string) int {
	n := min(len(a), len(b))
	if c := strings.Compare(a[:n], b[:n]); c != 0 || len(a) == len(b) {
		return c
	}
	if len(a) < len(b) {
		return cmp.Compare(';', b[n])
	}
	return cmp.Compare(a[n], ';')
}
