package expr

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Error is a mistake in an expression.
type Error struct {
	Source string
	Offset int // of the mistake, bytes
	Reason string
}

// Error has three lines: what is wrong, the expression, and a caret under the place.
func (e *Error) Error() string { return e.Reason + "\n" + e.Caret() }

// Caret is the expression and, on a second line, a caret under the place. Control
// characters show as blanks, so that the caret stands where it should.
func (e *Error) Caret() string {
	line := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, e.Source)
	at := len([]rune(e.Source[:min(max(e.Offset, 0), len(e.Source))]))
	return "  " + line + "\n  " + strings.Repeat(" ", at) + "^"
}

type kind uint8

const (
	tokEnd kind = iota
	tokName
	tokNumber
	tokString
	tokPunct
)

type token struct {
	kind kind
	text string // of a string its value
	num  uint64
	off  int
}

// The bounds of an expression.
const (
	maxSource = 64 << 10
	maxDepth  = 200
	maxNodes  = 1 << 14
)

func isAlpha(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

var punctuation = []string{"<<", ">>", "<=", ">=", "==", "!=", "!~", "&&", "||"}

// scan reads the token at off and where it ends.
func scan(src string, off int) (token, int, error) {
	for off < len(src) && strings.IndexByte(" \t\r\n", src[off]) >= 0 {
		off++
	}
	t := token{off: off}
	if off == len(src) {
		return t, off, nil
	}
	fail := func(at int, format string, args ...any) (token, int, error) {
		return t, len(src), &Error{src, at, fmt.Sprintf(format, args...)}
	}
	c := src[off]
	end := off + 1
	switch {
	case isAlpha(c):
		for end < len(src) && (isAlpha(src[end]) || isDigit(src[end])) {
			end++
		}
		t.kind, t.text = tokName, src[off:end]
	case isDigit(c):
		for end < len(src) && (isAlpha(src[end]) || isDigit(src[end]) || src[end] == '.') {
			end++
		}
		t.kind, t.text = tokNumber, src[off:end]
		var reason string
		if t.num, reason = number(t.text); reason != "" {
			return fail(off, "%s: %s", t.text, reason)
		}
	case c == '"' || c == '\'':
		var b []byte
		for ; ; end++ {
			if end >= len(src) {
				return fail(off, "a string without its closing %c", c)
			}
			if src[end] == c {
				break
			}
			if src[end] == '\\' && end+1 < len(src) {
				end++
				switch src[end] {
				case 'n':
					b = append(b, '\n')
					continue
				case 't':
					b = append(b, '\t')
					continue
				}
			}
			b = append(b, src[end])
		}
		end++
		t.kind, t.text = tokString, string(b)
	default:
		for _, p := range punctuation {
			if strings.HasPrefix(src[off:], p) {
				end = off + 2
			}
		}
		t.kind, t.text = tokPunct, src[off:end]
		if strings.IndexByte("?:|^&=!<>+-*/%~(){}[],.", c) < 0 {
			r := []rune(src[off:min(off+4, len(src))])[0]
			return fail(off, "%q has no meaning here", r)
		}
	}
	return t, end, nil
}

// suffixes and what they multiply with.
var suffixes = []struct {
	text string
	by   int64
}{
	{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40},
	{"k", 1 << 10},
}

// number reads a number with its suffix.
func number(s string) (v uint64, reason string) {
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") {
		v, err := strconv.ParseUint(s[2:], 16, 64)
		return v, numberReason(err)
	}
	digits, by, suffixed := s, int64(1), false
	for _, x := range suffixes {
		if rest, ok := strings.CutSuffix(s, x.text); ok {
			digits, by, suffixed = rest, x.by, true
			break
		}
	}
	if !suffixed {
		if strings.Contains(s, ".") {
			return 0, "not an integer"
		}
		base := 10
		if len(s) > 1 && s[0] == '0' {
			base = 8
		}
		v, err := strconv.ParseUint(s, base, 64)
		return v, numberReason(err)
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	if len(digits) > 40 || strings.Trim(whole+fraction, "0123456789") != "" || whole == "" {
		return 0, "not a number; its suffix may be K M G T or ns us ms s"
	}
	n, _ := new(big.Int).SetString(whole+fraction, 10)
	n.Mul(n, big.NewInt(by))
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(fraction))), nil)
	n, rest := n.QuoRem(n, ten, new(big.Int))
	switch {
	case rest.Sign() != 0:
		return 0, "not an integer"
	case !n.IsUint64():
		return 0, "beyond 64 bits"
	}
	return n.Uint64(), ""
}

func numberReason(err error) string {
	switch {
	case err == nil:
		return ""
	case strings.Contains(err.Error(), "out of range"):
		return "beyond 64 bits"
	}
	return "not a number; its suffix may be K M G T or ns us ms s"
}
