// Package printable writes the text and the values of a profile as a terminal can
// show them.
package printable

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
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

// Width is how many columns of a terminal s takes: characters of East Asia and emoji two each, what
// is put onto another character none.
func Width(s string) int { return uniseg.StringWidth(s) }

// Shorten cuts s to n columns, the last of which then is "…".
func Shorten(s string, n int) string {
	if len(s) <= n || Width(s) <= n {
		return s
	}
	rest, width, state := s, 0, -1
	for {
		_, after, cells, next := uniseg.FirstGraphemeClusterInString(rest, state)
		if width += cells; width > n-1 || after == "" {
			return s[:len(s)-len(rest)] + "…"
		}
		rest, state = after, next
	}
}

// ShortenStart cuts s from its beginning on to n columns, the first of which then is "…".
func ShortenStart(s string, n int) string {
	width := Width(s)
	if width <= n {
		return s
	}
	for state := -1; width > n-1 && s != ""; {
		var cells int
		_, s, cells, state = uniseg.FirstGraphemeClusterInString(s, state)
		width -= cells
	}
	return "…" + s
}

// Column is s in n columns: cut, or filled with blanks.
func Column(s string, n int) string {
	s = Shorten(s, n)
	return s + strings.Repeat(" ", max(n-Width(s), 0))
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
