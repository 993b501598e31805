package record

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

func TestReadCPUID(t *testing.T) {
	const intel = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n" +
		"model name\t: Intel(R) Xeon(R)   CPU @ 2.00GHz\nstepping\t: 7\n\nprocessor\t: 1\nmodel\t\t: 9\n"
	desc, id := readCPUID("amd64", []byte(intel))
	if desc != "Intel(R) Xeon(R) CPU @ 2.00GHz" || id != "GenuineIntel,6,85,7" {
		t.Errorf("%q, %q", desc, id)
	}
	if got := formatMIDR(0x413fd0c1); got != "0x00000000410fd0c0" {
		t.Errorf("midr %s", got)
	}
}

// TestReadHostPerf compares with the header that perf writes on this machine.
func TestReadHostPerf(t *testing.T) {
	requireLive(t, needPerf, needRoot)
	name := filepath.Join(t.TempDir(), "perf.data")
	if out, err := livetest.PerfCommand(t, "record", "-q", "-e", "cpu-clock", "-o", name, "true").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := perftext.Open(t, name)
	theirs := r.Features.Host
	ours := ReadHost()
	for i := range ours.NUMA {
		ours.NUMA[i].MemFree = 0
	}
	for i := range theirs.NUMA {
		theirs.NUMA[i].MemFree = 0
	}
	byName := cmpopts.SortSlices(func(a, b perfdata.PMU) bool { return a.Name < b.Name })
	if d := cmp.Diff(theirs, ours, byName, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("-perf +ours\n%s", d)
	}
}

// need is something that a test of the live kernel cannot do without; it says
// what is missing, or nothing.
type need func() string

func needRoot() string {
	if os.Geteuid() != 0 {
		return "root"
	}
	return ""
}

func needPerf() string {
	if _, err := exec.LookPath("perf"); err != nil {
		return "perf"
	}
	return ""
}

// requireLive skips a test for which something is missing and names all of it.
// Where KPROF_LIVE is "require", it fails instead.
func requireLive(t *testing.T, needs ...need) {
	t.Helper()
	var missing []string
	for _, n := range needs {
		if m := n(); m != "" {
			missing = append(missing, m)
		}
	}
	switch {
	case os.Getenv("KPROF_LIVE") == "skip":
		t.Skip("needs more than Go, and KPROF_LIVE is skip")
	case len(missing) == 0:
	case os.Getenv("KPROF_LIVE") == "require":
		t.Fatalf("needs %s", strings.Join(missing, ", "))
	default:
		t.Skipf("needs %s", strings.Join(missing, ", "))
	}
}
