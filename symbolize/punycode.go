package symbolize

import (
	"math"
	"unicode"
	"unicode/utf8"
)

// punycode decodes a name as RFC 3492 has it: its ASCII characters, and where the
// others belong, in digits "a" to "z", "0" to "9".
func punycode(plain, encoded string) (string, bool) {
	const base, tmin, tmax, skew, damp = 36, 1, 26, 38, 700
	out := []rune(plain)
	n, i, bias := 0x80, 0, 72
	for first := true; encoded != ""; first = false {
		before, weight := i, 1
		for k := base; ; k += base {
			if encoded == "" {
				return "", false
			}
			c := encoded[0]
			encoded = encoded[1:]
			digit := 0
			switch {
			case isLower(c):
				digit = int(c - 'a')
			case isDigit(c):
				digit = int(c-'0') + 26
			default:
				return "", false
			}
			i += digit * weight
			t := min(max(k-bias, tmin), tmax)
			if digit < t {
				break
			}
			if weight *= base - t; i > math.MaxInt32 || weight > math.MaxInt32 {
				return "", false
			}
		}
		delta := (i - before) / 2
		if first {
			delta = (i - before) / damp
		}
		length := len(out) + 1
		delta += delta / length
		k := 0
		for ; delta > (base-tmin)*tmax/2; k += base {
			delta /= base - tmin
		}
		bias = k + (base-tmin+1)*delta/(delta+skew)
		n += i / length
		i %= length
		if n > unicode.MaxRune || !utf8.ValidRune(rune(n)) {
			return "", false
		}
		out = append(out[:i], append([]rune{rune(n)}, out[i:]...)...)
		i++
	}
	return string(out), true
}
