package printfmt

import (
	"math/bits"
	"strconv"
)

// piece is a part of the format string: literal text, or a conversion.
type piece struct {
	literal string
	conv    byte // 0 for literal text; 'd', 'u', 'x', 'X', 'o', 'c', 's', 'p'
	ext     string
	size    uint8 // bytes of the number that is printed

	minus, plus, blank, alt, zero bool
	plain                         bool // no flags that matter without a width

	width, prec         int // -1: none
	widthArg, precArg   *node
	starWidth, starPrec bool
	arg                 *node
	unknown             bool // the argument cannot be evaluated
}

// Widths beyond this are not the kernel's.
const maxWidth = 512

// cut divides a format string into pieces.
func (p *parser) cut(s string) []piece {
	var pieces []piece
	var lit []byte
	flush := func() {
		if len(lit) > 0 {
			pieces = append(pieces, piece{literal: string(lit)})
			lit = lit[:0]
		}
	}
	for i := 0; i < len(s); {
		if s[i] != '%' {
			lit = append(lit, s[i])
			i++
			continue
		}
		if i+1 < len(s) && s[i+1] == '%' {
			lit = append(lit, '%')
			i += 2
			continue
		}
		d, n := directive(s[i:], p.format.LongSize)
		if n == 0 { // no conversion: as it stands
			lit = append(lit, s[i])
			i++
			continue
		}
		flush()
		pieces = append(pieces, d)
		i += n
	}
	flush()
	return pieces
}

// directive reads a conversion at the start of s and how long it is, 0 when it is none.
func directive(s string, long int) (d piece, n int) {
	d = piece{width: -1, prec: -1, size: 4}
	i := 1
flags:
	for ; i < len(s); i++ {
		switch s[i] {
		case '-':
			d.minus = true
		case '+':
			d.plus = true
		case ' ':
			d.blank = true
		case '#':
			d.alt = true
		case '0':
			d.zero = true
		default:
			break flags
		}
	}
	number := func() (v int, star, ok bool) {
		if i < len(s) && s[i] == '*' {
			i++
			return -1, true, true
		}
		v = -1
		for ; i < len(s) && isDigit(s[i]); i++ {
			v = min(max(v, 0)*10+int(s[i]-'0'), maxWidth)
		}
		return v, false, v >= 0
	}
	d.width, d.starWidth, _ = number()
	if i < len(s) && s[i] == '.' {
		i++
		var ok bool
		if d.prec, d.starPrec, ok = number(); !ok {
			d.prec = 0
		}
	}
	for ; i < len(s); i++ {
		switch s[i] {
		case 'h':
			d.size /= 2
		case 'l', 'z', 't', 'j', 'Z':
			if s[i] == 'l' && i > 0 && s[i-1] == 'l' || s[i] == 'j' {
				d.size = 8
			} else {
				d.size = uint8(long)
			}
			continue
		case 'L', 'q':
			d.size = 8
			continue
		}
		if s[i] != 'h' {
			break
		}
	}
	if d.size == 0 {
		d.size = 1
	}
	if i >= len(s) {
		return d, 0
	}
	d.conv, d.plain = s[i], !d.plus && !d.blank
	i++
	switch d.conv {
	case 'i':
		d.conv = 'd'
	case 'd', 'u', 'x', 'X', 'o', 'c', 's':
	case 'p':
		from := i
		for i < len(s) && (isAlpha(s[i]) && s[i] != '_' || isDigit(s[i])) && i-from < extension(s[from:]) {
			i++
		}
		d.ext = s[from:i]
	default:
		return d, 0
	}
	return d, i
}

// extension is how many letters after %p belong to it. The kernel takes all that
// is alphanumeric for it, so that no text can follow at once.
func extension(s string) int {
	n := 0
	for n < len(s) && n < 8 && (isAlpha(s[n]) && s[n] != '_' || isDigit(s[n])) {
		n++
	}
	return n
}

// print appends one conversion.
func (p *Printer) print(dst []byte, d *piece, raw []byte) []byte {
	if d.unknown {
		return append(dst, '?')
	}
	width, prec, minus := d.width, d.prec, d.minus
	if d.starWidth {
		v, _ := p.num(d.widthArg, raw)
		width = int(int32(v))
		if width < 0 {
			width, minus = -max(width, -1<<20), true
		}
	}
	if d.starPrec {
		v, _ := p.num(d.precArg, raw)
		prec = int(int32(v))
	}
	from := len(dst)
	switch d.conv {
	case 's':
		dst = p.text(dst, d.arg, raw)
		if prec >= 0 && len(dst)-from > prec {
			dst = dst[:from+prec]
		}
	case 'c':
		v, ok := p.num(d.arg, raw)
		if !ok {
			return append(dst, '?')
		}
		dst = append(dst, byte(v))
	case 'p':
		var padded bool
		if dst, padded = p.pointer(dst, d, width, raw); !padded {
			width = -1
		}
	default:
		v, ok := p.num(d.arg, raw)
		if !ok {
			return append(dst, '?')
		}
		return appendNumber(dst, d, v, width, prec, minus)
	}
	return justify(dst, from, min(width, maxWidth), minus)
}

// appendHex appends v in hexadecimal.
func appendHex(dst []byte, v uint64) []byte {
	const digits = "0123456789abcdef"
	for shift := (bits.Len64(v|1) - 1) &^ 3; shift >= 0; shift -= 4 {
		dst = append(dst, digits[v>>shift&15])
	}
	return dst
}

// justify fills what stands after from up to width with blanks.
func justify(dst []byte, from, width int, minus bool) []byte {
	n := width - (len(dst) - from)
	if n <= 0 {
		return dst
	}
	for range n {
		dst = append(dst, ' ')
	}
	if !minus {
		copy(dst[from+n:], dst[from:len(dst)-n])
		for i := range n {
			dst[from+i] = ' '
		}
	}
	return dst
}

// appendNumber is %d, %u, %x, %X and %o of C.
func appendNumber(dst []byte, d *piece, v uint64, width, prec int, minus bool) []byte {
	v = ctype{d.size, d.conv != 'd'}.extend(v)
	if d.plain && width <= 0 && prec < 0 {
		switch d.conv {
		case 'd':
			return strconv.AppendInt(dst, int64(v), 10)
		case 'u':
			return strconv.AppendUint(dst, v, 10)
		case 'x':
			if d.alt && v != 0 {
				dst = append(dst, '0', 'x')
			}
			return appendHex(dst, v)
		}
	}
	from := len(dst)
	switch {
	case d.conv == 'd' && int64(v) < 0:
		dst, v = append(dst, '-'), -v
	case d.conv == 'd' && d.plus:
		dst = append(dst, '+')
	case d.conv == 'd' && d.blank:
		dst = append(dst, ' ')
	}
	base := 10
	switch d.conv {
	case 'x', 'X':
		base = 16
		if d.alt && v != 0 {
			dst = append(dst, '0', d.conv)
		}
	case 'o':
		base = 8
		if d.alt && v != 0 {
			dst = append(dst, '0')
		}
	}
	var digits [24]byte
	s := strconv.AppendUint(digits[:0], v, base)
	if d.conv == 'X' {
		for i, c := range s {
			if c >= 'a' {
				s[i] = c - 'a' + 'A'
			}
		}
	}
	zeros := min(prec, maxWidth) - len(s)
	if prec < 0 && d.zero && !minus {
		zeros = min(width, maxWidth) - (len(dst) - from) - len(s)
	}
	for range max(zeros, 0) {
		dst = append(dst, '0')
	}
	dst = append(dst, s...)
	return justify(dst, from, min(width, maxWidth), minus)
}
