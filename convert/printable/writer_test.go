package printable

import (
	"bytes"
	"strings"
	"testing"
)

// TestWriter: what a terminal would obey does not come through, also where a character
// comes in two pieces; ends of lines and tabs do.
func TestWriter(t *testing.T) {
	text := "a\tä€𝄞\n\x1b[2Jb\x9b31m\u202ec\n"
	var want strings.Builder
	for i, part := range []string{"a", "ä€𝄞", "\x1b[2Jb\x9b31m\u202ec", ""} {
		want.WriteString(Text(part) + []string{"\t", "\n", "\n", ""}[i])
	}
	for n := 1; n <= len(text); n++ {
		var got bytes.Buffer
		w := NewWriter(&got)
		for at := 0; at < len(text); at += n {
			piece := text[at:min(at+n, len(text))]
			if k, err := w.Write([]byte(piece)); err != nil || k != len(piece) {
				t.Fatal(k, err)
			}
		}
		if got.String() != want.String() || strings.ContainsAny(got.String(), "\x1b\u202e") {
			t.Fatalf("in pieces of %d: %q, want %q", n, got.String(), want.String())
		}
	}
}
