package record

import (
	"path/filepath"
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
	livetest.Require(t, livetest.Perf, livetest.Root)
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
