package span

import (
	"maps"
	"math/bits"
	"slices"
)

// Histogram counts durations in log-linear buckets (as HdrHistogram has them: Gil Tene,
// hdrhistogram.org): each power of two is divided into 128, so that a bucket's ends differ by
// less than one percent. The zero value is empty. Memory is that of the buckets in use.
type Histogram struct {
	Count    uint64
	Sum      uint64 // at most 1<<64-1
	Min, Max uint64

	buckets map[uint16]uint64
}

// perPower is how many buckets a power of two has, as a power of two.
const perPower = 7

// BucketOf is the number of the bucket of a value: values below 128 have their own.
func BucketOf(v uint64) uint16 {
	e := max(bits.Len64(v)-perPower-1, 0)
	return uint16(e<<perPower) + uint16(v>>e)
}

// BucketBounds are the lowest and the highest value of a bucket.
func BucketBounds(b uint16) (lo, hi uint64) {
	if b < 2<<perPower {
		return uint64(b), uint64(b)
	}
	e := int(b>>perPower) - 1
	lo = uint64(b-uint16(e<<perPower)) << e
	return lo, lo + 1<<e - 1
}

// Add counts a duration.
func (h *Histogram) Add(v uint64) { h.add(BucketOf(v), v, v, v, 1) }

func (h *Histogram) add(b uint16, lo, hi, sum, n uint64) {
	if h.buckets == nil {
		h.buckets = map[uint16]uint64{}
	}
	if h.Count == 0 || lo < h.Min {
		h.Min = lo
	}
	h.Max = max(h.Max, hi)
	h.Count += n
	if total, over := bits.Add64(h.Sum, sum, 0); over == 0 {
		h.Sum = total
	} else {
		h.Sum = 1<<64 - 1
	}
	h.buckets[b] += n
}

// Merge adds what another histogram has counted.
func (h *Histogram) Merge(o *Histogram) {
	sum := o.Sum
	for b, n := range o.buckets {
		h.add(b, o.Min, o.Max, sum, n)
		sum = 0
	}
}

// Mean is the mean of the durations, 0 of none.
func (h *Histogram) Mean() uint64 {
	if h.Count == 0 {
		return 0
	}
	return h.Sum / h.Count
}

// Quantile is a duration that a share q of all, 0 to 1, is not above: the highest of its
// bucket, at most one percent more than the exact one. It is 0 of none.
func (h *Histogram) Quantile(q float64) uint64 {
	want := uint64(q*float64(h.Count) + 0.999999)
	var seen uint64
	for _, b := range slices.Sorted(maps.Keys(h.buckets)) {
		if seen += h.buckets[b]; seen >= max(want, 1) {
			_, hi := BucketBounds(b)
			return max(min(hi, h.Max), h.Min)
		}
	}
	return h.Max
}

// Bucket is how many durations are between two, both included.
type Bucket struct {
	From  uint64 `json:"from"`
	To    uint64 `json:"to"`
	Count uint64 `json:"count"`
}

// Buckets are those with any durations, the shortest first.
func (h *Histogram) Buckets() []Bucket {
	all := make([]Bucket, 0, len(h.buckets))
	for _, b := range slices.Sorted(maps.Keys(h.buckets)) {
		lo, hi := BucketBounds(b)
		all = append(all, Bucket{lo, hi, h.buckets[b]})
	}
	return all
}
