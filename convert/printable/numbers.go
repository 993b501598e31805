package printable

import (
	"fmt"
	"math"
	"strconv"
)

// Thousands writes a number with a comma before every three digits: "12,345".
func Thousands(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Digits writes a number with n digits that count, and more where it has more before the point:
// never with an exponent, as %g does. 1234.5 with three digits is "1234", 0.00012345 "0.000123".
func Digits(x float64, n int) string {
	if math.Abs(x) >= math.Pow10(n-1) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', n-1, 64), 64)
	if err != nil {
		rounded = x // which is never: it is one of strconv's own
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Count writes a number of things: "1 function", "2 functions".
func Count[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Bytes writes a number of bytes for people: "1.5 MiB".
func Bytes(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/(unit*unit))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(unit*unit*unit))
}
