// Package textlimit ends the reading of text in which no line ends any more, as in a file with
// a hole of a terabyte, or in a device.
//
// Readers of text pass over lines that are too long for them. That they do so for ever is what
// is prevented here.
package textlimit

import (
	"bytes"
	"errors"
	"io"
)

// MaxLine is how long a line of a text may be, in bytes: more than any that is passed over.
const MaxLine = 16 << 20

// ErrLine reports a line that is longer than MaxLine.
var ErrLine = errors.New("a line is longer than 16 MiB: it is no text")

// A Line is how long the line is, so far, within which the text ends that was read.
type Line int64

// Add takes in what was read next. The error is ErrLine; a line that ends within b is not found
// too long.
func (l *Line) Add(b []byte) error {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		*l = Line(len(b) - i - 1)
	} else {
		*l += Line(len(b))
	}
	if *l > MaxLine {
		return ErrLine
	}
	return nil
}

// NewReader returns a reader of r, whose error is ErrLine once a line is longer than MaxLine.
func NewReader(r io.Reader) io.Reader { return &reader{r: r} }

type reader struct {
	r    io.Reader
	line Line
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if long := r.line.Add(b[:n]); long != nil {
		err = long
	}
	return n, err
}
