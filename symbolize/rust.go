package symbolize

import (
	"math/bits"
	"strconv"
	"strings"
)

// convertLegacyRust gives the readable form of a name of Rust's first scheme,
// "_ZN", names of a path with their lengths in front, the last of them a hash,
// "E":
//
//	_ZN3std3sys9backtrace28__rust_begin_short_backtrace17h0123456789abcdefE
//
// The hash is left out. ok is false for any other name.
//
// The demangle package takes the first underscore of a name for a separator
// behind its length, which this scheme does not have, and would lose one of
// those above.
func convertLegacyRust(name string) (readable string, ok bool) {
	rest, ok := strings.CutPrefix(name, "_ZN")
	if !ok {
		return "", false
	}
	if i := strings.LastIndex(rest, "E."); i >= 0 {
		rest = rest[:i+1] // LLVM adds ".llvm.1234"
	}
	rest, ok = strings.CutSuffix(rest, "E")
	if !ok {
		return "", false
	}
	var b strings.Builder
	for {
		digits := 0
		for digits < len(rest) && '0' <= rest[digits] && rest[digits] <= '9' {
			digits++
		}
		size, err := strconv.Atoi(rest[:digits])
		if err != nil || size <= 0 || size > len(rest)-digits {
			return "", false
		}
		ident := rest[digits : digits+size]
		rest = rest[digits+size:]
		if rest == "" {
			return b.String(), b.Len() > 0 && isRustHash(ident)
		}
		if b.Len() > 0 {
			b.WriteString("::")
		}
		if !writeLegacyRust(&b, ident) {
			return "", false
		}
	}
}

// isRustHash reports whether s is "h" and 16 hexadecimal digits, of which, as
// hashes have it, at least five differ.
func isRustHash(s string) bool {
	if len(s) != 17 || s[0] != 'h' {
		return false
	}
	var seen uint16
	for i := 1; i < len(s); i++ {
		d, ok := hexDigit(s[i])
		if !ok || 'A' <= s[i] && s[i] <= 'F' {
			return false
		}
		seen |= 1 << d
	}
	return bits.OnesCount16(seen) >= 5
}

// writeLegacyRust writes one name of a path without its escapes, and reports
// whether it may be one.
func writeLegacyRust(b *strings.Builder, ident string) bool {
	if strings.HasPrefix(ident, "_$") {
		ident = ident[1:] // names may not start with an escape
	}
	for ident != "" {
		switch c := ident[0]; {
		case strings.HasPrefix(ident, ".."):
			b.WriteString("::")
			ident = ident[2:]
		case c == '$':
			code, rest, ok := strings.Cut(ident[1:], "$")
			r, known := rustEscape(code)
			if !ok || !known {
				return false
			}
			b.WriteRune(r)
			ident = rest
		case c == '_' || c == '.' || c == ':' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			b.WriteByte(c)
			ident = ident[1:]
		default:
			return false
		}
	}
	return true
}

// rustEscape returns what stands for "$code$".
func rustEscape(code string) (rune, bool) {
	switch code {
	case "C":
		return ',', true
	case "SP":
		return '@', true
	case "BP":
		return '*', true
	case "RF":
		return '&', true
	case "LT":
		return '<', true
	case "GT":
		return '>', true
	case "LP":
		return '(', true
	case "RP":
		return ')', true
	}
	hex, ok := strings.CutPrefix(code, "u")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || n < ' ' || n == 0x7f || n > 0x10ffff {
		return 0, false
	}
	return rune(n), true
}
