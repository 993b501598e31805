package livetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// InGuest reports whether the test runs in a guest of testdata/rig.sh, which has
// neither perf nor a compiler.
func InGuest() bool { return os.Getenv("KPROF_LIVE") == "guest" }

// PerfOrHost: the perf program, or that of the host, which reads what a guest keeps.
func PerfOrHost() string {
	if InGuest() {
		return ""
	}
	return Perf()
}

// KeepForHost keeps a recording of a guest, in which perf should find so many
// samples.
func KeepForHost(t testing.TB, recording string, samples int) {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv("KPROF_KEEP"), filepath.Base(t.Name())+"-")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"perf.data": b, "samples": fmt.Append(nil, samples)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
