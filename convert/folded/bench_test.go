package folded

import (
	"io"
	"testing"
	"time"

	"kprof/convert/stacks/stackstest"
)

// BenchmarkFolded writes 680,000 distinct stacks of 30 frames, and reports how
// long each step takes.
func BenchmarkFolded(b *testing.B) {
	s := stackstest.Wide(680_000, 30, 50_000)
	var merge, sort, write time.Duration
	var n int
	b.ReportAllocs()
	for b.Loop() {
		var o Options
		t0 := time.Now()
		f := newFrames(s, o)
		lines := mergeRows(s, f, o, nil)
		t1 := time.Now()
		sortLines(s, f, lines)
		t2 := time.Now()
		if err := writeLines(io.Discard, s, f, lines); err != nil {
			b.Fatal(err)
		}
		merge += t1.Sub(t0)
		sort += t2.Sub(t1)
		write += time.Since(t2)
		n = len(lines)
	}
	b.ReportMetric(merge.Seconds()*1e3/float64(b.N), "merge-ms")
	b.ReportMetric(sort.Seconds()*1e3/float64(b.N), "sort-ms")
	b.ReportMetric(write.Seconds()*1e3/float64(b.N), "write-ms")
	b.ReportMetric(float64(n), "lines")
}
