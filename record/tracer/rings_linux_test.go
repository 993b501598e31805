package tracer

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// pageList is what was written.
type pageList []string

func (l *pageList) WritePage(cpu int, page []byte) error {
	*l = append(*l, fmt.Sprintf("%d %s", cpu, page))
	return nil
}

// TestLastPages: what comes into a ring between a read that finds nothing and the end is
// read, and of what comes after the end no more than so many pages.
func TestLastPages(t *testing.T) {
	off := make(chan struct{})
	reads := 0
	r := ring{cpu: 3, buf: make([]byte, 2), read: func(buf []byte) (int, error) {
		switch reads++; reads {
		case 1:
			close(off)
			return 0, unix.EAGAIN
		case 2, 4:
			return copy(buf, "p1"), nil
		case 3:
			return 0, unix.EINTR
		default:
			return copy(buf, "q"), nil
		}
	}}
	var got pageList
	var read atomic.Uint64
	if err := r.copy(&got, off, 5, &read); err != nil {
		t.Fatal(err)
	}
	if want := []string{"3 p1", "3 p1", "3 q\x00", "3 q\x00"}; !slices.Equal(got, want) || read.Load() != uint64(len(want)) {
		t.Errorf("%q, %d pages, want %q", got, read.Load(), want)
	}
}
