package rig

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// compareFile is the recording of a load that is the same in all guests.
const compareFile = "compare/load.data"

// TestGuestCompare records writing and removing files in memory, and starting programs,
// for TestHostCompare.
func TestGuestCompare(t *testing.T) {
	guest(t)
	keep := os.Getenv("KPROF_KEEP")
	if keep == "" {
		keep = t.TempDir()
	}
	file := filepath.Join(keep, compareFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	code, _, said := kprof(t, "record", "-q", "-e", "cpu-clock", "-F", "397", "-o", file, "--", "sh", "-c",
		"i=0; while [ $i -lt 20 ]; do dd if=/dev/zero of=/tmp/file bs=4k count=1200; rm /tmp/file; j=0\n"+
			"while [ $j -lt 8 ]; do ls -l /proc/self >/tmp/list; cat /tmp/list /tmp/list | sort >/dev/null; j=$((j+1)); done\n"+
			"i=$((i+1)); done 2>/dev/null")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
}

// TestHostCompare compares what the guests of KPROF_GUESTS recorded: of two kernels
// and of two architectures.
//
// Linux 6.6 gave tmpfs a write_iter of its own, shmem_file_write_iter, in place of
// generic_file_write_iter (e88e0d366f9c), and 6.10 put what allocates into wrappers:
// __alloc_pages is __alloc_pages_noprof (b951aaff5035).
func TestHostCompare(t *testing.T) {
	dir := ofGuests(t, "KPROF_GUESTS")
	// What could not be had is skipped by rig.sh.
	with := func(base, new string, f func(t *testing.T, base, new string)) {
		t.Run(base+" and "+new, func(t *testing.T) {
			var files []string
			for _, guest := range []string{base, new} {
				file := filepath.Join(dir, guest, "out/testdata/rig", compareFile)
				if _, err := os.Stat(file); err != nil {
					t.Logf("no recording of %s", guest)
					return
				}
				files = append(files, file)
			}
			f(t, files[0], files[1])
		})
	}
	with("6.1-amd64", "6.12-amd64", compareKernels)
	with("6.1-amd64", "6.1-arm64", func(t *testing.T, amd64, arm64 string) {
		code, _, said := kprof(t, "diff", amd64, arm64)
		if code != 1 || !strings.Contains(said, "recorded on x86_64") || !strings.Contains(said, "--force") {
			t.Errorf("exit code %d: %s", code, said)
		}
		code, out, said := kprof(t, "diff", "--force", amd64, arm64)
		if code != 0 || !strings.Contains(out, "Matched by names") {
			t.Errorf("by force: exit code %d: %s", code, said)
		}
	})
}

// comparison is what is read of the JSON of a comparison.
type comparison struct {
	Base, New struct{ Samples float64 }
	Functions []struct {
		Name, Verdict string
		Base_name     string
		Cum           struct{ Base, New float64 }
		Code          struct{ Base, New *struct{ Size int } }
	}
	Merged []struct {
		Name      string
		Originals []struct {
			Name      string
			Base, New bool
		}
	}
}

// compared compares all functions of two recordings.
func compared(t *testing.T, base, new string) (r comparison) {
	t.Helper()
	code, out, said := kprof(t, "diff", "-n", "0", "-f", "json", base, new)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func compareKernels(t *testing.T, base, new string) {
	r := compared(t, base, new)
	t.Logf("%.0f and %.0f samples", r.Base.Samples, r.New.Samples)
	// An emulator that gets little of the CPU takes few samples.
	enough := min(r.Base.Samples, r.New.Samples) > 600
	verdicts := map[string]string{"shmem_file_write_iter": "not there"}
	paired, replaces := 0, false
	for _, f := range r.Functions {
		if to, known := renamed["6.1 6.12"][f.Base_name]; f.Base_name != "" {
			t.Logf("%s => %s, %s", f.Base_name, f.Name, f.Verdict)
			// A few samples may be the wrong ones: it takes some to tell whose callers and
			// callees are the same.
			if paired++; known && to != f.Name && f.Cum.Base*r.Base.Samples >= 20 {
				t.Errorf("%s is paired with %s, and was renamed to %s", f.Base_name, f.Name, to)
			}
		}
		verdicts[f.Name] = f.Verdict
		if f.Verdict != "noise" {
			t.Logf("%-6s %6.2f%% %6.2f%%  %s", f.Verdict, 100*f.Cum.Base, 100*f.Cum.New, f.Name)
		}
		// What one kernel has by another suffix would be on both sides.
		short, _, _ := strings.Cut(f.Name, ".")
		if other, known := verdicts[short]; known && short != f.Name && f.Verdict+other != "noisenoise" {
			t.Errorf("%s is %s, %s is %s", f.Name, f.Verdict, short, other)
		}
		if f.Name == "shmem_file_write_iter" {
			// What tmpfs has in the place of generic_file_write_iter, which others still have.
			replaces = f.Verdict == "renamed" && f.Base_name == "generic_file_write_iter"
			if enough && f.Verdict != "new" && f.Verdict != "moved" && !replaces {
				t.Errorf("%s is %s", f.Name, f.Verdict)
			}
			if f.Code.Base == nil || f.Code.Base.Size != 0 || f.Code.New == nil || f.Code.New.Size == 0 {
				t.Errorf("%s: code %+v", f.Name, f.Code)
			}
		}
	}
	if verdicts["shmem_file_write_iter"] == "not there" {
		t.Error("no shmem_file_write_iter")
	}
	if enough && paired < 5 {
		t.Errorf("%d functions are found to be renamed", paired)
	}
	if v := verdicts["generic_file_write_iter"]; v == "more" || v == "new" || enough && v != "gone" && v != "moved" && !replaces {
		t.Errorf("generic_file_write_iter is %q", v)
	}
	if v := verdicts["__alloc_pages"]; v == "" || v == "new" || v == "gone" {
		t.Errorf("__alloc_pages is %q", v)
	}
	wrapped := false
	for _, m := range r.Merged {
		for _, o := range m.Originals {
			wrapped = wrapped || m.Name == "__alloc_pages" && o.Name == "__alloc_pages_noprof" && o.New && !o.Base
		}
	}
	if !wrapped {
		t.Error("__alloc_pages_noprof is not matched with __alloc_pages")
	}
}
