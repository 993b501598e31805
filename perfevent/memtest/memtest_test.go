package memtest

import (
	"fmt"
	"strings"
	"testing"
)

var kept []byte

// failing is a test that is to fail.
type failing struct {
	testing.TB
	errors []string
}

func (f *failing) Helper() {}

func (f *failing) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

func TestWithin(t *testing.T) {
	for _, n := range []int{1 << 20, 64 << 20} {
		f := &failing{TB: t}
		done := Within(f, 8<<20)
		for range 4 { // one is freed while the next is made
			kept = make([]byte, n)
		}
		done()
		if failed := len(f.errors) > 0; failed != (n == 64<<20) {
			t.Errorf("4 times %d bytes: %q", n, f.errors)
		} else if failed && !strings.HasSuffix(f.errors[0], "bytes allocated, at most 8388608 may be") {
			t.Error(f.errors[0])
		}
	}
}
