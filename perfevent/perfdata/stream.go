package perfdata

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"kprof/perfevent/abi"
)

// Record is one record of a recording.
type Record struct {
	abi.Header
	Offset  int64  // of the header in the file; of the compressed record for one that was inside it
	Payload []byte // what follows the header; valid until the next record is read
}

// TruncatedError says where a recording ends inside a record, or in something
// that is none. All before it has been read.
type TruncatedError struct {
	Offset int64  // where the record that cannot be read starts; -1 where only Reason says it
	Reason string // what is wrong with it
	File   string // of a recording in a directory
}

func (e *TruncatedError) Error() string {
	if e.Offset < 0 {
		return "recording is not complete: " + e.Reason
	}
	if e.File != "" {
		return fmt.Sprintf("%s ends at offset %d: %s", e.File, e.Offset, e.Reason)
	}
	return fmt.Sprintf("recording ends at offset %d: %s", e.Offset, e.Reason)
}

// streamBuffer is how many bytes a stream asks for at once.
const streamBuffer = 1 << 20

// stream splits bytes into records. It holds one buffer and never a whole
// recording.
type stream struct {
	r      io.Reader
	ahead  *readAhead // that reads r, or nil
	order  abi.Order
	off    int64 // of buf[lo]
	buf    []byte
	lo, hi int
	eof    bool
	failed error // why no more can be read; eof is set
}

func newStream(r io.Reader, o abi.Order, off int64, size int) *stream {
	return &stream{r: r, order: o, off: off, buf: make([]byte, size)}
}

// newSectionStream returns a stream of the n bytes of r at off. It is to be
// closed.
func newSectionStream(r io.ReaderAt, o abi.Order, off, n int64) *stream {
	section := io.NewSectionReader(r, off, n)
	if n < 2*aheadChunk {
		return newStream(section, o, off, int(max(n, 0)+1))
	}
	return &stream{r: section, ahead: newReadAhead(r, off, off+n), order: o, off: off}
}

// close ends what the stream does by itself.
func (s *stream) close() {
	if s.ahead != nil {
		s.ahead.stop()
		s.ahead = nil
	}
}

// fill tries to have n bytes in the buffer and returns whether it has.
func (s *stream) fill(n int) (bool, error) {
	if s.hi-s.lo >= n {
		return true, nil
	}
	if s.ahead != nil {
		return s.fillAhead(n)
	}
	if n > len(s.buf) {
		b := make([]byte, n)
		s.hi = copy(b, s.buf[s.lo:s.hi])
		s.buf, s.lo = b, 0
	} else if s.lo > 0 {
		s.hi = copy(s.buf, s.buf[s.lo:s.hi])
		s.lo = 0
	}
	for s.hi < n && !s.eof {
		m, err := s.r.Read(s.buf[s.hi:])
		s.hi += m
		s.end(err)
	}
	return s.filled(n)
}

// end takes up what a read said after its bytes.
func (s *stream) end(err error) {
	if s.eof = err != nil; s.eof && err != io.EOF {
		s.failed = fmt.Errorf("read at offset %d: %w", s.off+int64(s.hi-s.lo), err)
	}
}

// filled is what fill returns.
func (s *stream) filled(n int) (bool, error) {
	if s.hi-s.lo >= n {
		return true, nil
	}
	return false, s.failed
}

// fillAhead is fill by chunks that have been read ahead; n is at most aheadRoom.
func (s *stream) fillAhead(n int) (bool, error) {
	for s.hi-s.lo < n && !s.eof {
		p := s.ahead.next()
		left := s.hi - s.lo
		lo := aheadRoom - left
		copy(p.buf[lo:], s.buf[s.lo:s.hi])
		s.ahead.done(s.buf)
		s.buf, s.lo, s.hi = p.buf, lo, aheadRoom+p.n
		s.end(p.err)
	}
	return s.filled(n)
}

// take returns the next n bytes, at most 64 KiB, or io.ErrUnexpectedEOF.
func (s *stream) take(n int) ([]byte, error) {
	ok, err := s.fill(n)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, io.ErrUnexpectedEOF
	}
	b := s.buf[s.lo : s.lo+n]
	s.lo += n
	s.off += int64(n)
	return b, nil
}

// next reads the next record into rec. It returns io.EOF at the end and a
// *TruncatedError where no whole record is left.
func (s *stream) next(rec *Record) error {
	ok, err := s.fill(abi.HeaderSize)
	if err != nil {
		return err
	}
	if !ok {
		if s.hi == s.lo {
			return io.EOF
		}
		return &TruncatedError{Offset: s.off, Reason: fmt.Sprintf("%d bytes are left of a record's header", s.hi-s.lo)}
	}
	h := abi.DecodeHeader(s.buf[s.lo:], s.order)
	size := int(h.Size)
	if largeSize(h) > 0 {
		size = abi.HeaderSize // what it holds is passed over as what follows a record
	}
	if size < abi.HeaderSize {
		return &TruncatedError{Offset: s.off, Reason: fmt.Sprintf("record of type %d says its size is %d", uint32(h.Type), size)}
	}
	ok, err = s.fill(size)
	if err != nil {
		return err
	}
	if !ok && h.Type == abi.RecordFinishedRound && s.hi-s.lo == abi.HeaderSize {
		// How Writer ends a commit: the body is beyond the data.
		return &TruncatedError{Offset: s.off, Reason: "it was never closed, its recorder must have been killed"}
	}
	if !ok {
		return &TruncatedError{Offset: s.off, Reason: fmt.Sprintf("%d bytes are left of a record of %d", s.hi-s.lo, size)}
	}
	rec.Header = h
	rec.Offset = s.off
	rec.Payload = s.buf[s.lo+abi.HeaderSize : s.lo+size : s.lo+size]
	s.lo += size
	s.off += int64(size)
	return nil
}

// skip passes over n bytes that belong to a record, or returns a *TruncatedError
// if there are fewer.
func (s *stream) skip(n int64) error {
	have := int64(s.hi - s.lo)
	if n <= have {
		s.lo += int(n)
		s.off += n
		return nil
	}
	s.lo, s.hi = 0, 0
	s.off += have
	if err := s.stopAhead(); err != nil {
		return err
	}
	m, err := s.skipUnread(n - have)
	s.off += m
	switch {
	case errors.Is(err, io.EOF):
		return &TruncatedError{Offset: s.off, Reason: fmt.Sprintf("%d bytes are missing that belong to the record before", n-have-m)}
	case err != nil:
		return fmt.Errorf("read at offset %d: %w", s.off, err)
	}
	return nil
}

// stopAhead goes on without reading ahead, from s.off on: where much is skipped
// it does not help.
func (s *stream) stopAhead() error {
	if s.ahead == nil {
		return nil
	}
	s.close()
	s.eof = false
	section := s.r.(*io.SectionReader)
	_, base, _ := section.Outer()
	_, err := section.Seek(s.off-base, io.SeekStart)
	return err
}

// skipUnread passes over n bytes of r, or up to its end, and returns how many.
func (s *stream) skipUnread(n int64) (int64, error) {
	file, ok := s.r.(*io.SectionReader)
	if !ok {
		return io.CopyN(io.Discard, s.r, n)
	}
	at, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	if left := file.Size() - at; n > left {
		_, err = file.Seek(0, io.SeekEnd)
		return left, cmp.Or(err, io.EOF)
	}
	_, err = file.Seek(n, io.SeekCurrent)
	return n, err
}
