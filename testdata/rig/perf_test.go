package rig

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// ofGuests is the folder of what guests recorded, which testdata/rig.sh names in a variable.
// The test is skipped without.
func ofGuests(t *testing.T, variable string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skip("testdata/rig.sh says where the recordings are")
	}
	return dir
}

// TestPerfReads has perf script print the recordings that a guest made, in the
// directory KPROF_RECORDINGS, and looks for what they should hold.
func TestPerfReads(t *testing.T) {
	dir := ofGuests(t, "KPROF_RECORDINGS")
	livetest.Require(t, livetest.Perf)
	files, err := filepath.Glob(filepath.Join(dir, "*.data"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".data"), func(t *testing.T) {
			cmd := livetest.PerfCommand(t, "script", "-G", "-i", file)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, stderr.String())
			}
			out = regexp.MustCompile(`(?m)^ +`).ReplaceAll(out, nil)
			wants, err := os.ReadFile(strings.TrimSuffix(file, ".data") + ".want")
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(wants)) {
				count, pattern, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
				times, err := strconv.Atoi(count)
				if err != nil {
					t.Fatal(err)
				}
				n := len(regexp.MustCompile(`(?m)`+pattern).FindAllIndex(out, -1))
				if n != times && (times > 0 || n == 0) {
					t.Errorf("%d lines with %s, want %d, in\n%.600s", n, pattern, times, out)
				}
			}
		})
	}
}

// TestPerfCounts has perf count the samples of recordings that tests of the command
// kept in a guest, in folders of KPROF_COUNTED: as many as the guest's kprof read
// there, and no word of warning.
func TestPerfCounts(t *testing.T) {
	dir := ofGuests(t, "KPROF_COUNTED")
	livetest.Require(t, livetest.Perf)
	files, err := filepath.Glob(filepath.Join(dir, "*", "samples"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", dir, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cmd := livetest.PerfCommand(t, "report", "--stats", "-i", filepath.Join(filepath.Dir(file), "perf.data"))
			var warnings strings.Builder
			cmd.Stderr = &warnings
			out, err := cmd.Output()
			if err != nil || warnings.Len() > 0 {
				t.Fatalf("%v: %s", err, warnings.String())
			}
			m := regexp.MustCompile(`SAMPLE events: +(\d+)`).FindSubmatch(out)
			if m == nil || string(m[1]) != string(want) {
				t.Errorf("perf counts %q samples, kprof %s", m, want)
			}
		})
	}
}
