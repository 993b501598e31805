//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestLiveChainParts: callchains have the part that was asked for, by what perf reads, which
// reads the records of switches too.
func TestLiveChainParts(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf)
	file := filepath.Join(t.TempDir(), "perf.data")
	for _, x := range []struct {
		flag         string
		kernel, user bool
	}{
		{"--call-chains", true, true},
		{"--user-callchains", false, true},
		{"--kernel-callchains", true, false},
		{"--switch-events", true, true},
	} {
		c := kprof(t, "record", "-e", "sched:sched_switch", x.flag, "-o", file, "--", "sh", "-c", "echo one; sleep 0.01; echo two")
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", x.flag, err, said)
		}
		// Of code without frame pointers, return addresses may be any words: the kernel's are those
		// for which perf has a symbol.
		kernel, user := false, false
		for line := range strings.Lines(string(command(t, nil, "perf", "script", "-F", "ip,sym,dso", "-i", file))) {
			first, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			addr, err := strconv.ParseUint(first, 16, 64)
			if err != nil {
				continue
			}
			kernel = kernel || addr>>63 == 1 && strings.Contains(line, "([kernel.kallsyms])") && !strings.Contains(line, "[unknown]")
			user = user || addr>>63 == 0
		}
		if kernel != x.kernel || user != x.user {
			t.Errorf("%s: frames of the kernel %v, of the user %v", x.flag, kernel, user)
		}
		switches := bytes.Contains(command(t, nil, "perf", "report", "--stats", "-i", file), []byte("SWITCH events"))
		if switches != (x.flag == "--switch-events") {
			t.Errorf("%s: records of switches %v", x.flag, switches)
		}
	}
}

// recurseSource calls getppid(2) in as many calls of a function as it is told, deepCalls times, and
// as often again in few.
var recurseSource = fmt.Sprintf(`
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static int deep(int n) { return n == 0 ? getppid() != 0 : deep(n - 1) + 1; }
int main(int argc, char **argv) {
	int sum = 0;
	for (int i = 0; i < %d; i++)
		sum += deep(atoi(argv[1])) + deep(2);
	return sum < 0;
}`, deepCalls)

const deepCalls = 40

// TestLiveCutStacks: of stacks that are deeper than the kernel takes it is told how many there
// are, as many as perf script prints with that many frames, and at how many frames they end.
func TestLiveCutStacks(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf)
	livetest.RequirePrograms(t, "gcc")
	dir := t.TempDir()
	if err := (source{recurseSource, []string{"-O1", "-fno-optimize-sibling-calls"}}).compile("gcc", filepath.Join(dir, "recurse")); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("/proc/sys/kernel/perf_event_max_stack")
	if err != nil {
		t.Fatal(err)
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	folded, data := filepath.Join(dir, "x.folded"), filepath.Join(dir, "x.data")
	run := func(args ...string) string {
		said, err := kprof(t, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("kprof %q: %v\n%s", args, err, said)
		}
		return string(said)
	}
	record := func(file, frames, deep string) []string {
		return []string{"record", "-e", "syscalls:sys_enter_getppid", "--max-stack", frames, "-o", file, "--", filepath.Join(dir, "recurse"), deep}
	}
	deep := strconv.Itoa(most + 1)
	for limit, asked := range map[int]string{most: "0", most - 1: strconv.Itoa(most - 1), 30: "30"} {
		want := fmt.Sprintf("%d stacks cut at %d frames: ", deepCalls, limit)
		if said := run(record(folded, asked, deep)...); !strings.Contains(said, want) {
			t.Errorf("--max-stack %s: not told %q:\n%s", asked, want, said)
		}
		run(record(data, asked, deep)...)
		if said := run("convert", data, "-o", folded); !strings.Contains(said, want) {
			t.Errorf("--max-stack %s, convert: not told %q:\n%s", asked, want, said)
		}
		if attrs, want := command(t, nil, "perf", "evlist", "-v", "-i", data), fmt.Sprintf("sample_max_stack: %d", limit); !bytes.Contains(attrs, []byte(want)) {
			t.Errorf("--max-stack %s: perf evlist does not print %q:\n%s", asked, want, attrs)
		}
		cut := 0
		for sample := range strings.SplitSeq(string(command(t, nil, "perf", "script", "--max-stack", strconv.Itoa(most+10), "-F", "ip,sym", "-i", data)), "\n\n") {
			if strings.Count(strings.TrimSpace(sample), "\n")+1 == limit {
				cut++
			}
		}
		if cut != deepCalls {
			t.Errorf("--max-stack %s: perf script prints %d stacks of %d frames, want %d", asked, cut, limit, deepCalls)
		}
	}
	if said := run(record(folded, "0", "20")...); strings.Contains(said, " cut at ") {
		t.Errorf("stacks that are not so deep:\n%s", said)
	}
}
