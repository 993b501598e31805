package tracer

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// Spool keeps pages in a file, those of all CPUs as they come, and gives those of each back.
type Spool struct {
	f        *os.File
	pageSize int
	end      atomic.Int64
	cpus     sync.Map // of int to *spooled
}

// spooled is what there is of a CPU.
type spooled struct {
	buf     []byte
	extents []extent
	size    int64
}

// extent is where some pages are, in bytes.
type extent struct{ off, size int64 }

// spoolBuffer is how much of a CPU is written at once, in bytes.
const spoolBuffer = 256 << 10

// NewSpool returns a Spool in an empty file, which is the caller's to close.
func NewSpool(f *os.File, pageSize int) *Spool { return &Spool{f: f, pageSize: pageSize} }

// WritePage appends a page of a CPU.
func (s *Spool) WritePage(cpu int, page []byte) error {
	v, ok := s.cpus.Load(cpu)
	if !ok {
		v, _ = s.cpus.LoadOrStore(cpu, &spooled{})
	}
	c := v.(*spooled)
	if c.buf == nil {
		c.buf = make([]byte, 0, max(spoolBuffer/s.pageSize, 1)*s.pageSize)
	}
	c.buf = append(c.buf, page...)
	if cap(c.buf)-len(c.buf) >= s.pageSize {
		return nil
	}
	return s.flush(c)
}

func (s *Spool) flush(c *spooled) error {
	n := int64(len(c.buf))
	if n == 0 {
		return nil
	}
	off := s.end.Add(n) - n
	if _, err := s.f.WriteAt(c.buf, off); err != nil {
		return fmt.Errorf("keep what was traced: %w", err)
	}
	c.buf = c.buf[:0]
	c.size += n
	if last := len(c.extents) - 1; last >= 0 && c.extents[last].off+c.extents[last].size == off {
		c.extents[last].size += n
	} else {
		c.extents = append(c.extents, extent{off, n})
	}
	return nil
}

// CPU returns what reads the pages of a CPU, and their size in bytes. No more may be written
// of it then.
func (s *Spool) CPU(cpu int) (io.Reader, int64, error) {
	v, ok := s.cpus.Load(cpu)
	if !ok {
		return nil, 0, nil
	}
	c := v.(*spooled)
	if err := s.flush(c); err != nil {
		return nil, 0, err
	}
	var parts []io.Reader
	for _, e := range c.extents {
		parts = append(parts, io.NewSectionReader(s.f, e.off, e.size))
	}
	return io.MultiReader(parts...), c.size, nil
}
