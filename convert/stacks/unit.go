package stacks

import "math/bits"

// unitSizes are the units of which values can be converted into each other, as pprof names them
// (internal/measurement of github.com/google/pprof, which counts 1024 bytes a kilobyte).
var unitSizes = map[string]struct {
	of   string
	size int64
}{
	"nanoseconds": {"time", 1}, "microseconds": {"time", 1e3}, "milliseconds": {"time", 1e6}, "seconds": {"time", 1e9},
	"bytes": {"memory", 1}, "kilobytes": {"memory", 1 << 10}, "megabytes": {"memory", 1 << 20}, "gigabytes": {"memory", 1 << 30},
}

// UnitRatio is how many of one unit another one is: 1000, 1 of nanoseconds in microseconds, and
// 1, 1000 the other way round; 1, 1 of the same. It is 0, 0 of what measures something else.
func UnitRatio(unit, in string) (num, den int64) {
	x, y := unitSizes[unit], unitSizes[in]
	switch {
	case unit == in:
		return 1, 1
	case x.of == "" || x.of != y.of:
		return 0, 0
	case x.size >= y.size:
		return x.size / y.size, 1
	}
	return 1, y.size / x.size
}

// sameUnits reports whether columns are the same, or would be in another unit.
func sameUnits(a, b []ValueType) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if num, _ := UnitRatio(a[i].Unit, b[i].Unit); a[i].Type != b[i].Type || num == 0 {
			return false
		}
	}
	return true
}

// multiplyColumns multiplies the values of an event's rows, and what is known of their times, by
// one factor for each column. They must fit.
func (s *Set) multiplyColumns(event int, by []int64) {
	for i := range s.rows.n {
		if r := s.rows.at(i); int(r.event) == event {
			values := s.rows.valuesAt(r.value, len(by))
			for c := range values {
				values[c] *= by[c]
			}
		}
	}
	weight := by[len(by)-1]
	for i := range s.TimedSamples {
		if m := &s.TimedSamples[i]; int(s.rows.at(int(m.Sample)).event) == event {
			m.Value *= weight
		}
	}
	for i := range s.BlockSums {
		if b := &s.BlockSums[i]; int(s.rows.at(int(b.Sample)).event) == event {
			b.Value *= weight
		}
	}
}

// product is x times y, and whether 63 bits hold it.
func product(x, y uint64) (uint64, bool) {
	hi, lo := bits.Mul64(x, y)
	return lo, hi == 0 && lo>>63 == 0
}
