//go:build linux

package perfevent

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRing plays the kernel's part: it writes at head what has room before
// tail, of all sizes, and the reader must get the same bytes in the same order.
func TestRing(t *testing.T) {
	const size = 256
	meta := new(unix.PerfEventMmapPage)
	r := &Ring{data: make([]byte, size), meta: meta}
	rng := rand.New(rand.NewPCG(1, 2))
	var wrote, read []byte
	next, wraps := uint64(0), 0
	for len(wrote) < 100*size {
		for n := 8 * (1 + rng.IntN(8)); meta.Data_head+uint64(n)-meta.Data_tail <= size && rng.IntN(4) > 0; {
			for range n / 8 {
				next++
				at := meta.Data_head % size
				binary.LittleEndian.PutUint64(r.data[at:], next)
				wrote = append(wrote, r.data[at:at+8]...)
				meta.Data_head += 8
			}
		}
		a, b := r.Peek()
		if len(b) > 0 {
			wraps++
		}
		read = append(append(read, a...), b...)
		if again, _ := r.Peek(); len(again) != len(a) {
			t.Fatal("a second Peek returns something else")
		}
		r.Consume(len(a) + len(b))
	}
	if !bytes.Equal(wrote[:len(read)], read) || wraps < 10 {
		t.Fatalf("read %d bytes of %d, which differ; wrapped %d times", len(read), len(wrote), wraps)
	}
	if n := testing.AllocsPerRun(100, func() { r.Peek(); r.Consume(0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRingConsumePart(t *testing.T) {
	meta := &unix.PerfEventMmapPage{Data_head: 48}
	r := &Ring{data: make([]byte, 64), meta: meta}
	r.Peek()
	r.Consume(16)
	if a, _ := r.Peek(); len(a) != 32 || meta.Data_tail != 16 {
		t.Errorf("%d left, tail %d", len(a), meta.Data_tail)
	}
	defer func() {
		if recover() == nil {
			t.Error("consumed more than there is")
		}
	}()
	r.Consume(40)
}

func TestRingBytes(t *testing.T) {
	for want, got := range map[int]int{0: 4096, 1: 4096, 4097: 8192, 8 << 20: 8 << 20, math.MaxInt: 1 << 30} {
		if n := RingBytes(want); n != got && unix.Getpagesize() == 4096 {
			t.Errorf("%d: %d, want %d", want, n, got)
		}
	}
}
