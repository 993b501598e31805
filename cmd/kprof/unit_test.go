//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestUnit: however often the service starts, what it keeps is bounded: before each start all but the
// last files of earlier ones are removed, and nothing else.
func TestUnit(t *testing.T) {
	unit, err := os.ReadFile("../../testdata/kprof.service")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ExecStartPre=-/bin/sh -c '([^']*)'$`).FindSubmatch(unit)
	most := regexp.MustCompile(`(?m)^ExecStart=.* --switch-max-files (\d+) -o /var/lib/kprof/cpu\.pb\.gz$`).FindSubmatch(unit)
	if line == nil || most == nil {
		t.Fatalf("%s", unit)
	}
	var number int
	fmt.Sscan(string(most[1]), &number)
	for _, n := range []int{0, 3, number, number + 7} {
		dir := t.TempDir()
		want := []string{"cpu.old.txt", "notes"}
		for i := range n {
			name := fmt.Sprintf("cpu.20310528%08d.pb.gz", 9*i) // as outfile.Series names them
			livetest.WriteFile(t, filepath.Join(dir, name), "")
			if n-i <= number {
				want = append(want, name)
			}
		}
		livetest.WriteFile(t, filepath.Join(dir, "cpu.old.txt"), "")
		livetest.WriteFile(t, filepath.Join(dir, "notes"), "")
		_ = exec.Command("/bin/sh", "-c", strings.ReplaceAll(string(line[1]), "/var/lib/kprof", dir)).Run() // the - in front of it
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("of %d files %d are left, want %d: %q", n, len(got), len(want), got)
		}
	}
}
