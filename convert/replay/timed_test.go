package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata/perftext"
)

// TestTimedSamplesAgainstScript: the moments of a recording are the samples that perf
// script prints, in its order, with its times, threads and periods.
func TestTimedSamplesAgainstScript(t *testing.T) {
	livetest.Require(t, livetest.Perf)
	const file = "../../testdata/demo.data"
	out, err := livetest.PerfOnFile(t, "script", "-i", file, "-G", "--ns", "-F", "pid,tid,time,period,event").Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line) // pid/tid seconds: period event:
		want = append(want, fmt.Sprint(strings.TrimSuffix(f[1], ":"), " ", f[0], " ", f[2]))
	}
	r := perftext.Open(t, file)
	set, _, err := File(context.Background(), r, Options{Selection: Selection{Times: true, Labels: LabelTID}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range set.TimedSamples {
		l := set.Sample(int(m.Sample)).Labels
		pid, _ := set.Label(l, "pid")
		tid, _ := set.Label(l, "tid")
		got = append(got, fmt.Sprintf("%d.%09d %d/%d %d", m.Time/1e9, m.Time%1e9, pid.Num, tid.Num, m.Value))
	}
	if len(want) == 0 || !slices.IsSorted(want) {
		t.Fatalf("perf script printed %d samples, in the order of time: %t", len(want), slices.IsSorted(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
