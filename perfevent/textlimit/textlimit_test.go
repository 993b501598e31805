package textlimit_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"kprof/perfevent/textlimit"
)

func TestReader(t *testing.T) {
	longest := strings.Repeat("x", textlimit.MaxLine)
	for _, c := range []struct {
		text string
		err  error
	}{
		{"", nil},
		{"a\nb", nil},
		{longest, nil},
		{"a\n" + longest + "\n" + longest, nil},
		{longest + "x", textlimit.ErrLine},
		{"a\n" + longest + longest + "\nb\n", textlimit.ErrLine},
	} {
		n, err := io.Copy(io.Discard, textlimit.NewReader(strings.NewReader(c.text)))
		if !errors.Is(err, c.err) || c.err == nil && n != int64(len(c.text)) {
			t.Errorf("%d bytes: read %d, %v", len(c.text), n, err)
		}
	}
	broken := errors.New("broken")
	if _, err := io.ReadAll(textlimit.NewReader(iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
