package timeorder

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
)

// spill is a temporary file of runs, each of which is in order:
//
//	run  record…
//	record  time u64, place u64, length u32, bytes; little-endian
//
// Runs lie where there is room between those that are still to be read, so that it grows with
// what waits, not with all that was sorted.
type spill struct {
	f    *os.File
	name string // empty where it has been removed from its directory
	size int64
	runs runHeap
	held []*run // those of runs, in the order of the file
	seq  int
}

// run reads one run.
type run struct {
	r        *bufio.Reader
	from, to int64 // where it lies in the file
	seq      int   // of earlier runs the records were added earlier
	record   Record
	buf      []byte
}

const (
	spillHead = 20
	readSize  = 16 << 10
)

// newSpill makes the file, in a directory or where the system has temporary files.
func newSpill(dir string) (*spill, error) {
	f, err := os.CreateTemp(dir, "kprof-*.order")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file to sort records in: %w", err)
	}
	s := &spill{f: f, name: f.Name()}
	if os.Remove(s.name) == nil {
		s.name = ""
	}
	return s, nil
}

func (s *spill) waiting() bool { return len(s.runs) > 0 }

// add writes the items of a Sorter, which are in order, as a run.
func (s *spill) add(o *Sorter) error {
	size := int64(0)
	for i := range o.items {
		size += spillHead + int64(o.items[i].n)
	}
	i, from := s.room(size)
	w := bufio.NewWriterSize(io.NewOffsetWriter(s.f, from), 1<<18)
	var head [spillHead]byte
	for i := range o.items {
		x := o.record(i)
		binary.LittleEndian.PutUint64(head[:], x.Time)
		binary.LittleEndian.PutUint64(head[8:], x.Place)
		binary.LittleEndian.PutUint32(head[16:], uint32(len(x.Bytes)))
		// A bufio.Writer keeps its first error for Flush.
		_, _ = w.Write(head[:])
		_, _ = w.Write(x.Bytes)
	}
	s.size = max(s.size, from+size)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("sort records in a temporary file: %w", err)
	}
	r := &run{r: bufio.NewReaderSize(io.NewSectionReader(s.f, from, size), readSize), from: from, to: from + size, seq: s.seq}
	s.seq++
	if more, err := r.read(); err != nil || !more {
		return err
	}
	heap.Push(&s.runs, r)
	s.held = slices.Insert(s.held, i, r)
	return nil
}

// room is where in the file so many bytes have room, and before which of the runs held that is.
func (s *spill) room(size int64) (before int, from int64) {
	for i, r := range s.held {
		if r.from-from >= size {
			return i, from
		}
		from = r.to
	}
	return len(s.held), from
}

// first returns the run with the earliest record, nil when there is none.
func (s *spill) first() *run {
	if len(s.runs) == 0 {
		return nil
	}
	return s.runs[0]
}

// next goes on from the record of the first run.
func (s *spill) next() error {
	more, err := s.runs[0].read()
	if err != nil {
		return err
	}
	if more {
		heap.Fix(&s.runs, 0)
	} else {
		done := heap.Pop(&s.runs).(*run)
		s.held = slices.DeleteFunc(s.held, func(r *run) bool { return r == done })
	}
	return nil
}

// shrink gives back the space of the file behind what is still to be read, where that is most of it.
func (s *spill) shrink() error {
	end := int64(0)
	if n := len(s.held); n > 0 {
		end = s.held[n-1].to
	}
	if s.size == 0 || end > s.size/2 {
		return nil
	}
	s.size = end
	return s.f.Truncate(end)
}

func (s *spill) close() error {
	err := s.f.Close()
	if s.name != "" {
		if removed := os.Remove(s.name); err == nil {
			err = removed
		}
	}
	return err
}

// read reads the next record, false at the end of the run.
func (r *run) read() (bool, error) {
	var head [spillHead]byte
	if _, err := io.ReadFull(r.r, head[:]); err == io.EOF {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("read sorted records of a temporary file: %w", err)
	}
	n := int(binary.LittleEndian.Uint32(head[16:]))
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	r.record = Record{binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(head[8:]), r.buf[:n]}
	if _, err := io.ReadFull(r.r, r.record.Bytes); err != nil {
		return false, fmt.Errorf("read sorted records of a temporary file: %w", err)
	}
	return true, nil
}

// runHeap has the run with the earliest record first.
type runHeap []*run

func (h runHeap) Len() int { return len(h) }
func (h runHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	return a.record.Time < b.record.Time || a.record.Time == b.record.Time && a.seq < b.seq
}
func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)   { *h = append(*h, x.(*run)) }
func (h *runHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return x
}
