package livetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Formats are format texts of tracepoints, by kernel and event: "6.18/sched:sched_switch".
// They are those of the running kernel, as kernel "here", where tracefs is readable, and
// those of a larger collection, if there is one: in the archives formats-KERNEL.txtar of
// its folder traces (see Recordings).
func Formats(t testing.TB) map[string]string {
	t.Helper()
	texts := map[string]string{}
	paths, err := filepath.Glob("/sys/kernel/tracing/events/*/*/format")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if b, err := os.ReadFile(p); err == nil { // an event may go
			event := filepath.Dir(p)
			texts["here/"+filepath.Base(filepath.Dir(event))+":"+filepath.Base(event)] = string(b)
		}
	}
	if dir := corpus(t); dir != "" {
		for name, a := range Archives(t, filepath.Join(dir, "traces"), "formats-*") {
			kernel := strings.TrimPrefix(name, "formats-")
			for _, f := range a.Files {
				texts[kernel+"/"+strings.Replace(f.Name, ".", ":", 1)] = string(f.Data)
			}
		}
	}
	if len(texts) == 0 {
		t.Skip("neither this kernel shows formats nor is there a collection")
	}
	return texts
}
