package printfmt

import "strings"

type kind uint8

const (
	tokEnd kind = iota
	tokName
	tokNumber
	tokString // text has the value
	tokChar   // text has the value
	tokPunct
	tokBad
)

type token struct {
	kind kind
	text string
	off  int
}

// lexer reads the tokens of C one at a time.
type lexer struct {
	src string
	off int
	tok token // the current one
}

func isAlpha(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

var punctuation3 = []string{"<<=", ">>=", "..."}
var punctuation2 = []string{"->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"}

func (l *lexer) next() {
	for l.off < len(l.src) && strings.IndexByte(" \t\r\n", l.src[l.off]) >= 0 {
		l.off++
	}
	at := l.off
	l.tok = token{off: at}
	if at == len(l.src) {
		return
	}
	c := l.src[at]
	end := at + 1
	switch {
	case isAlpha(c):
		for end < len(l.src) && (isAlpha(l.src[end]) || isDigit(l.src[end])) {
			end++
		}
		l.tok.kind = tokName
	case isDigit(c):
		for end < len(l.src) && (isAlpha(l.src[end]) || isDigit(l.src[end])) {
			end++
		}
		l.tok.kind = tokNumber
	case c == '"' || c == '\'':
		for end < len(l.src) && l.src[end] != c {
			if l.src[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(l.src) {
			l.off = len(l.src)
			l.tok.kind = tokBad
			return
		}
		l.tok.kind, l.tok.text = tokString, unescape(l.src[at+1:end])
		if c == '\'' {
			l.tok.kind = tokChar
		}
		l.off = end + 1
		return
	default:
		l.tok.kind = tokPunct
		for _, p := range punctuation3 {
			if strings.HasPrefix(l.src[at:], p) {
				end = at + 3
			}
		}
		for _, p := range punctuation2 {
			if end == at+1 && strings.HasPrefix(l.src[at:], p) {
				end = at + 2
			}
		}
	}
	l.tok.text = l.src[at:end]
	l.off = end
}

// unescape reads the escapes of C in a string.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			b = append(b, '\n')
		case 't':
			b = append(b, '\t')
		case 'r':
			b = append(b, '\r')
		case 'a', 'b', 'f', 'v':
			b = append(b, "\a\b\f\v"[strings.IndexByte("abfv", c)])
		case 'x':
			v, n := 0, 0
			for ; n < 2 && i+1 < len(s); n++ {
				d := strings.IndexByte("0123456789abcdef", s[i+1]|0x20)
				if d < 0 {
					break
				}
				v = v<<4 | d
				i++
			}
			b = append(b, byte(v))
		default:
			if c < '0' || c > '7' {
				b = append(b, c)
				break
			}
			v := int(c - '0')
			for n := 1; n < 3 && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '7'; n++ {
				i++
				v = v<<3 | int(s[i]-'0')
			}
			b = append(b, byte(v))
		}
	}
	return string(b)
}
