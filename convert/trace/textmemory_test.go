package trace_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"kprof/convert/trace"
)

// TestTextMemory: of a text no more stays in memory than what is known of it, whatever CPUs and tasks
// it names.
func TestTextMemory(t *testing.T) {
	const pieces = 80
	var b strings.Builder
	filler := strings.Repeat("            bash-1  [000] ..... 1.0: tick: n=1\n", 1500)
	for i := range pieces {
		fmt.Fprintf(&b, "            task%d-%d  [%03d] ..... 1.0: tick: n=1\n%s", i, i+2, i+1, filler)
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	text := strings.NewReader(b.String())
	before := heap()
	r, err := trace.OpenText(context.Background(), text, text.Size(), trace.TextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	for _, err := range r.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == pieces*1500 {
			if more := int64(heap() - before); more > text.Size()/4 {
				t.Errorf("%d bytes of a text of %d are kept", more, text.Size())
			}
		}
	}
	if n < pieces*1500 {
		t.Errorf("%d records", n)
	}
	runtime.KeepAlive(&b)
}
