package errkind

import (
	"errors"
	"io"
	"os"
	"testing"
)

func TestErrorf(t *testing.T) {
	err := Errorf(os.ErrNotExist, "no event %q: %w", "x", io.EOF)
	if err.Error() != `no event "x": EOF` {
		t.Errorf("text %q", err)
	}
	if !errors.Is(err, os.ErrNotExist) || !errors.Is(err, io.EOF) || errors.Is(err, os.ErrInvalid) {
		t.Errorf("kinds of %v: want ErrNotExist and EOF only", err)
	}
}
