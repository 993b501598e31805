package control_test

import (
	"bytes"
	"strings"
	"testing"

	"kprof/perfevent/fuzztest"
	"kprof/record/control"
)

// FuzzServe: of whatever commands come, each but an empty one is acknowledged or has failed, and
// nothing is done that none says.
func FuzzServe(f *testing.F) {
	fuzztest.Add(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		var did told
		var acks strings.Builder
		failed := 0
		err := control.Serve(bytes.NewReader(b), &acks, &did, func(string, error) { failed++ })
		commands := 0
		for _, c := range bytes.FieldsFunc(b, func(r rune) bool { return r == '\n' || r == 0 }) {
			if len(c) > 4096 {
				break
			}
			if len(bytes.Trim(c, " \t\r")) > 0 {
				commands++
			}
		}
		acked := strings.Count(acks.String(), "ack\n")
		if err == nil && acked+failed != commands {
			t.Errorf("%d commands, %d acknowledged, %d failed", commands, acked, failed)
		}
		for _, x := range did {
			word, _, _ := strings.Cut(strings.Replace(x, "list", "evlist", 1), " ")
			if !bytes.Contains(b, []byte(word)) {
				t.Errorf("did %s", x)
			}
		}
	})
}
