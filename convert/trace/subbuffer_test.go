package trace_test

import (
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/tracetest"
)

// TestSubBuffersUntold: sub-buffers of several pages are read whole where the file has the size of a page for them, as
// what trace-cmd convert writes.
func TestSubBuffersUntold(t *testing.T) {
	for _, order := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		small, large := tracetest.Machine{Order: order, Long: 8, Page: 512}, tracetest.Machine{Order: order, Long: 8, Page: 2048}
		sub := func(time uint64, events, first int) [][]byte {
			var b [][]byte
			for i := range events {
				b = append(b, large.Event(1, large.Tick(7, first+i)))
			}
			return slices.Collect(slices.Chunk(large.Sub(time, 0, b...), small.Page))
		}
		for _, form := range []struct {
			version     int
			compression string
			chunk       int
		}{{6, "none", 0}, {7, "none", 0}, {7, "zstd", 8}, {7, "zstd", 5}} {
			d := file(small, form.version, form.compression)
			d.Chunk = form.chunk
			d.Buffers = []tracetest.Instance{{Clock: "local", CPUs: [][][]byte{slices.Concat(sub(1000, 100, 0), sub(2000, 3, 100)), sub(1500, 2, 200)}}}
			got, err := records(t, open(t, d.Bytes()))
			if n := strings.Count(got, "test:tick"); n != 105 || err != nil || !strings.Contains(got, "count=102 ") || !strings.Contains(got, "count=201 ") {
				t.Errorf("%v, %+v: %d events, %v", order, form, n, err)
			}
		}
	}
}
