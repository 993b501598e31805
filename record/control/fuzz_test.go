package control_test

import (
	"bytes"
	"strings"
	"testing"

	"kprof/perfevent/fuzztest"
	"kprof/record/control"
)

// FuzzServe: of whatever lines come, each but an empty one is acknowledged or has failed, and
// nothing is done that no line says.
func FuzzServe(f *testing.F) {
	fuzztest.Add(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		var did told
		var acks strings.Builder
		failed := 0
		err := control.Serve(bytes.NewReader(b), &acks, &did, func(string, error) { failed++ })
		lines := 0
		for line := range bytes.Lines(b) {
			if len(line) > 4096 {
				break
			}
			if len(bytes.Trim(line, " \t\r\n\x00")) > 0 {
				lines++
			}
		}
		acked := strings.Count(acks.String(), "ack\n")
		if err == nil && acked+failed != lines {
			t.Errorf("%d lines, %d acknowledged, %d failed", lines, acked, failed)
		}
		for _, x := range did {
			word, _, _ := strings.Cut(strings.Replace(x, "list", "evlist", 1), " ")
			if !bytes.Contains(b, []byte(word)) {
				t.Errorf("did %s", x)
			}
		}
	})
}
