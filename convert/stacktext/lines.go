package stacktext

import (
	"bytes"
	"fmt"
	"io"
)

// maxLine is how long a line may be. perf prints a frame of 64 KiB at most; the
// payload of a tracepoint is as large as a record.
const maxLine = 1 << 20

// lineReader yields lines without copying them.
type lineReader struct {
	in  io.Reader
	buf []byte // [pos:] is what has been read and not yielded
	pos int
	err error
	n   uint64 // lines yielded
}

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: in, buf: make([]byte, 0, 2*readSize)}
}

// next returns a line without its end, valid until the next call; io.EOF after
// the last.
func (l *lineReader) next() ([]byte, error) {
	seen := 0
	for {
		if i := bytes.IndexByte(l.buf[l.pos+seen:], '\n'); i >= 0 {
			line := l.buf[l.pos : l.pos+seen+i]
			l.pos += seen + i + 1
			l.n++
			return trimEnd(line), nil
		}
		seen = len(l.buf) - l.pos
		if l.err != nil {
			if seen == 0 || l.err != io.EOF {
				return nil, l.err
			}
			line := l.buf[l.pos:]
			l.pos = len(l.buf)
			l.n++
			return trimEnd(line), nil
		}
		if seen >= maxLine {
			return nil, fmt.Errorf("line %d is longer than %d KiB", l.n+1, maxLine>>10)
		}
		l.fill()
	}
}

// readSize is how much is read at once: what stays in a CPU's caches.
const readSize = 128 << 10

// fill reads more behind what is left, which is moved where there is no room.
func (l *lineReader) fill() {
	if l.pos == len(l.buf) {
		l.buf, l.pos = l.buf[:0], 0
	}
	if cap(l.buf)-len(l.buf) < readSize {
		if left := l.buf[l.pos:]; 2*len(left) > cap(l.buf) {
			l.buf = append(make([]byte, 0, 2*cap(l.buf)), left...)
		} else {
			l.buf = l.buf[:copy(l.buf[:cap(l.buf)], left)]
		}
		l.pos = 0
	}
	for range 100 {
		n, err := l.in.Read(l.buf[len(l.buf):min(len(l.buf)+readSize, cap(l.buf))])
		l.buf = l.buf[:len(l.buf)+n]
		if l.err = err; n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}

// trimEnd removes blanks and what ends lines elsewhere.
func trimEnd(line []byte) []byte {
	n := len(line)
	for n > 0 && isBlank(line[n-1]) {
		n--
	}
	return line[:n]
}

func trimStart(line []byte) []byte { return line[blanks(line):] }

// blanks is how many blanks a line starts with.
func blanks(line []byte) int {
	for i, c := range line {
		if !isBlank(c) {
			return i
		}
	}
	return len(line)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func isDigit(c byte) bool { return c-'0' < 10 }

func isHex(c byte) bool { return isDigit(c) || (c|0x20)-'a' < 6 }
