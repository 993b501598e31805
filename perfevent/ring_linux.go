package perfevent

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"kprof/perfevent/internal/errkind"
)

// Ring is the memory into which the kernel writes the records of one CPU: a
// control page and a data area of 2^n pages (include/uapi/linux/perf_event.h,
// struct perf_event_mmap_page). Positions only grow; a position's place in the
// data area is its remainder:
//
//	         tail          head
//	─────────┼──────────────┼──────────  positions, for ever
//	  free   │   unread     │   free
//
// The kernel moves head after writing, the reader moves tail after reading and
// the kernel writes nothing past tail + size. One goroutine reads.
type Ring struct {
	mem  []byte // control page and data
	data []byte
	meta *unix.PerfEventMmapPage
	tail uint64 // ours; published by Consume
	head uint64 // as of the last Peek
}

// MapRing maps a ring of size bytes, a power of two of at least a page (see
// RingBytes), of which owner becomes the owner: it is the counter that polls
// readable. The ring outlives owner.
func MapRing(owner *Counter, size int) (*Ring, error) {
	page := os.Getpagesize()
	if size < page || size&(size-1) != 0 {
		return nil, errkind.Errorf(os.ErrInvalid, "map ring of %d bytes: wants a power of two of at least %d", size, page)
	}
	mem, err := unix.Mmap(owner.fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		err = owner.wrap("map the ring of", err)
		if hint := hintRing(size); hint != "" {
			err = fmt.Errorf("%w (%s)", err, hint)
		}
		return nil, err
	}
	return &Ring{
		mem:  mem,
		data: mem[page : page+size],
		// The kernel put the structure at the start of the mapping, which is
		// page-aligned and longer than it. The pointer lives as long as mem.
		meta: (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0])),
	}, nil
}

// RingBytes is the size to ask of MapRing for at least want bytes.
func RingBytes(want int) int {
	size := os.Getpagesize()
	for size < want && size < 1<<30 {
		size *= 2
	}
	return size
}

// Size is the size of the data area in bytes.
func (r *Ring) Size() int { return len(r.data) }

// Peek returns what the kernel has written and Consume has not yet released:
// whole records, in order. b continues a where the data area wraps, so that a
// record may lie in both; records are aligned to eight bytes, so a header never
// does. The bytes are the ring's own and valid until Consume.
func (r *Ring) Peek() (a, b []byte) {
	// Go's atomic load is an acquire: what was written before head moved is
	// seen (the user space side of kernel/events/ring_buffer.c,
	// perf_output_put_handle).
	r.head = atomic.LoadUint64(&r.meta.Data_head)
	n := r.head - r.tail
	size := uint64(len(r.data))
	if n > size {
		// Cannot be, as the kernel stops at tail + size. Should it be, nothing
		// there is whole.
		r.tail = r.head
		return nil, nil
	}
	from := r.tail & (size - 1)
	if from+n <= size {
		return r.data[from : from+n], nil
	}
	return r.data[from:], r.data[:from+n-size]
}

// Consume releases the first n bytes of what Peek returned to the kernel.
func (r *Ring) Consume(n int) {
	if n < 0 || uint64(n) > r.head-r.tail {
		panic(fmt.Sprintf("perfevent: %d bytes consumed of %d", n, r.head-r.tail))
	}
	r.tail += uint64(n)
	// The store is a release: our reads are done before the kernel may write
	// there.
	atomic.StoreUint64(&r.meta.Data_tail, r.tail)
}

// Close unmaps the ring. A second Close does nothing.
func (r *Ring) Close() error {
	if r.mem == nil {
		return nil
	}
	mem := r.mem
	r.mem, r.data, r.meta = nil, nil, nil
	r.tail, r.head = 0, 0
	if err := unix.Munmap(mem); err != nil {
		return fmt.Errorf("unmap ring: %w", err)
	}
	return nil
}
