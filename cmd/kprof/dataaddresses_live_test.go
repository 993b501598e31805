//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// touchingProgram touches 64 pages, and says where they are.
const touchingProgram = `
#include <stdio.h>
#include <sys/mman.h>
int main(void) {
	char *m = mmap(0, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(m, 64 * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < 64; i++)
		m[i * 4096] = 1;
	printf("%p\n", m);
	return 0;
}
`

// TestLiveDataAddresses: samples of page faults tell where the data are, as the program and perf
// say, and can be selected and summed up by that, through perf.data and live.
func TestLiveDataAddresses(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	livetest.RequirePrograms(t, "gcc")
	dir := t.TempDir()
	program, data, folded := filepath.Join(dir, "touching"), filepath.Join(dir, "x.data"), filepath.Join(dir, "x.folded")
	if err := (source{touchingProgram, []string{"-O1"}}).compile("gcc", program); err != nil {
		t.Fatal(err)
	}
	record := []string{"record", "-q", "-e", "page-faults:u", "-c", "1", "--phys-data", "-W"}
	out := command(t, nil, kprof(t).Path, append(record, "-o", data, "--", program)...)
	from, err := strconv.ParseUint(strings.TrimSpace(string(out)), 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	var pages, all []uint64
	for line := range strings.Lines(string(command(t, nil, kprof(t).Path, "script", "-F", "addr", data))) {
		n, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, n); n >= from && n < from+64*4096 {
			pages = append(pages, n)
		}
	}
	var theirs []uint64
	for line := range strings.Lines(string(command(t, nil, "perf", "script", "-F", "addr", "-i", data))) {
		n, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		theirs = append(theirs, n)
	}
	if !slices.Equal(all, theirs) {
		t.Errorf("addresses %x, perf has %x", all, theirs)
	}
	slices.Sort(pages)
	for i := range uint64(64) {
		if len(pages) != 64 || pages[i] != from+i*4096 {
			t.Fatalf("of the pages at %x: %x", from, pages)
		}
	}
	where := fmt.Sprintf("addr >= %d && addr < %d && weight == 0 && phys_addr >= 0", from, from+64*4096)
	samplesIn := func(file string, flags ...string) (n int) {
		for line := range strings.Lines(string(command(t, nil, kprof(t).Path, append([]string{"convert", "-f", "folded", file}, flags...)...))) {
			f := strings.Fields(line)
			v, _ := strconv.Atoi(f[len(f)-1])
			n += v
		}
		return n
	}
	if n := samplesIn(data, "--where", where); n != 64 {
		t.Errorf("%d samples match %s", n, where)
	}
	sum := 0
	for _, n := range pages {
		sum += int(n - from)
	}
	if n := samplesIn(data, "--where", where, "--value", fmt.Sprintf("addr - %d", from)); n != sum {
		t.Errorf("offsets add up to %d, want %d", n, sum)
	}
	// Live too. The mapping may be elsewhere in another run.
	command(t, nil, kprof(t).Path, append(record, "--where", "addr % 4096 == 0 && addr > 0x10000", "-o", folded, "--", program)...)
	if n := samplesIn(folded); n < 64 {
		t.Errorf("live, %d samples are at the beginning of a page", n)
	}
	if out, err := kprof(t, "report", "--where", "weight > 0", filepath.Join(root, "testdata", "demo.data")).CombinedOutput(); err == nil || !strings.Contains(string(out), `no event has a field "weight"`) {
		t.Errorf("%v: %s", err, out)
	}
}
