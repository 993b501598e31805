package convert_test

import (
	"testing"

	"kprof/convert"
	"kprof/convert/sniff"
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
