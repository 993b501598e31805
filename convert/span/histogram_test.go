package span_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"kprof/convert/span"
)

// TestHistogram: quantiles are within a percent of those of the sorted durations, of
// distributions of all sizes, and put together as added to one.
func TestHistogram(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := map[string]func() uint64{
		"small":  func() uint64 { return r.Uint64N(300) },
		"wide":   func() uint64 { return uint64(math.Exp(r.Float64() * 40)) },
		"all":    func() uint64 { return r.Uint64() >> r.IntN(64) },
		"ms":     func() uint64 { return 5e6 + r.Uint64N(1e6) },
		"always": func() uint64 { return 12345678 },
	}
	for name, f := range draw {
		var h, a, b span.Histogram
		var all []uint64
		var sum float64
		for i := range 5000 {
			v := f()
			all = append(all, v)
			sum += float64(v)
			h.Add(v)
			if i%3 == 0 {
				a.Add(v)
			} else {
				b.Add(v)
			}
		}
		a.Merge(&b)
		a.Merge(&span.Histogram{})
		slices.Sort(all)
		for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1} {
			i := max(int(math.Ceil(q*5000))-1, 0)
			got, want := h.Quantile(q), all[i]
			if got < want || float64(got-want) > 0.01*float64(want) {
				t.Errorf("%s: quantile %v is %d, want %d", name, q, got, want)
			}
			if a.Quantile(q) != got {
				t.Errorf("%s: merged quantile %v is %d, not %d", name, q, a.Quantile(q), got)
			}
		}
		if h.Count != 5000 || h.Min != all[0] || h.Max != all[4999] || a.Min != h.Min || a.Max != h.Max || a.Sum != h.Sum {
			t.Errorf("%s: %d of %d to %d", name, h.Count, h.Min, h.Max)
		}
		if sum < math.MaxUint64 && math.Abs(float64(h.Mean())-sum/5000) > sum/5000/1e6+1 {
			t.Errorf("%s: mean %d, want %v", name, h.Mean(), sum/5000)
		}
		var n uint64
		last := uint64(0)
		for i, x := range h.Buckets() {
			if x.From > x.To || i > 0 && x.From <= last || float64(x.To-x.From) > 0.01*float64(x.From) {
				t.Errorf("%s: bucket %+v after %d", name, x, last)
			}
			last, n = x.To, n+x.Count
		}
		if n != 5000 {
			t.Errorf("%s: %d in buckets", name, n)
		}
	}
	var none span.Histogram
	if none.Quantile(0.5) != 0 || none.Mean() != 0 || len(none.Buckets()) != 0 {
		t.Error("nothing has a size")
	}
}

// TestBucketBounds: the bounds of a value's bucket are its lowest and its highest value.
func TestBucketBounds(t *testing.T) {
	for _, v := range []uint64{0, 1, 127, 128, 254, 255, 256, 257, 258, 511, 512, 515, 516, 1 << 32, 1<<32 - 1, 1 << 63, math.MaxUint64} {
		b := span.BucketOf(v)
		lo, hi := span.BucketBounds(b)
		if lo > v || v > hi || span.BucketOf(lo) != b || span.BucketOf(hi) != b {
			t.Errorf("%d is not between %d and %d", v, lo, hi)
		}
		if lo > 0 && span.BucketOf(lo-1) != b-1 || hi < math.MaxUint64 && span.BucketOf(hi+1) != b+1 {
			t.Errorf("%d and %d are not all of the bucket of %d", lo, hi, v)
		}
	}
}
