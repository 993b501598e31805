package symbolize

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sort"
	"sync/atomic"
)

// What a process supplies about its own code, in perf maps and jitdumps, is as large
// as it likes. So it is read from one end to the other without being kept: a cover
// notes where in the file the name of each sampled address is, and of all that only
// those names are kept, as far as a budget goes that all processes share.

// defaultSupplied is the budget in bytes.
const defaultSupplied = 64 << 20

// ErrTooMuch: perf maps and jitdumps have more than Options.SuppliedMemory.
var ErrTooMuch = errors.New("the budget of memory for perf maps and jitdumps is used up")

// budget bounds what is kept.
type budget struct {
	limit int64 // 0 is defaultSupplied
	used  atomic.Int64
}

// take reports whether n bytes more may be kept.
func (b *budget) take(n int) bool {
	limit := cmp.Or(b.limit, defaultSupplied)
	if b.used.Add(int64(n)) <= limit {
		return true
	}
	b.used.Add(-int64(n))
	return false
}

// mark is what a cover notes of a range.
type mark struct {
	time  uint64 // later ones are on top
	at    uint64 // where in the file it stands, plus 1: of one time, the later is on top
	extra uint64
}

func (m mark) over(other mark) bool {
	return m.time > other.time || m.time == other.time && m.at > other.at
}

// cover finds out, for each of some addresses, which of many ranges is on top. It
// takes O(log n) for a range and memory for n addresses, however many ranges there
// are: it is a segment tree, whose nodes have the topmost range that covers all of
// the addresses below them.
type cover struct {
	addrs []uint64 // sorted, each once
	nodes []mark   // of the root at 1; of addrs[i] at len(addrs)+i
}

func newCover(addrs []uint64) *cover {
	sorted := slices.Clone(addrs)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	return &cover{addrs: sorted, nodes: make([]mark, 2*len(sorted))}
}

// add notes the range from start to end, which is not part of it.
func (c *cover) add(start, end uint64, m mark) {
	n := len(c.addrs)
	lo := sort.Search(n, func(i int) bool { return c.addrs[i] >= start })
	if lo == n || c.addrs[lo] >= end {
		return // nearly always
	}
	hi := lo + sort.Search(n-lo, func(i int) bool { return c.addrs[lo+i] >= end })
	for l, r := lo+n, hi+n; l < r; l, r = l/2, r/2 {
		if l&1 != 0 {
			c.note(l, m)
			l++
		}
		if r&1 != 0 {
			r--
			c.note(r, m)
		}
	}
}

func (c *cover) note(node int, m mark) {
	if m.over(c.nodes[node]) {
		c.nodes[node] = m
	}
}

// top returns the topmost range that covers addrs[i].
func (c *cover) top(i int) (mark, bool) {
	var best mark
	for node := i + len(c.addrs); node > 0; node /= 2 {
		if c.nodes[node].over(best) {
			best = c.nodes[node]
		}
	}
	return best, best.at > 0
}

// suppliedTable has the frames of the addresses that were sampled.
type suppliedTable struct {
	addrs  []uint64 // sorted
	frames []Frame  // of each; one without a name is not known
}

func (t *suppliedTable) Lookup(dst []Frame, addr uint64) []Frame {
	if i, ok := slices.BinarySearch(t.addrs, addr); ok && t.frames[i].Name != "" {
		dst = append(dst, t.frames[i])
	}
	return dst
}

// both looks addresses up in one table, and what it does not know in another.
type both [2]Table

func (t both) Lookup(dst []Frame, addr uint64) []Frame {
	n := len(dst)
	if dst = t[0].Lookup(dst, addr); len(dst) == n {
		dst = t[1].Lookup(dst, addr)
	}
	return dst
}

// window reads a file from one end to the other, part by part.
type window struct {
	ctx context.Context
	r   io.ReaderAt
	buf []byte
	off int64 // in the file, of data
	// data is what was read of the file and not used yet.
	data []byte
	err  error // why there is no more
}

const windowSize = 1 << 16

func newWindow(ctx context.Context, r io.ReaderAt) *window {
	return &window{ctx: ctx, r: r, buf: make([]byte, windowSize)}
}

// seek goes to an offset.
func (w *window) seek(off uint64) {
	w.off, w.data, w.err = int64(min(off, 1<<62)), nil, nil
}

// fill reads on. It returns false if there is nothing more, or no room for it.
func (w *window) fill() bool {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err != nil || len(w.data) == len(w.buf) {
		return false
	}
	n := copy(w.buf, w.data)
	got, err := w.r.ReadAt(w.buf[n:], w.off+int64(n))
	w.data, w.err = w.buf[:n+got], err
	return got > 0
}

// need makes n bytes available, at most windowSize, and reports whether there are
// so many.
func (w *window) need(n int) bool {
	for len(w.data) < n {
		if !w.fill() {
			return false
		}
	}
	return true
}

// skip goes on by n bytes, without reading what lies between.
func (w *window) skip(n uint64) {
	if n <= uint64(len(w.data)) {
		w.data = w.data[n:]
		w.off += int64(n)
		return
	}
	const far = 1 << 62
	w.off = int64(min(uint64(w.off)+min(n, far), far))
	w.data = nil
	if w.err == io.EOF {
		w.err = nil // it is asked again
	}
}
