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
	switch unit {
	case "nanoseconds":
		return scaled(v, 1000, "ns", "us", "ms", "s")
	case "bytes":
		return scaled(v, 1024, "B", "kB", "MB", "GB", "TB")
	}
	return strconv.FormatInt(v, 10)
}

func scaled(v int64, step float64, units ...string) string {
	x := float64(v)
	for len(units) > 1 && math.Abs(x) >= step {
		x /= step
		units = units[1:]
	}
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) + units[0]
}
