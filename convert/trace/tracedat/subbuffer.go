package tracedat

import (
	"kprof/perfevent/abi"
	"kprof/perfevent/ringpage"
)

// maxSubBuffer is as large as pages are taken to be where the file says less; the kernel has 512 KiB at most with pages
// of 4 KiB (kernel/trace/ring_buffer.c, ring_buffer_subbuf_order_set).
const maxSubBuffer = 8 << 20

// growPages makes the pages of a buffer as large as they are, where the file says less: trace-cmd convert writes the
// size of a page of memory, also where sub-buffers are larger (buffer_subbuf_size_kb, Linux 6.8).
func (f *File) growPages(b *Buffer) {
	size := b.Layout.Size
	for _, c := range b.CPUs {
		p := f.Pages(b, c, 1)
		if page, err := p.Next(); err != nil || b.fits(page) {
			continue
		}
		if !c.compressed {
			if p = f.Pages(b, c, 2*maxSubBuffer); p.fill() != nil {
				continue
			}
		}
		size = max(size, subBuffer(&b.Layout, p.buf, c.size, c.compressed))
	}
	b.Layout.Size = size
}

// fits reports whether a page has no more events than it has room for.
func (b *Buffer) fits(page []byte) bool {
	_, end, ok := pageHead(&b.Layout, page, 0)
	return !ok || end <= b.Layout.Size
}

// pageHead is the time of the page at an offset, and where its events end, from its begin on.
func pageHead(l *ringpage.Layout, b []byte, at int) (time uint64, end int, ok bool) {
	if at+l.DataOffset > len(b) {
		return 0, 0, false
	}
	low := 0 // where in the word with the size its lower half is
	if l.Order == abi.BigEndian && l.LongSize == 8 {
		low = 4
	}
	const sizeMask = 1<<27 - 1 // bits above say that some were lost
	return l.Order.Uint64(b[at:]), l.DataOffset + int(l.Order.Uint32(b[at+8+low:])&sizeMask), true
}

// subBuffer is how large the pages of a CPU are that begin with head: as large as they say where the first one has more
// events than fit, the next one agrees, and nothing is left behind the last; else 0.
func subBuffer(l *ringpage.Layout, head []byte, whole int64, compressed bool) int {
	first, end, ok := pageHead(l, head, 0)
	if !ok || end <= l.Size {
		return 0
	}
	size := l.Size
	for size < end {
		size *= 2
	}
	if size > maxSubBuffer || !compressed && whole%int64(size) != 0 {
		return 0
	}
	if next, end, ok := pageHead(l, head, size); ok && (next < first || end > size) {
		return 0
	}
	return size
}
