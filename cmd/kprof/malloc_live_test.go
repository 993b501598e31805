//go:build linux

package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kprof/convert/stacks/stackstest"
	"kprof/perfevent/livetest"
)

// TestLiveMalloc records a program that allocates known bytes in known functions: of each
// all four columns are exact, whether its memory was freed, moved, grown or asked for in vain.
func TestLiveMalloc(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.RequireKernel(t, livetest.PMU("uprobe"))
	livetest.RequirePrograms(t, "gcc")
	t.Run("native", func(t *testing.T) { testMalloc(t) })
	if runtime.GOARCH == "amd64" {
		t.Run("32 bits", func(t *testing.T) {
			livetest.Require(t, gcc32)
			livetest.RequireKernel(t, livetest.Narrow)
			testMalloc(t, "-m32")
		})
	}
}

func testMalloc(t *testing.T, flags ...string) {
	dir := t.TempDir()
	program := filepath.Join(dir, "allocate")
	if out, err := exec.Command("gcc", append(flags, "-O1", "-fno-optimize-sibling-calls", "-fno-omit-frame-pointer", "-o", program, "testdata/allocate.c", "-lpthread")...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	libc, err := exec.Command("gcc", append(flags, "-print-file-name=libc.so.6")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	data, profile := filepath.Join(dir, "m.data"), filepath.Join(dir, "m.pb.gz")
	runKprof(t, "record", "-q", "-e", "span:malloc:"+strings.TrimSpace(string(libc)), "-o", data, "--", program)
	runKprof(t, "convert", "-q", data, "-o", profile)
	p := stackstest.ReadPprof(t, profile)
	var columns []string
	for _, v := range p.SampleType {
		columns = append(columns, v.Type)
	}
	if want := []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}; !slices.Equal(columns, want) {
		t.Fatalf("columns %q", columns)
	}
	got := map[string][4]int64{}
	for _, s := range p.Sample {
		for _, l := range s.Location {
			if len(l.Line) == 0 || !strings.HasPrefix(l.Line[0].Function.Name, "by_") {
				continue
			}
			sums := got[l.Line[0].Function.Name]
			for i, v := range s.Value {
				sums[i] += v
			}
			got[l.Line[0].Function.Name] = sums
			break
		}
	}
	const mb = 1 << 20
	for name, want := range map[string][4]int64{
		"by_malloc":         {10 + 1 + 1 + 102, 1000 + mb + 64 + 100*1000 + 2*77, 3 + 2, 300 + 2*77},
		"by_calloc":         {10, 6000, 6, 3600},
		"by_posix_memalign": {10, 5120, 8, 8 * 512},
		"by_aligned_alloc":  {10, 6400, 9, 9 * 640},
		"by_realloc":        {20 + 1, 5000*210 + 3*mb, 1, 100_000},
		"by_reallocarray":   {2, 5 * (40 + 80), 1, 400},
	} {
		if got[name] != want {
			t.Errorf("%s: %d, want %d", name, got[name], want)
		}
	}
}
