// Package printable writes the text and the values of a profile as a terminal can
// show them.
package printable

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text is s with what a terminal would obey replaced by U+FFFD: control characters,
// which a name from a file may hold, and marks that turn the direction of writing.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return utf8.RuneError
		}
		return r
	}, s)
}

// Shorten cuts s to n characters, the last of which then is "…".
func Shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:max(n-1, 0)]) + "…"
}

// Value writes times and sizes in a unit that suits, all else as a number. The unit
// is a stacks.ValueType's.
func Value(v int64, unit string) string {
	x, short := Scale(float64(v), unit)
	if short == "" {
		return strconv.FormatInt(v, 10)
	}
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) + short
}

var (
	times = []string{"ns", "us", "ms", "s"}
	sizes = []string{"B", "kB", "MB", "GB", "TB"}
)

// units are those of times and sizes, as pprof calls them (internal/measurement/measurement.go), and
// from which on the suitable one is looked for.
var units = map[string]struct {
	step  float64
	short []string
}{
	"nanoseconds": {1000, times}, "microseconds": {1000, times[1:]}, "milliseconds": {1000, times[2:]}, "seconds": {1000, times[3:]},
	"bytes": {1024, sizes}, "kilobytes": {1024, sizes[1:]}, "megabytes": {1024, sizes[2:]}, "gigabytes": {1024, sizes[3:]},
}

// Scale returns a time or a size in the unit that suits, and how that is written; "" for anything
// else, which stays as it is.
func Scale(x float64, unit string) (scaled float64, short string) {
	u, known := units[unit]
	if !known {
		return x, ""
	}
	i := 0
	for i < len(u.short)-1 && math.Abs(x) >= u.step {
		x /= u.step
		i++
	}
	return x, u.short[i]
}
