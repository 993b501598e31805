//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"kprof/perfevent/livetest"
)

// copiesSource runs for a while along a path of functions, several times as long as kprof takes
// to look into its rings twice, and becomes another program then, if there are arguments.
const copiesSource = `#include <time.h>
#include <unistd.h>
volatile long sink;
#define APART __attribute__((noinline))
APART void leaf(void) { for (int i = 0; i < 100000; i++) sink++; sink++; }
APART void inner(void) { leaf(); sink++; }
APART void outer(void) { inner(); sink++; }
int main(int argc, char **argv) {
	clock_t end = clock() + CLOCKS_PER_SEC / 2;
	while (clock() < end) outer();
	if (argc > 1) execv(argv[1], argv + 1);
	return argc > 1;
}
`

// TestLiveCallGraphAuto: stacks are copied of programs that have no frame pointers, also of
// those that others become, and of no others.
func TestLiveCallGraphAuto(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	livetest.RequirePrograms(t, "gcc")
	dir := t.TempDir()
	source := filepath.Join(dir, "a.c")
	livetest.WriteFile(t, source, copiesSource)
	lacks, has := filepath.Join(dir, "lacks"), filepath.Join(dir, "has")
	for prog, flag := range map[string]string{lacks: "-fomit-frame-pointer", has: "-fno-omit-frame-pointer"} {
		if out, err := exec.Command("gcc", "-O1", flag, "-o", prog, source).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, x := range []struct {
		command        []string
		copied, walked string // which samples have copies, and of whom there are such stacks
	}{
		{[]string{has, has}, "", "has;.*;main;outer;.*"},
		{[]string{lacks}, "all", "lacks;.*;main;outer;inner;leaf"},
		{[]string{has, lacks}, "some", "lacks;.*;main;outer;inner;leaf"},
	} {
		data, folded := filepath.Join(dir, "perf.data"), filepath.Join(dir, "live.folded")
		for _, out := range []string{data, folded} {
			c := kprof(t, append([]string{"record", "-e", "cpu-clock:u", "--call-graph", "auto", "-o", out, "--"}, x.command...)...)
			if said, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
		}
		live, err := os.ReadFile(folded)
		if err != nil {
			t.Fatal(err)
		}
		converted := command(t, nil, kprof(t).Path, "convert", "-q", data, "-f", "folded", "-o", "-")
		for way, lines := range map[string][]byte{"live": live, "perf.data": converted} {
			if !regexp.MustCompile(`(?m)^` + x.walked + ` \d+$`).Match(lines) {
				t.Errorf("%q, %s: there is no stack %s\n%s", x.command, way, x.walked, lines)
			}
		}
		// perf knows the twin as an event of its own, and shows those that have samples.
		if twin := bytes.Contains(command(t, nil, "perf", "evlist", "-i", data), []byte("cpu-clock:u+stacks")); twin != (x.copied != "all") {
			t.Errorf("%q: there is a twin: %v", x.command, twin)
		}
		stats := command(t, nil, "perf", "report", "--stats", "-i", data)
		if copies := bytes.Contains(stats, []byte("cpu-clock:u+stacks stats")); copies != (x.copied == "some") {
			t.Errorf("%q: the twin has samples: %v\n%s", x.command, copies, stats)
		}
	}
}
