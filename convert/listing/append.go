package listing

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

const blanks = "                                                                "

// appendBlanks appends n blanks, if n is positive.
func appendBlanks(dst []byte, n int) []byte {
	for n > 0 {
		part := min(n, len(blanks))
		dst = append(dst, blanks[:part]...)
		n -= part
	}
	return dst
}

// padLeft puts blanks before what was appended from a place on, so that it is n bytes wide.
func padLeft(dst []byte, from, n int) []byte {
	w := len(dst) - from
	if w >= n {
		return dst
	}
	dst = appendBlanks(dst, n-w)
	copy(dst[from+n-w:], dst[from:from+w])
	for i := from; i < from+n-w; i++ {
		dst[i] = ' '
	}
	return dst
}

// appendDigits appends a number in decimal digits, n of them at least, with zeros or blanks
// before it.
func appendDigits(dst []byte, v uint64, n int, before byte) []byte {
	width := 1
	for w := v; w >= 10; w /= 10 {
		width++
	}
	from := len(dst)
	for n = max(n, width); n > len(blanks); n-- {
		dst = append(dst, before)
	}
	dst = append(dst, blanks[:n]...)
	b := dst[from:]
	i := len(b) - 1
	for ; v >= 10; i-- {
		b[i] = byte('0' + v%10)
		v /= 10
	}
	b[i] = byte('0' + v)
	for i > 0 {
		i--
		b[i] = before
	}
	return dst
}

// appendNumber appends a number, n characters wide.
func appendNumber(dst []byte, v int64, n int) []byte {
	if v >= 0 {
		return appendDigits(dst, uint64(v), n, ' ')
	}
	from := len(dst)
	return padLeft(strconv.AppendInt(dst, v, 10), from, n)
}

func appendHex(dst []byte, v uint64, n int) []byte {
	from := len(dst)
	return padLeft(strconv.AppendUint(dst, v, 16), from, n)
}

// appendSeconds appends a time in ns as seconds, of 6 or 9 digits, n characters wide.
func appendSeconds(dst []byte, ns uint64, digits, n int) []byte {
	dst = append(appendDigits(dst, ns/1e9, n-digits-1, ' '), '.')
	frac := ns % 1e9
	if digits == 6 {
		frac /= 1000
	}
	return appendDigits(dst, frac, digits, '0')
}

// oneLine replaces ends of lines in what was appended from a place on: a name may have
// them, and forge a line.
func oneLine(dst []byte, from int) []byte {
	if b := dst[from:]; bytes.IndexByte(b, '\n') < 0 && bytes.IndexByte(b, '\r') < 0 {
		return dst
	}
	b := bytes.Clone(dst[from:])
	dst = dst[:from]
	for _, c := range b {
		if c == '\n' || c == '\r' {
			dst = utf8.AppendRune(dst, utf8.RuneError)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// appendJSON appends a string as JSON has it, with U+FFFD for what is not UTF-8.
func appendJSON[T string | []byte](dst []byte, s T) []byte {
	const hexDigits = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\':
				dst = append(dst, '\\', c)
			case c < ' ' || c == 0x7f:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			default:
				dst = append(dst, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return append(dst, '"')
}

// appendCSV makes what was appended from a place on a field of CSV (RFC 4180), in one line.
func appendCSV(dst []byte, from int) []byte {
	dst = oneLine(dst, from)
	if !bytes.ContainsAny(dst[from:], ",\"") {
		return dst
	}
	b := bytes.Clone(dst[from:])
	dst = append(dst[:from], '"')
	for _, c := range b {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}
