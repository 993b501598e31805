package pprof

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// The reading half of the wire format. What is a field and what an error is
// google/pprof's to say (profile/proto.go): it takes field 0, and drops the bits of
// a varint past the 64th.

var (
	errVarint   = errors.New("bad varint")
	errWireType = errors.New("unknown wire type")
	errType     = errors.New("type mismatch")
	errShort    = errors.New("a field is longer than what holds it")
)

// field is the head of a field: its number, its wire type, and its value; of
// wireBytes the length of the value, which follows.
type field struct {
	num   uint64
	wire  byte
	value uint64
}

const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// varint decodes the number at the start of b, and returns how long it is there, 0
// if there is none.
func varint(b []byte) (u uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	if len(b) > 1 && b[1] < 0x80 {
		return uint64(b[0]&0x7f) | uint64(b[1])<<7, 2
	}
	return longVarint(b)
}

func longVarint(b []byte) (u uint64, n int) {
	for i := range min(len(b), binary.MaxVarintLen64) {
		u |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return u, i + 1
		}
	}
	return 0, 0
}

// maxHead is how long the head of a field can be.
const maxHead = 2 * binary.MaxVarintLen64

// head decodes the head of a field at the start of b, and returns how long it is.
func head(b []byte) (f field, n int, err error) {
	tag, n := varint(b)
	if n == 0 {
		return f, 0, errVarint
	}
	f.num, f.wire = tag>>3, byte(tag&7)
	switch f.wire {
	case wireVarint, wireBytes:
		var k int
		if f.value, k = varint(b[n:]); k == 0 {
			return f, 0, errVarint
		}
		return f, n + k, nil
	case wire64:
		if len(b)-n < 8 {
			return f, 0, errShort
		}
		f.value = binary.LittleEndian.Uint64(b[n:])
		return f, n + 8, nil
	case wire32:
		if len(b)-n < 4 {
			return f, 0, errShort
		}
		f.value = uint64(binary.LittleEndian.Uint32(b[n:]))
		return f, n + 4, nil
	}
	return f, 0, errWireType
}

// cut takes the first field off a message: its value is in body if it is of
// wireBytes.
func cut(msg []byte) (f field, body, rest []byte, err error) {
	f, n, err := head(msg)
	if err != nil {
		return f, nil, nil, err
	}
	rest = msg[n:]
	if f.wire == wireBytes {
		if f.value > uint64(len(rest)) {
			return f, nil, nil, errShort
		}
		body, rest = rest[:f.value], rest[f.value:]
	}
	return f, body, rest, nil
}

// message walks over the fields of one; where one of them is wrong, that is err, and there
// are no more.
type message struct {
	rest []byte
	field
	body []byte // of a field of wireBytes
	err  error
}

// next goes to the next field, if there is one.
func (m *message) next() bool {
	if m.err != nil || len(m.rest) == 0 {
		return false
	}
	if b := m.rest; len(b) >= 2 && b[0] < 0x80 && b[0]&7 == wireVarint && b[1] < 0x80 { // as most are
		m.field = field{uint64(b[0] >> 3), wireVarint, uint64(b[1])}
		m.rest = b[2:]
		return true
	}
	m.field, m.body, m.rest, m.err = cut(m.rest)
	return m.err == nil
}

// number takes a number that is not repeated.
func number[T ~int64 | ~uint64](m *message, to *T) {
	if m.wire != wireVarint {
		m.err = errType
		return
	}
	*to = T(m.value)
}

// within returns the message that the field is.
func (m *message) within() message {
	if m.wire != wireBytes {
		m.err = errType
	}
	return message{rest: m.body, err: m.err}
}

// scanner walks over the fields of a message that arrives as a stream.
type scanner struct {
	r    io.Reader
	err  error  // of r, io.EOF at its end
	buf  []byte // window of the stream
	pos  int    // in buf, of what is next
	base int64  // offset of buf in the stream
}

// window is how much of the stream is read at once.
const window = 256 << 10

func newScanner(r io.Reader) *scanner {
	return &scanner{r: r, buf: make([]byte, 0, window)}
}

// scannerOf returns a scanner over what is in memory already.
func scannerOf(data []byte) *scanner { return &scanner{buf: data, err: io.EOF} }

// inMemory reports whether all of the stream is in buf, and stays there.
func (s *scanner) inMemory() bool { return s.r == nil }

// offset is that of the next byte in the stream.
func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

// fill reads until n bytes are in the window, or the stream has ended. It grows the
// window if need be.
func (s *scanner) fill(n int) {
	if s.err != nil {
		return
	}
	if s.pos > 0 && len(s.buf)-s.pos < n {
		s.base += int64(s.pos)
		s.buf = s.buf[:copy(s.buf, s.buf[s.pos:])]
		s.pos = 0
	}
	if n > cap(s.buf) {
		s.buf = slices.Grow(s.buf, n-len(s.buf))
	}
	for len(s.buf)-s.pos < n && s.err == nil {
		var k int
		k, s.err = s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+k]
	}
}

// next returns the head of the next field; io.EOF at the end of the stream. Of
// wireBytes, what follows is to be taken with body or skip.
func (s *scanner) next() (field, error) {
	if len(s.buf)-s.pos < maxHead {
		s.fill(maxHead)
		if s.err != nil && s.err != io.EOF {
			return field{}, s.err
		}
		if s.pos == len(s.buf) {
			return field{}, io.EOF
		}
	}
	f, n, err := head(s.buf[s.pos:])
	s.pos += n
	return f, err
}

// body returns the n bytes that follow, which are valid until the next call of a
// method. The window grows to hold them.
func (s *scanner) body(n int) ([]byte, error) {
	if len(s.buf)-s.pos < n {
		if s.fill(n); len(s.buf)-s.pos < n {
			return nil, s.short()
		}
	}
	b := s.buf[s.pos : s.pos+n]
	s.pos += n
	return b, nil
}

// appendTo appends the n bytes that follow to b.
func (s *scanner) appendTo(b []byte, n uint64) ([]byte, error) {
	for n > 0 {
		if s.pos == len(s.buf) {
			if s.fill(1); s.pos == len(s.buf) {
				return b, s.short()
			}
		}
		part := s.buf[s.pos:]
		part = part[:min(n, uint64(len(part)))]
		b = append(b, part...)
		s.pos += len(part)
		n -= uint64(len(part))
	}
	return b, nil
}

// skip passes over n bytes.
func (s *scanner) skip(n uint64) error {
	for n > uint64(len(s.buf)-s.pos) {
		n -= uint64(len(s.buf) - s.pos)
		s.pos = len(s.buf)
		if s.fill(1); s.pos == len(s.buf) {
			return s.short()
		}
	}
	s.pos += int(n)
	return nil
}

func (s *scanner) short() error {
	if s.err != io.EOF {
		return s.err
	}
	return errShort
}
