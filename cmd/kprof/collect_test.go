//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestCollectLater counts collections, which the runtime prints: none where little is read, and
// a few where much is, as with the ballast that comes after the first.
func TestCollectLater(t *testing.T) {
	program, err := buildKprof()
	if err != nil {
		t.Fatal(err)
	}
	var much bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintf(&much, "program;f%d;f%d;f%d;f%d;f%d 1\n", i%5000, i%4999, i%4993, i%4987, i%4973)
	}
	dir := t.TempDir()
	large := filepath.Join(dir, "large.folded")
	livetest.WriteFile(t, large, much.String())
	for _, x := range []struct {
		input       string
		least, most int
	}{{root + "/testdata/demo.data", 0, 0}, {large, 1, 10}} {
		cmd := exec.Command(program, "convert", "-q", x.input, "-o", filepath.Join(dir, "o.pb.gz"))
		cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1", "GOGC=", "GOMEMLIMIT=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if n := strings.Count("\n"+string(out), "\ngc "); n < x.least || n > x.most {
			t.Errorf("%s: %d collections, want %d to %d:\n%s", x.input, n, x.least, x.most, out)
		}
	}
}
