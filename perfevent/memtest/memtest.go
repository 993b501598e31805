// Package memtest says how much memory a parser may take in a test.
package memtest

import (
	"runtime/metrics"
	"testing"
)

// Within fails t if more than limit bytes are allocated between its call and that of
// what it returns, whether or not they are freed: that is cheap to learn, and what
// lives at once is no more. Other goroutines count too.
//
//	defer memtest.Within(t, 1<<20+100*len(input))()
func Within(t testing.TB, limit int) func() {
	before := allocated()
	return func() {
		t.Helper()
		if n := allocated() - before; n > uint64(limit) {
			t.Errorf("%d bytes allocated, at most %d may be", n, limit)
		}
	}
}

// allocated is how many bytes this process has allocated so far.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
