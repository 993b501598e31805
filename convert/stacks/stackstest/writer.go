package stackstest

import (
	"errors"
)

// ErrFull is what Failing returns then.
var ErrFull = errors.New("disk full")

// Failing is a writer that takes N bytes.
type Failing struct{ N int }

func (f *Failing) Write(b []byte) (int, error) {
	if len(b) > f.N {
		return f.N, ErrFull
	}
	f.N -= len(b)
	return len(b), nil
}
