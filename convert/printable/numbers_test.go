package printable

import (
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567", 1<<64 - 1: "18,446,744,073,709,551,615"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	for _, c := range []struct {
		x    float64
		n    int
		want string
	}{
		{0, 4, "0"}, {1, 4, "1"}, {0.5, 4, "0.5"}, {1.23456, 4, "1.235"}, {999.96, 4, "1000"}, {999.94, 4, "999.9"},
		{38_400.4, 4, "38400"}, {-38_400, 4, "-38400"}, {9.99e17, 3, "999000000000000000"}, {120, 2, "120"}, {99.6, 2, "100"},
		{0.000_012_346, 4, "0.00001235"}, {-0.5, 2, "-0.5"}, {math.Inf(1), 3, "+Inf"}, {math.NaN(), 3, "NaN"},
	} {
		if got := Digits(c.x, c.n); got != c.want {
			t.Errorf("%v with %d digits is %s, want %s", c.x, c.n, got, c.want)
		}
	}
	for n, want := range map[int]string{0: "0 runs", 1: "1 run", 2: "2 runs"} {
		if got := Count(n, "run"); got != want {
			t.Errorf("%d runs are %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1 << 20: "1.0 MiB", 5 << 30: "5.0 GiB", 1 << 40: "1024.0 GiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

// TestUnits: values are written in the unit that suits whichever of a kind they are in; what is
// expected is what go tool pprof -top writes of them, but for a decimal point of two zeros.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		v          int64
		unit, want string
	}{
		{1_530_000_000, "nanoseconds", "1.53s"}, {2_500, "microseconds", "2.5ms"}, {999, "microseconds", "999us"}, {-12_340_000, "microseconds", "-12.34s"},
		{1_500, "milliseconds", "1.5s"}, {20, "milliseconds", "20ms"}, {90, "seconds", "90s"},
		{1536, "bytes", "1.5kB"}, {1536, "kilobytes", "1.5MB"}, {512, "megabytes", "512MB"}, {3 << 10, "gigabytes", "3TB"},
		{1536, "count", "1536"}, {1536, "", "1536"}, {1536, "hectares", "1536"},
	} {
		if got := Value(c.v, c.unit); got != c.want {
			t.Errorf("%d %s are %s, want %s", c.v, c.unit, got, c.want)
		}
	}
}

// TestColumns: what a terminal shows in two columns, or in none, counts as such (Unicode's UAX #11
// and #29).
func TestColumns(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "größe": 5, "gro\u0308ße": 5, "関数": 4, "a関b": 4, "😀": 2, "…": 1, "\ufffd": 1} {
		if got := Width(s); got != want {
			t.Errorf("%q takes %d columns, want %d", s, got, want)
		}
	}
	for _, c := range []struct {
		s                  string
		n                  int
		short, start, fill string
	}{
		{"a long name", 6, "a lon…", "… name", "a lon…"},
		{"name", 6, "name", "name", "name  "},
		{"関数名前", 8, "関数名前", "関数名前", "関数名前"},
		{"関数名前", 7, "関数名…", "…数名前", "関数名…"},
		{"関数名前", 6, "関数…", "…名前", "関数… "},
		{"gro\u0308ße", 4, "gro\u0308…", "…o\u0308ße", "gro\u0308…"},
		{"ab", 1, "…", "…", "…"},
	} {
		if got := Shorten(c.s, c.n); got != c.short {
			t.Errorf("%q in %d columns is %q, want %q", c.s, c.n, got, c.short)
		}
		if got := ShortenStart(c.s, c.n); got != c.start {
			t.Errorf("the end of %q in %d columns is %q, want %q", c.s, c.n, got, c.start)
		}
		if got := Column(c.s, c.n); got != c.fill {
			t.Errorf("%q as a column of %d is %q, want %q", c.s, c.n, got, c.fill)
		}
	}
}
