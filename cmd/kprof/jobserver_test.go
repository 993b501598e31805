//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestLiveJobserver records a make below a make -j. Its two jobs wait for each
// other, so that they end only if it gets a job from the make above, by the pipes
// that this one has open for it.
func TestLiveJobserver(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	livetest.RequirePrograms(t, "make")
	dir := t.TempDir()
	files := map[string]string{
		"Makefile": "all:\n\t+$(KPROF) record -q -e cpu-clock -o perf.data -- $(MAKE) -f jobs\n",
		"jobs": `all: one two
one:
	@touch one.here; for i in $$(seq 300); do [ -e two.here ] && exit 0; sleep 0.1; done; exit 1
two:
	@touch two.here; for i in $$(seq 300); do [ -e one.here ] && exit 0; sleep 0.1; done; exit 1
.PHONY: all one two
`,
	}
	for name, text := range files {
		livetest.WriteFile(t, filepath.Join(dir, name), text)
	}
	args := []string{"-j3"}
	if exec.Command("make", "--jobserver-style=pipe", "--version").Run() == nil {
		args = append(args, "--jobserver-style=pipe") // the default since 4.4 is a FIFO
	}
	c := exec.Command("make", append(args, "KPROF="+kprof(t).Path)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "MAKEFLAGS=")
	out, err := c.CombinedOutput()
	if err != nil || strings.Contains(string(out), "jobserver") {
		t.Errorf("%v\n%s", err, out)
	}
	wantWhole(t, filepath.Join(dir, "perf.data"))
}
