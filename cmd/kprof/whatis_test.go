package main

import (
	"strings"
	"testing"

	"kprof/convert/sniff"
)

// TestNotRead: what to do instead goes on behind what the input is.
func TestNotRead(t *testing.T) {
	for kind, tail := range instead {
		if kind.Unread() == "" || !strings.HasPrefix(tail, ": ") && !strings.HasPrefix(tail, ", which ") && !strings.HasPrefix(tail, ", not ") {
			t.Errorf("kind %d: it is %q%q", kind, kind.Unread(), tail)
		}
	}
	for kind, want := range map[sniff.Kind]string{
		sniff.Speedscope: "it is a profile of speedscope, which kprof writes but does not read: give what it was made from, or open it in speedscope.app",
		sniff.SQLite:     "it is an SQLite database, which kprof does not read",
	} {
		if got := notRead(kind); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
