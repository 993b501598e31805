//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// annotatedSource spends its time in one function, in a loop with a division.
const annotatedSource = `#include <time.h>
volatile unsigned sink;
__attribute__((noinline)) void divide(unsigned n) {
	for (unsigned i = 1; i < n; i++)
		sink = sink / i + n;
}
int main(void) {
	clock_t end = clock() + CLOCKS_PER_SEC / 4;
	while (clock() < end) divide(100000);
	return 0;
}
`

// TestLiveAnnotate: each instruction has the share of its function that perf annotate says,
// in perf.data, and in a pprof made of it; with lines of its source.
func TestLiveAnnotate(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	livetest.RequirePrograms(t, "gcc", "objdump")
	dir := t.TempDir()
	t.Setenv("HOME", dir) // where no recorder that runs meanwhile keeps the program
	source, prog, data, profile := filepath.Join(dir, "divide.c"), filepath.Join(dir, "divide"), filepath.Join(dir, "perf.data"), filepath.Join(dir, "p.pb.gz")
	livetest.WriteFile(t, source, annotatedSource)
	if out, err := exec.Command("gcc", "-g", "-O2", "-o", prog, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	runKprof(t, "record", "-q", "-e", "cpu-clock:u", "-F", "2000", "-o", data, "--", prog)
	runKprof(t, "convert", "-q", data, "-o", profile)

	// perf prints "   12.34 :   1160:   test   %esi,%esi".
	want := map[uint64]float64{}
	first := uint64(math.MaxUint64)
	out := command(t, nil, "perf", "annotate", "--stdio", "-i", data, "-s", "divide")
	for _, m := range regexp.MustCompile(`(?m)^ +([0-9.]+) : +([0-9a-f]+):`).FindAllSubmatch(out, -1) {
		share, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		addr, err := strconv.ParseUint(string(m[2]), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		want[addr], first = share, min(first, addr)
	}
	if len(want) < 5 {
		t.Fatalf("perf annotate has %d instructions\n%s", len(want), out)
	}
	for _, in := range []string{data, profile} {
		var got struct {
			Functions []struct {
				Self         int64
				Instructions []struct {
					Offset uint64
					Self   int64
					Source string
					Line   int
				}
			}
		}
		if err := json.Unmarshal([]byte(runKprof(t, "annotate", "-q", "--json", "divide", in)), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Functions) != 1 {
			t.Fatalf("%s: %+v", in, got)
		}
		f, lines := got.Functions[0], map[int]bool{}
		for _, x := range f.Instructions {
			share, known := want[first+x.Offset]
			if ours := 100 * float64(x.Self) / float64(f.Self); !known || math.Abs(ours-share) > 0.006 {
				t.Errorf("%s: +%#x: %.2f %%, perf has %.2f", in, x.Offset, ours, share)
			}
			if x.Source == source {
				lines[x.Line] = true
			}
		}
		if len(f.Instructions) > len(want) || !lines[4] || !lines[5] {
			t.Errorf("%s: %d instructions, perf has %d; lines %v", in, len(f.Instructions), len(want), lines)
		}
	}
	text := runKprof(t, "annotate", "-q", "--source", dir, "divide", data)
	if !strings.Contains(text, "divide.c:5: sink = sink / i + n;\n") {
		t.Errorf("%s", text)
	}
	moved := filepath.Join(dir, "moved")
	if err := os.Rename(prog, moved); err != nil {
		t.Fatal(err)
	}
	said, err := kprof(t, "annotate", "-q", "divide", data).CombinedOutput()
	if err == nil || !bytes.Contains(said, []byte("no code of divide in divide, which has ")) {
		t.Errorf("without the program: %v, %s", err, said)
	}
}
