// Package packed tells what is wrong with compressed data from what is wrong with what is in it.
package packed

import (
	"errors"
	"fmt"
	"io"
)

// Error is of compressed data that cannot be read, or not to its end.
type Error struct{ Err error }

func (e *Error) Error() string {
	if errors.Is(e.Err, io.ErrUnexpectedEOF) {
		return fmt.Sprintf("decompress: it is cut off (%v): copy or write it again", e.Err)
	}
	return fmt.Sprintf("decompress: %v", e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Reader returns a reader of what r decompresses, whose errors, but for io.EOF, are an [Error].
func Reader(r io.Reader) io.Reader { return reader{r} }

type reader struct{ io.Reader }

func (r reader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil && err != io.EOF {
		err = &Error{err}
	}
	return n, err
}
