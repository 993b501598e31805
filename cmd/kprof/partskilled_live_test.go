//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// countedProgram makes a file "begun", calls itself n0, n1, n2…, and has four page faults of user code under each
// name, until its parent is gone.
const countedProgram = `
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
static volatile char pages[4][4096] __attribute__((aligned(4096)));
__attribute__((noinline)) void touch_pages(void) {
	for (int i = 0; i < 4; i++)
		pages[i][0] = 1;
}
int main(void) {
	close(creat("begun", 0600));
	for (int i = 0, parent = getppid(); getppid() == parent; i++) {
		char name[16];
		madvise((void *)pages, sizeof pages, MADV_DONTNEED);
		snprintf(name, sizeof name, "n%d", i);
		prctl(PR_SET_NAME, name);
		touch_pages();
		usleep(300);
	}
}
`

// TestLivePartsKilled kills a recording in many files at some moment, KPROF_KILLS times (default: 1):
// what there is then can be read, by perf too, each sample in it has the name of its task and
// its function, and none is missing from the first that is kept on to the last, be it in one
// file or the next. Only so many files are kept as are asked for.
func TestLivePartsKilled(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf)
	livetest.RequirePrograms(t, "gcc")
	counted := filepath.Join(t.TempDir(), "counted")
	if err := (source{countedProgram, []string{"-O1"}}).compile("gcc", counted); err != nil {
		t.Fatal(err)
	}
	kills, _ := strconv.Atoi(os.Getenv("KPROF_KILLS"))
	for _, flags := range [][]string{
		{"-o", "x.data", "--switch-output=100K", "--switch-max-files", "3"},
		{"-o", "x.data", "--every", "100ms"},
		{"-o", "x.data", "--flight", "200ms"},
		{"-o", "x.folded", "--every", "100ms"},
		{"-o", "x.folded", "--flight", "200ms"},
	} {
		t.Run(strings.Join(flags[1:], " "), func(t *testing.T) {
			for range max(kills, 1) {
				partsKilled(t, counted, flags)
			}
		})
	}
}

var (
	countedFile = regexp.MustCompile(`^x\.(data\.\d{16}|\d{16}\.folded)$`)
	countedLine = regexp.MustCompile(`^n(\d+);(.*;)?touch_pages (\d+)$`)
)

func partsKilled(t *testing.T, counted string, flags []string) {
	dir := t.TempDir()
	profiles, flight := flags[1] == "x.folded", slices.Contains(flags, "--flight")
	args := slices.Concat([]string{"record", "-q", "-e", "page-faults:u", "-c", "1"}, flags, []string{"--", counted})
	c := kprof(t, args...)
	c.Dir = dir
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	c.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL} // nor is it to outlive the test
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Kill(-c.Process.Pid, unix.SIGKILL) }()
	files := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() == "begun" {
				continue
			}
			if !countedFile.MatchString(e.Name()) {
				t.Errorf("there is %s", e.Name())
			}
			names = append(names, filepath.Join(dir, e.Name()))
		}
		return names
	}
	first := ""
	waitFor(t, "files", func() bool {
		if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil && flight { // else it would end kprof
			_ = c.Process.Signal(unix.SIGUSR2)
		}
		there := files()
		if first == "" && len(there) > 1 {
			first = there[0]
		}
		_, err := os.Stat(first)
		return first != "" && (!slices.Contains(flags, "--switch-max-files") || err != nil) || said.Len() > 0
	})
	time.Sleep(time.Duration(rand.Int64N(int64(300 * time.Millisecond))))
	_ = unix.Kill(-c.Process.Pid, unix.SIGKILL)
	_ = c.Wait()
	if said.Len() > 0 {
		t.Fatalf("%s", said.Bytes())
	}

	all := map[int]int{} // samples by number
	names := files()
	if slices.Contains(flags, "--switch-max-files") && (len(names) < 3 || len(names) > 10) { // that being written, those being finished, and one not yet counted
		t.Errorf("%d files are kept", len(names))
	}
	for i, name := range names {
		out, err := kprof(t, "convert", "-f", "folded", name).CombinedOutput()
		if err != nil && !bytes.Contains(out, []byte("no sample")) {
			t.Errorf("%s: %v\n%.2000s", name, err, out)
		}
		// What was begun last, and what is being finished meanwhile, may end early.
		if (i < len(names)-3 || flight) && bytes.Contains(out, []byte("everything before is converted")) {
			t.Errorf("%s of %d files: %.2000s", name, len(names), out)
		}
		here := map[int]int{}
		for line := range strings.Lines(string(out)) {
			line = strings.TrimSuffix(line, "\n")
			if m := countedLine.FindStringSubmatch(line); m != nil {
				number, _ := strconv.Atoi(m[1])
				n, _ := strconv.Atoi(m[3])
				here[number] += n
				all[number] += n
			} else if strings.Contains(line, "[counted]") || strings.HasPrefix(line, ":") {
				t.Errorf("%s: %s", name, line)
			}
		}
		if flight {
			contiguous(t, name, here)
		}
		if profiles {
			continue
		}
		if got, _ := samples(t, name); got != perfSamples(t, name) {
			t.Errorf("%s: %d samples, perf has %d", name, got, perfSamples(t, name))
		}
	}
	t.Logf("%d files, %d names", len(names), len(all))
	if !flight {
		contiguous(t, fmt.Sprintf("%d files", len(names)), all)
	}
}

// contiguous expects four samples of each number from the least to the largest, which themselves
// may have fewer.
func contiguous(t *testing.T, what string, samples map[int]int) {
	t.Helper()
	if len(samples) == 0 {
		return
	}
	first, last := -1, -1
	for n := range samples {
		if first < 0 || n < first {
			first = n
		}
		last = max(last, n)
	}
	for n := first + 1; n < last; n++ {
		if samples[n] != 4 {
			t.Errorf("%s: of %d to %d, number %d has %d samples", what, first, last, n, samples[n])
			return
		}
	}
}
