package framepointer_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/symbolize/framepointer"
)

const source = `#include <stdio.h>
#include <string.h>
__attribute__((noinline)) int work(const char *s, int n) { char b[64]; snprintf(b, sizeof b, "%s %d", s, n); return strlen(b); }
__attribute__((noinline)) int more(int n) { int k = work("a", n); return k + work("b", k); }
__attribute__((noinline)) int most(int n) { return n > 0 ? more(n) + more(n - 1) * most(n - 1) : 1; }
int main(int argc, char **argv) { return most(argc) == 0; }
`

// TestCompiled: what gcc was told to do is what is found, of programs, of scripts that they
// interpret, and of processes.
func TestCompiled(t *testing.T) {
	livetest.RequirePrograms(t, "gcc")
	dir := t.TempDir()
	c := filepath.Join(dir, "a.c")
	livetest.WriteFile(t, c, source)
	var programs framepointer.Programs
	for _, x := range []struct {
		flags []string
		lacks bool
	}{
		{[]string{"-O2", "-fomit-frame-pointer"}, true},
		{[]string{"-O2", "-fno-omit-frame-pointer"}, false},
		{[]string{"-O2", "-fno-pie", "-no-pie", "-fomit-frame-pointer", "-s"}, true},
		{[]string{"-O1", "-fno-omit-frame-pointer", "-s"}, false},
	} {
		out := filepath.Join(t.TempDir(), "program")
		if text, err := exec.Command("gcc", append(x.flags, "-o", out, c)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		script := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(script, []byte("#! "+out+" -x\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time it is known
			for _, path := range []string{out, script} {
				if lacks, err := programs.PathLacks(path); err != nil || lacks != x.lacks {
					t.Errorf("%q: %v, %v, want %v", x.flags, lacks, err, x.lacks)
				}
			}
		}
	}
	if lacks, err := programs.ProcessLacks(os.Getpid()); err != nil || lacks {
		t.Errorf("the test: %v, %v", lacks, err)
	}
	if _, err := programs.PathLacks(filepath.Join(dir, "none")); err == nil {
		t.Error("a file that is not there has frame pointers or none")
	}
}
