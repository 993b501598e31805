//go:build linux

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// A program of known paths: each leaf is called along its own path of functions and
// touches its own pages, which were never touched before, so that each is one sample with
// that leaf, whatever the machine does. One path leads through the C library.
const (
	knownPaths = 12
	pathPages  = 6
)

// pathOf is the path of a leaf, as numbers of functions.
func pathOf(leaf int) string {
	digits := ""
	for n := 7*leaf + 3; len(digits) < 3+leaf%9; n = n*5/2 + 1 {
		digits += strconv.Itoa(n % 4)
	}
	return digits
}

// pathsSource is the program.
func pathsSource() string {
	var s strings.Builder
	s.WriteString(`#include <stdlib.h>
#define APART __attribute__((noinline))
volatile int sink;
static volatile char pages[13][6 * 4096 + 4096];
typedef void function(const char *);
extern function *volatile mids[], *volatile leaves[];
`)
	for i := range 4 {
		fmt.Fprintf(&s, "APART void mid_%d(const char *path) { char big[%d]; big[sink & 7] = 1; (*path == '.' ? leaves[path[1] - 'a'] : mids[*path - '0'])(path + 1); sink += big[sink & 7]; }\n", i, 16<<i)
	}
	for i := range knownPaths {
		fmt.Fprintf(&s, "APART void leaf_%d(const char *path) { for (int i = 0; i < %d; i++) pages[%d][4096 * i + 4095] = 1; sink++; }\n", i, pathPages, i)
	}
	fmt.Fprintf(&s, `
APART int compare(const void *a, const void *b) {
	static int touched;
	for (; touched < %d; touched++) pages[12][4096 * touched + 4095] = 1;
	return *(const int *)a - *(const int *)b;
}
APART void sorted(void) { int v[2] = {2, 1}; qsort(v, 2, sizeof *v, compare); sink += v[0]; }
function *volatile mids[] = {mid_0, mid_1, mid_2, mid_3};
`, pathPages)
	s.WriteString("function *volatile leaves[] = {")
	for i := range knownPaths {
		fmt.Fprintf(&s, "leaf_%d, ", i)
	}
	s.WriteString("};\nint main(void) {\n")
	for i := range knownPaths {
		path := pathOf(i)
		fmt.Fprintf(&s, "\tmids['%c' - '0'](\"%s.%c\");\n", path[0], path[1:], 'a'+i)
	}
	s.WriteString("\tsorted();\n\treturn 0;\n}\n")
	return s.String()
}

// wholePaths counts the samples of leaves in folded stacks, by leaf, and complains of
// those whose stack is not the path to that leaf. Of a C library that does not say how it
// is walked, as musl's, a stack has the last frame only.
func wholePaths(t *testing.T, folded []byte, unwalked bool) (samples map[string]int) {
	t.Helper()
	samples = map[string]int{}
	leaf := regexp.MustCompile(`;(leaf_(\d+)|compare) (\d+)$`)
	for line := range strings.Lines(string(folded)) {
		line = strings.TrimSpace(line)
		m := leaf.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[3])
		samples[m[1]] += n
		want := `;main;sorted;([^ ]*;)?compare`
		if m[2] != "" {
			i, _ := strconv.Atoi(m[2])
			want = ";main"
			for _, d := range pathOf(i) {
				want += ";mid_" + string(d)
			}
			want += ";leaf_" + m[2]
		}
		if unwalked {
			if m[2] == "" {
				want = ";compare"
			}
			if !regexp.MustCompile(`^paths;\[libc\.so\]` + want + ` \d+$`).MatchString(line) {
				t.Errorf("not the path of %s: %s", m[1], line)
			}
			continue
		}
		if !regexp.MustCompile(`^paths;_start;[^ ]*`+want+` \d+$`).MatchString(line) && !regexp.MustCompile(`^paths;_start`+want+` \d+$`).MatchString(line) {
			t.Errorf("not the path of %s: %s", m[1], line)
		}
	}
	return samples
}

// TestLiveCallGraphDwarf records programs without frame pointers: each sample has the path
// that the program took to its leaf, live and by way of a perf.data, which perf walks alike.
func TestLiveCallGraphDwarf(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	for _, x := range []struct {
		name string
		need livetest.Need
		cc   string
	}{
		{"gcc", nil, "gcc -O2"},
		{"gcc static", nil, "gcc -O2 -static"},
		{"clang", optional("clang"), "clang -O2"},
		{"musl", optional("musl-gcc"), "musl-gcc -O2"},
		{"32 bits", func() string { return cmp.Or(gcc32(), livetest.Narrow()) }, "gcc -O2 -m32"},
	} {
		t.Run(x.name, func(t *testing.T) {
			livetest.RequirePrograms(t, "gcc")
			if x.need != nil {
				if missing := x.need(); missing != "" {
					t.Skip("needs " + missing)
				}
			}
			dir := t.TempDir()
			source, prog := filepath.Join(dir, "paths.c"), filepath.Join(dir, "paths")
			livetest.WriteFile(t, source, pathsSource())
			cc := strings.Fields(x.cc + " -fomit-frame-pointer -fno-optimize-sibling-calls -o " + prog + " " + source)
			if out, err := exec.Command(cc[0], cc[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			data, folded := filepath.Join(dir, "perf.data"), filepath.Join(dir, "live.folded")
			record := []string{"record", "-e", "page-faults:u", "-c", "1", "--call-graph", "dwarf"}
			for _, out := range []string{data, folded} {
				c := kprof(t, append(record, "-o", out, "--", prog)...)
				if said, err := c.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, said)
				} else if !bytes.Contains(said, []byte("stacks are copied of each sample, 16.0 KiB each")) {
					t.Errorf("it says %s", said)
				}
			}
			live, err := os.ReadFile(folded)
			if err != nil {
				t.Fatal(err)
			}
			converted := command(t, nil, kprof(t).Path, "convert", data, "-f", "folded", "-o", "-")
			ways := map[string][]byte{"live": live, "perf.data": converted}
			for name, lines := range ways {
				samples := wholePaths(t, lines, x.name == "musl")
				for i := range knownPaths {
					if n := samples[fmt.Sprint("leaf_", i)]; n < pathPages {
						t.Errorf("%s: leaf_%d has %d samples, not %d", name, i, n, pathPages)
					}
				}
				if n := samples["compare"]; n < pathPages {
					t.Errorf("%s: compare has %d samples, not %d", name, n, pathPages)
				}
				if t.Failed() {
					t.Fatalf("%s:\n%s", name, lines)
				}
			}
			if x.name == "musl" || strings.Contains(x.cc, "-static") || strings.Contains(x.cc, "-m32") {
				return // perf walks none of them, see TestLiveWalksOfPerf
			}
			want := scriptLines(t, bytes.NewReader(command(t, nil, "perf", "script", "--no-inline", "-i", data)), true)
			got := foldedLines(t, bytes.NewReader(converted))
			compareCopied(t, want, got)
		})
	}
}

// optional is a need of a program that tests are not installed with.
func optional(program string) livetest.Need {
	return func() string {
		if _, err := exec.LookPath(program); errors.Is(err, exec.ErrNotFound) {
			return program
		}
		return ""
	}
}
