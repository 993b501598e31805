package memtest

import (
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

var kept []byte

func TestWithin(t *testing.T) {
	for _, n := range []int{1 << 20, 64 << 20} {
		f := &livetest.Failing{TB: t}
		done := Within(f, 8<<20)
		for range 4 { // one is freed while the next is made
			kept = make([]byte, n)
		}
		done()
		if failed := len(f.Said) > 0; failed != (n == 64<<20) {
			t.Errorf("4 times %d bytes: %q", n, f.Said)
		} else if failed && !strings.HasSuffix(f.Said[0], "bytes allocated, at most 8388608 may be") {
			t.Error(f.Said[0])
		}
	}
}
