//go:build !portable

package main

import (
	"errors"
	"os"
	"testing"
)

// TestAskSpans: where the events of a rule cannot be opened that is the name of a function, rules
// of nearly that name are asked for; not where it is one of them, or like none.
func TestAskSpans(t *testing.T) {
	for rule, want := range map[string]string{
		"span:sycalls":  "file does not exist; did you mean span:syscalls?",
		"span:blok":     "file does not exist; did you mean span:block?",
		"span:syscalls": "file does not exist",
		"span:vfs_read": "file does not exist",
		"span:do_fork":  "file does not exist",
		"sycalls":       "file does not exist",
	} {
		f := recordFlags{}
		f.events = []string{"cpu-clock", rule}
		if err := f.askSpans(os.ErrNotExist); err.Error() != want || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v, want %q", rule, err, want)
		}
	}
}
