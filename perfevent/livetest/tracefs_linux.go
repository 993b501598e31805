package livetest

import (
	"fmt"
	"testing"

	"kprof/perfevent/tracefs"
)

// Tracefs: mounted, or mountable.
func Tracefs() string {
	if _, err := tracefs.Find(tracefs.Options{Mount: true}); err != nil {
		return fmt.Sprintf("tracefs (%v)", err)
	}
	return ""
}

// TracefsMounted is tracefs, which is mounted where it is not.
func TracefsMounted(t testing.TB) *tracefs.FS {
	t.Helper()
	fs, err := tracefs.Find(tracefs.Options{Mount: true})
	if err != nil {
		t.Fatal(err)
	}
	return fs
}
