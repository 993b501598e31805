package livetest

import (
	"fmt"
	"os"
	"path/filepath"
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

// SetTracing switches the kernel's tracer on or off, until t ends: trace-cmd leaves it off, and
// nothing can be written into trace_marker then. No other package's test uses the machine meanwhile.
func SetTracing(t testing.TB, on bool) {
	t.Helper()
	ChangeMachine(t)
	setTracing(t, on)
}

// TracingOn is SetTracing(t, true) beside tests of other packages.
func TracingOn(t testing.TB) {
	t.Helper()
	UseMachine(t)
	setTracing(t, true)
}

func setTracing(t testing.TB, on bool) {
	t.Helper()
	file := filepath.Join(TracefsMounted(t).Path(), "tracing_on")
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set := func(value []byte) {
		if err := os.WriteFile(file, value, 0); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { set(was) })
	set(map[bool][]byte{false: []byte("0"), true: []byte("1")}[on])
}
