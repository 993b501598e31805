package convert_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/replay"
	"kprof/convert/sniff"
	"kprof/perfevent/perfdata/perftext"
)

// TestErrorTexts: each reason has words of its own.
func TestErrorTexts(t *testing.T) {
	seen := map[string]error{}
	for _, err := range []error{
		&convert.TimeError{Reason: convert.NoTimes}, &convert.TimeError{Reason: convert.NoSampleTimes},
		&convert.TimeError{Reason: convert.PercentOfPipe}, &convert.TimeError{Reason: convert.PercentOfPipedText},
		&convert.UnreadableError{Kind: sniff.Empty}, &convert.UnreadableError{Kind: sniff.OtherText, Line: "x"}, &convert.UnreadableError{Kind: sniff.Zip},
	} {
		text := err.Error()
		if other := seen[text]; other != nil || text == "" {
			t.Errorf("%#v and %#v: %q", err, other, text)
		}
		seen[text] = err
	}
}

// TestWarningTexts: one is not many, and of a recording in which nothing came before its end
// nothing is said to be converted.
func TestWarningTexts(t *testing.T) {
	for _, c := range []struct {
		w    convert.Warning
		want string
	}{
		{convert.Warning{Kind: convert.EarlyTimes, Count: 7, Early: replay.Early{CPU: 3, Until: 12_000_345_999}},
			"left out 7 times between events from before 12.000345, when the last of the rings begins, that of CPU 3: earlier events of it were overwritten, and may be their ends"},
		{convert.Warning{Kind: convert.OutOfOrder, Count: 1}, "1 sample came too late to be in the order of time"},
		{convert.Warning{Kind: convert.OutOfOrder, Count: 2}, "2 samples came too late to be in the order of time"},
		{convert.Warning{Kind: convert.TruncatedRecording, File: "x", Err: io.ErrUnexpectedEOF}, "x: unexpected EOF"},
		{convert.Warning{Kind: convert.TruncatedRecording, File: "x", Err: io.ErrUnexpectedEOF, Count: 3}, "x: unexpected EOF; everything before is converted"},
	} {
		if got := c.w.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestManyEvents: of many events without samples some are listed.
func TestManyEvents(t *testing.T) {
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "event trace:e%d type=tracepoint config=%d ids=%d\n", i, i+1, i+1)
	}
	text.WriteString("comm t=0 pid=7 comm=x\n")
	_, err := convert.Open(t.Context(), perftext.WriteFile(t, text.String()), convert.Options{})
	var empty *convert.EmptyError
	if !errors.As(err, &empty) || empty.Unlisted != 292 || !strings.HasSuffix(empty.Reason, "; of event trace:e0, trace:e1, trace:e2, trace:e3, trace:e4, trace:e5, trace:e6, trace:e7 and 292 more") {
		t.Errorf("%v", err)
	}
}

// TestUnknownCompressed: of what is compressed it is said that it is, and what is in it.
func TestUnknownCompressed(t *testing.T) {
	for _, c := range []struct{ inside, want string }{
		{"\x01\x02\x03junk\x00\xffmore", "it is compressed, and what is in it is neither pprof nor any other known format"},
		{"", "it is empty"},
		{"hello world\n", "it is text"},
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := io.WriteString(z, c.inside); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := convert.Read(t.Context(), bytes.NewReader(b.Bytes()), convert.Options{}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.inside, err, c.want)
		}
		if _, err := convert.OpenRecording(bytes.NewReader(b.Bytes())); err == nil || strings.Contains(err.Error(), "perf.data") {
			t.Errorf("%q, as a recording: %v", c.inside, err)
		}
	}
}
