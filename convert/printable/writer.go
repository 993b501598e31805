package printable

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// Writer writes text without what a terminal would obey: names in it may
// be those that strangers chose. Ends of lines and tabs stay.
type Writer struct {
	w    io.Writer
	rest []byte // the beginning of a character
}

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes text. The beginning of a character waits for its end.
func (p *Writer) Write(b []byte) (int, error) {
	text := append(p.rest, b...)
	whole := len(text)
	for i := 1; i <= min(utf8.UTFMax-1, len(text)); i++ {
		if c := text[len(text)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-i:]) {
				whole -= i
			}
			break
		}
	}
	var out []byte
	for at := text[:whole]; len(at) > 0; {
		i := bytes.IndexAny(at, "\n\t")
		if i < 0 {
			out = append(out, Text(string(at))...)
			break
		}
		out = append(append(out, Text(string(at[:i]))...), at[i])
		at = at[i+1:]
	}
	p.rest = bytes.Clone(text[whole:])
	if _, err := p.w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}
