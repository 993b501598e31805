package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"kprof/perfevent/livetest"
)

// diffLoad is a program of five functions that do the same kind of work. SLOW is
// the work of one of them, NAME its name as the linker has it. Of 1000 units in all
// it has 100 in the base; the program ends after 1.1 seconds of CPU time.
const diffLoad = `
#include <time.h>
static volatile long sink;
#define N __attribute__((noinline))
static inline __attribute__((always_inline)) long unit(long x, int n) { for (int i = 0; i < 40 * n; i++) x = x * 3 + (x >> 7) + i; return x; }
N void first(void) { sink = unit(sink, 300); }
N void second(void) { sink = unit(sink, 250); }
N void third(void) { sink = unit(sink, 200); }
N void fourth(void) { sink = unit(sink, 150); }
N void slow(void) __asm__(NAME);
N void slow(void) { sink = unit(sink, SLOW); }
int main(void)
{
	while (clock() < 1.1 * CLOCKS_PER_SEC)
		for (int i = 0; i < 100; i++) {
			first();
			second();
			third();
			fourth();
			slow();
		}
	return 0;
}
`

// TestLiveDiffSlower builds a program, and again with other options, so that one
// function has five percent more of the samples, and another name: it must be the
// first in the table. Something else on the machine may disturb one recording of
// three.
func TestLiveDiffSlower(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Program("gcc"))
	dir := t.TempDir()
	source := filepath.Join(dir, "load.c")
	if err := os.WriteFile(source, []byte(diffLoad), 0o600); err != nil {
		t.Fatal(err)
	}
	build := func(name string, options ...string) string {
		program := filepath.Join(dir, name)
		c := exec.Command("gcc", append(options, "-fno-omit-frame-pointer", "-o", program, source)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return program
	}
	base := build("base", "-O1", `-DNAME="slow"`, "-DSLOW=100")
	slower := build("new", "-O2", "-fno-unroll-loops", `-DNAME="slow.constprop.0"`, "-DSLOW=155")
	record := func(program string) string {
		data := program + ".data"
		out, err := kprof(t, "record", "-q", "--no-capsule", "-e", "cpu-clock", "-c", "100000", "-o", data, "--", program).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return data
	}
	for try := 1; ; try++ {
		out, err := kprof(t, "diff", "-f", "json", record(base), record(slower)).Output()
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Base, New struct{ Samples float64 }
			Functions []struct {
				Name, Verdict string
				Self          struct{ Diff, Low, High float64 }
			}
		}
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatal(err)
		}
		// Of 1055 units it has 155, where it had 100 of 1000: 4.7 % more.
		f := r.Functions[0]
		t.Logf("%.0f and %.0f samples, first: %+v", r.Base.Samples, r.New.Samples, f)
		if f.Name == "slow" && f.Verdict == "more" && f.Self.Diff > 0.02 && f.Self.Diff < 0.08 {
			return
		}
		if try == 3 {
			t.Fatal("slow is not the first, or has not 4.7 % more")
		}
	}
}
